/** Routes `@name task` to the agent of that name: the model is made to give it the task. */

import { type Message, type Plugin, plugin, text, textOf } from "@capstan/core";

/**
 * `agents`: those that may be named; they stand among the tools of the agent that has this plugin. A mention is the first
 * word of what a person says; names of no such agent are left alone.
 */
export function mentions(agents: readonly (string | { readonly name: string })[]): Plugin {
  const names = new Set(agents.map((agent) => (typeof agent === "string" ? agent : agent.name)));
  return plugin({
    name: "mentions",
    prepare({ messages, tools }) {
      const name = mentionIn(messages.at(-1));
      if (name === undefined || !names.has(name) || !tools.some((tool) => tool.name === name)) return;
      const said = `The user addresses the agent ${name}. Give it the task with the tool ${name}, with all that it needs to know of this conversation.`;
      return { tail: [text(`<system>${said}</system>`)], settings: { toolChoice: { tool: name } } };
    },
  });
}

/** Only a message that waits for its first answer counts: the call after that is the model's own affair. */
function mentionIn(message: Message | undefined): string | undefined {
  if (message?.role !== "user" || message.parts.some(({ type }) => type === "tool-result")) return undefined;
  return /^\s*@([a-zA-Z][a-zA-Z0-9_-]*)[,:]?\s+\S/.exec(textOf(message.parts))?.[1];
}
