/** Leaves old tool results out of the requests to the model, with a handle to read them again; the conversation keeps them. */

import {
  CapstanError,
  check,
  type Fact,
  type HookedCall,
  jsonSchema,
  type Message,
  type Part,
  type Plugin,
  plugin,
  text,
  textOf,
  tool,
  type Tool,
  type ToolHookContext,
  type ToolOutput,
  type ToolResultPart,
} from "@capstan/core";
import { diffSize } from "../diff-size.ts";
import { recorded } from "../own-facts.ts";

export type TrimResultsOptions = {
  /** Characters of all tool results in a request from which on old ones are left out; default 131,072. */
  readonly atCharacters?: number;
  /** Turns at the end whose results stay; default 4. */
  readonly keepTurns?: number;
  /** Results that always stay. */
  readonly pin?: (result: ToolResultPart) => boolean;
};

const NAME = "trim-results";
const READ_RESULT = "read_result";
/** Shorter results stay: the line in their place would save little. */
const LEAST_CHARACTERS = 500;
/** Of one reading. */
const MOST_READ = 32_000;

/** Results up to this message are left out. */
type Own = { readonly through: string };
type Data = Own;
type Reading = { readonly id: string; readonly offset?: number };

/**
 * A change in the middle of a conversation voids the provider's cache of what follows, so all old results go at once, and
 * none again before so much has come anew. Throws `plugin-invalid` for numbers that are none.
 */
export function trimResults({ atCharacters = 131_072, keepTurns = 4, pin }: TrimResultsOptions = {}): Plugin {
  if (!(atCharacters >= 0) || !Number.isSafeInteger(keepTurns) || keepTurns < 0)
    throw new CapstanError("plugin-invalid", "trimResults: atCharacters and keepTurns are numbers from 0 on");
  const readResult = readResultTool();
  const isTrimmed = (part: Part): part is ToolResultPart =>
    part.type === "tool-result" && weightOf(part) >= LEAST_CHARACTERS && pin?.(part) !== true;
  /** Messages keep their identity from turn to turn, also those that were changed. */
  const changed = new WeakMap<Message, Message>();
  return plugin<Own>({
    name: NAME,
    fold: { start: { through: "" }, next },
    tools: [readResult],
    async prepare({ messages }, context) {
      const from = indexOf(messages, context.own.through) + 1;
      const shown = messages.slice(from).reduce((sum, message) => sum + resultsIn(message), 0);
      if (shown < atCharacters) return;
      const answers = messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
      const end = keepTurns === 0 ? messages.length : (answers.at(-keepTurns) ?? 0);
      const old = messages.slice(from, end);
      const count = old.reduce((sum, { parts }) => sum + parts.filter(isTrimmed).length, 0);
      const through = old.at(-1)?.id;
      if (count === 0 || through === undefined) return;
      await context.record({ through } satisfies Data);
      context.notice("Old results left out", `${count} results; the provider's cache is built anew from there on`);
    },
    model(request, { own }, go) {
      const end = indexOf(request.messages, own.through) + 1;
      if (end === 0) return go(request);
      const messages = request.messages.map((message, index) =>
        index < end ? kept(changed, message, (whole) => trimmed(whole, isTrimmed)) : message,
      );
      return go({ ...request, messages });
    },
    tool: (call, context, go) => (call.tool.hash === readResult.hash ? readBack(call, context) : go(call)),
  });
}

function readResultTool(): Tool {
  return tool<Reading>({
    name: READ_RESULT,
    description: `Reads a tool result again that was left out of the conversation. At most ${MOST_READ} characters at once: go on with offset.`,
    input: jsonSchema<Reading>({
      type: "object",
      properties: {
        id: { type: "string", description: "As the line in its place names it." },
        offset: { type: "integer", minimum: 0, description: "First character, counted from 0." },
      },
      required: ["id"],
      additionalProperties: false,
    }),
    kind: "read",
    rerun: "safe",
    needs: () => [],
    title: ({ id }) => `Read the result ${JSON.stringify(id)} again`,
    execute: () => {
      throw new Error("answered by the hook of the plugin");
    },
  });
}

async function readBack(call: HookedCall, context: ToolHookContext<Own>): Promise<ToolOutput> {
  const checked = await check(call.tool.schema, structuredClone(call.input));
  if (!checked.ok) return context.answer(`Wrong arguments for ${READ_RESULT}: ${checked.problem}`, { isError: true });
  const { id, offset = 0 } = checked.value as Reading; // checked by the tool's own schema
  const results = (await context.conversation()).flatMap(({ parts }) => parts);
  const found = results.find((part) => part.type === "tool-result" && part.callId === id);
  if (found?.type !== "tool-result")
    return context.answer(`The conversation has no result ${JSON.stringify(id)} any more.`, { isError: true });
  const whole = shownText(found);
  if (offset > 0 && offset >= whole.length)
    return context.answer(`It has ${whole.length} characters: offset ${offset} is beyond its end.`, { isError: true });
  const end = offset + MOST_READ;
  const rest =
    end < whole.length ? `\n(characters ${offset} to ${end} of ${whole.length}; go on with offset ${end})` : "";
  const files = offset === 0 ? found.output.content.filter(({ type }) => type === "file") : [];
  const { labels } = found.output;
  return {
    content: [text(whole.slice(offset, end).toWellFormed() + rest), ...files],
    ...(rest !== "" && { truncated: true }),
    ...(labels !== undefined && { labels }),
  };
}

function shownText({ output }: ToolResultPart): string {
  return output.content
    .map((item) => (item.type === "diff" ? `${item.path} now:\n${item.after}` : item.type === "text" ? item.text : ""))
    .join("\n");
}

function trimmed(message: Message, isTrimmed: (part: Part) => part is ToolResultPart): Message {
  if (!message.parts.some(isTrimmed)) return message;
  const parts = message.parts.map((part): Part => {
    if (!isTrimmed(part)) return part;
    const { output: _structured, content, ...output } = part.output;
    const files = content.filter(({ type }) => type === "file").length;
    const size = `${textOf(content).length} characters${files > 0 ? ` and ${files} files` : ""}`;
    const line = `[Left out: an old result of ${size}. ${READ_RESULT} { "id": ${JSON.stringify(part.callId)} } reads it again.]`;
    return { ...part, output: { ...output, content: [text(line)] } };
  });
  return { ...message, parts };
}

function resultsIn({ parts }: Message): number {
  return parts.reduce((sum, part) => (part.type === "tool-result" ? sum + weightOf(part) : sum), 0);
}

const FILE_CHARACTERS = 6_000;

function weightOf({ output }: ToolResultPart): number {
  return output.content.reduce((sum, item) => {
    if (item.type === "text") return sum + item.text.length;
    return sum + (item.type === "diff" ? diffSize(item) : FILE_CHARACTERS);
  }, 0);
}

function indexOf(messages: readonly Message[], id: string): number {
  return id === "" ? -1 : messages.findLastIndex((message) => message.id === id);
}

function kept(known: WeakMap<Message, Message>, message: Message, make: (message: Message) => Message): Message {
  const found = known.get(message) ?? make(message);
  known.set(message, found);
  return found;
}

function next(own: Own, fact: Fact): Own {
  return recorded<Data>(fact, NAME) ?? own;
}
