/** The names by which the model knows tools of MCP servers: put into a request on its way out, taken back from what comes. */

import type { Model, ModelEvent, ModelRequest, ModelSettings, ToolSpec } from "../ports/model.ts";
import type { Message, Part } from "../words/message.ts";
import { modelName, serverOf } from "../words/tool-name.ts";

type Shown = {
  readonly tools: readonly ToolSpec[];
  /** From the model's name of a tool to its own. */
  readonly own: ReadonlyMap<string, string>;
};

// by identity, so that providers find what they have encoded before
const shownTools = new WeakMap<readonly ToolSpec[], Shown>();
const shownMessages = new WeakMap<Message, Message>();

/** `remote`: calls of MCP tools are among the messages. A model that calls a tool by its own name is understood too. */
export function streamNamed(
  model: Model,
  request: ModelRequest,
  { remote }: { readonly remote: boolean },
): AsyncIterable<readonly ModelEvent[]> {
  const { tools, own } = shown(request.tools);
  if (own.size === 0 && !remote) return model.stream(request);
  const messages = remote ? request.messages.map(renamed) : request.messages;
  const named = model.stream({ ...request, tools, messages, settings: renamedChoice(request.settings) });
  return own.size === 0 ? named : ownNames(named, own);
}

function shown(tools: readonly ToolSpec[]): Shown {
  const known = shownTools.get(tools);
  if (known !== undefined) return known;
  const remote = tools.filter(({ name }) => serverOf(name) !== undefined);
  const made: Shown =
    remote.length === 0
      ? { tools, own: new Map() }
      : {
          tools: tools.map((tool) => ({ ...tool, name: modelName(tool.name) })),
          own: new Map(remote.map(({ name }) => [modelName(name), name])),
        };
  shownTools.set(tools, made);
  return made;
}

/** The same object where no MCP tool is called in it. */
function renamed(message: Message): Message {
  const known = shownMessages.get(message);
  if (known !== undefined) return known;
  const made = message.parts.some(isRemote) ? { ...message, parts: message.parts.map(renamedPart) } : message;
  shownMessages.set(message, made);
  return made;
}

function isRemote(part: Part): boolean {
  return (part.type === "tool-call" || part.type === "tool-result") && serverOf(part.name) !== undefined;
}

function renamedPart(part: Part): Part {
  if (part.type !== "tool-call" && part.type !== "tool-result") return part;
  return { ...part, name: modelName(part.name) };
}

function renamedChoice(settings: ModelSettings): ModelSettings {
  const { toolChoice } = settings;
  return typeof toolChoice === "object" ? { ...settings, toolChoice: { tool: modelName(toolChoice.tool) } } : settings;
}

async function* ownNames(
  stream: AsyncIterable<readonly ModelEvent[]>,
  own: ReadonlyMap<string, string>,
): AsyncGenerator<readonly ModelEvent[]> {
  for await (const batch of stream) {
    yield batch.some(namesTool) ? batch.map((event) => taken(event, own)) : batch;
  }
}

function namesTool(event: ModelEvent): boolean {
  if (event.type === "block-start") return event.block.type === "tool-input";
  return event.type === "block-end" && event.part.type === "tool-call";
}

function taken(event: ModelEvent, own: ReadonlyMap<string, string>): ModelEvent {
  if (event.type === "block-start" && event.block.type === "tool-input") {
    const { name } = event.block;
    return { ...event, block: { ...event.block, name: own.get(name) ?? name } };
  }
  if (event.type !== "block-end" || event.part.type !== "tool-call" || event.part.by === "provider") return event;
  const { name } = event.part;
  return { ...event, part: { ...event.part, name: own.get(name) ?? name } };
}
