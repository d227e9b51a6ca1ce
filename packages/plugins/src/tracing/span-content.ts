/** Messages as the conventions write them in attributes: JSON of roles and parts, bounded. */

import type { Json, Message, ModelRequest, ModelSettings, Part } from "@capstan/core";

/** Characters of one attribute: what is longer is cut, and says so. */
const MAX_CHARACTERS = 65_536;

export function bounded(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS).toWellFormed()}[... ${text.length - MAX_CHARACTERS} characters left out]`;
}

/** The newest messages that fit are kept, so that what remains is JSON. */
export function messagesText(messages: readonly Message[]): string {
  const kept: string[] = [];
  let left = MAX_CHARACTERS;
  for (const message of messages.toReversed()) {
    const text = JSON.stringify(toMessage(message));
    left -= text.length + 1;
    if (left < 0) break;
    kept.unshift(text);
  }
  return `[${kept.join(",")}]`;
}

/** What the model was asked. */
export type RequestContent = {
  readonly system: string;
  readonly messages: string;
  readonly tools: string;
  readonly settings: Pick<ModelSettings, "maxOutputTokens" | "temperature">;
};

export function requestContent({ system, messages, tools, settings }: ModelRequest): RequestContent {
  const definitions = tools.map(({ name, description }) => ({ type: "function", name, description }));
  return {
    system: bounded(JSON.stringify([{ type: "text", content: system }])),
    messages: messagesText(messages),
    tools: bounded(JSON.stringify(definitions)),
    settings,
  };
}

function toMessage({ role, parts }: Message): Json {
  const results = parts.length > 0 && parts.every(({ type }) => type === "tool-result");
  return { role: results ? "tool" : role, parts: parts.map(toPart) };
}

function toPart(part: Part): Json {
  switch (part.type) {
    case "text":
      return { type: "text", content: part.text };
    case "reasoning":
      return { type: "reasoning", content: part.text };
    case "tool-call":
      return { type: "tool_call", id: part.callId, name: part.name, arguments: part.input };
    case "tool-result": {
      const shown = part.output.content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`));
      return { type: "tool_call_response", id: part.callId, response: shown.join("\n") };
    }
    case "file":
      return { type: "file", mime_type: part.mediaType };
    case "source":
    case "opaque":
      return { type: part.type };
    default:
      return part satisfies never;
  }
}
