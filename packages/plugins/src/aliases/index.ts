/** Other names for tools at the model's side only: history, rules, events and people see the tools' own. */

import {
  CapstanError,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type Part,
  type Plugin,
  plugin,
  type ToolSpec,
} from "@capstan/core";

/**
 * `names`: own name to the one the model reads, such as `{ shell: "Bash" }`. The map is part of the prompt that providers
 * cache: keep it the same while sessions last. A model that calls a tool by its own name is understood too. Throws
 * `plugin-invalid` for a name that no model takes or that stands twice; a run ends so when it is another tool's own.
 */
export function aliases(names: { readonly [tool: string]: string }): Plugin {
  const toTheirs = new Map(Object.entries(names));
  const toOurs = new Map(Object.entries(names).map(([ours, theirs]) => [theirs, ours]));
  for (const [ours, theirs] of toTheirs) {
    if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(theirs)) throw invalid(`${JSON.stringify(theirs)} is no usable name`);
    if (toOurs.get(theirs) !== ours) throw invalid(`${theirs} stands for two tools`);
  }
  // by identity, so that providers find what they have encoded before
  const tools = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
  const messages = new WeakMap<Message, Message>();
  return plugin({
    name: "aliases",
    async *model(request, _context, next) {
      const told: ModelRequest = {
        ...request,
        tools: kept(tools, request.tools, (specs) => renamedTools(specs, toTheirs)),
        messages: request.messages.map((message) => kept(messages, message, (one) => renamedMessage(one, toTheirs))),
        settings: renamedSettings(request.settings, toTheirs),
      };
      for await (const batch of next(told)) {
        yield batch.some(namesTool) ? batch.map((event) => renamedEvent(event, toOurs)) : batch;
      }
    },
  });
}

type Names = ReadonlyMap<string, string>;

function renamedTools(specs: readonly ToolSpec[], names: Names): readonly ToolSpec[] {
  const all = specs.map((spec) => ({ ...spec, name: names.get(spec.name) ?? spec.name }));
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw invalid(`${twice.name} is also the own name of a tool`);
  return all;
}

/** The same object when no tool with another name is in it. */
function renamedMessage(message: Message, names: Names): Message {
  const parts = message.parts.map((part) => renamedPart(part, names));
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

function renamedPart<P extends Part>(part: P, names: Names): P {
  if (part.type !== "tool-call" && part.type !== "tool-result") return part;
  const name = names.get(part.name);
  return name === undefined ? part : { ...part, name };
}

function renamedSettings(settings: ModelRequest["settings"], names: Names): ModelRequest["settings"] {
  const { toolChoice } = settings;
  const name = typeof toolChoice === "object" ? names.get(toolChoice.tool) : undefined;
  return name === undefined ? settings : { ...settings, toolChoice: { tool: name } };
}

function namesTool(event: ModelEvent): boolean {
  if (event.type === "block-start") return event.block.type === "tool-input";
  return event.type === "block-end" && event.part.type === "tool-call";
}

function renamedEvent(event: ModelEvent, names: Names): ModelEvent {
  if (event.type === "block-end") return { ...event, part: renamedPart(event.part, names) };
  if (event.type !== "block-start" || event.block.type !== "tool-input") return event;
  return { ...event, block: { ...event.block, name: names.get(event.block.name) ?? event.block.name } };
}

function kept<Key extends object>(known: WeakMap<Key, Key>, key: Key, make: (key: Key) => Key): Key {
  const found = known.get(key) ?? make(key);
  known.set(key, found);
  return found;
}

function invalid(problem: string): CapstanError {
  return new CapstanError("plugin-invalid", `aliases: ${problem}`);
}
