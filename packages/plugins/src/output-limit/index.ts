/** Shows the model the head and the tail of a large result, keeps the whole of it, and lets the model read it in parts. */

import {
  CapstanError,
  check,
  type Fact,
  type HookedCall,
  jsonSchema,
  type Plugin,
  plugin,
  text,
  textOf,
  tool,
  type Tool,
  type ToolHookContext,
  type ToolOutput,
} from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { recall, remember, type Remembered } from "../remembered.ts";

export type OutputLimitOptions = {
  /** UTF-16 units of a result that the model sees; default 16,000, at least 1,000. Also the most of one `read_output`. */
  readonly maxCharacters?: number;
  /** Other bounds by name of the tool; `false` leaves its results whole. */
  readonly tools?: { readonly [tool: string]: number | false };
};

const READ_OUTPUT = "read_output";
const NAME = "output-limit";
const DEFAULT_CHARACTERS = 16_000;
const LEAST_CHARACTERS = 1_000;
/** Kept results that can be read back in one session; older ones are out of reach. */
const OUTPUTS = 1_000;

type Kept = { readonly blob: string; readonly characters: number };
/** `readable`: the model of this session has the tool. */
type Own = { readonly outputs: Remembered<Kept>; readonly readable: boolean };
type Data =
  | { readonly type: "kept"; readonly id: string; readonly blob: string; readonly characters: number }
  | { readonly type: "readable"; readonly readable: boolean };
type Reading = { readonly id: string; readonly offset?: number; readonly limit?: number };

/** Throws `plugin-invalid` for a bound that is too small. */
export function outputLimit({ maxCharacters = DEFAULT_CHARACTERS, tools = {} }: OutputLimitOptions = {}): Plugin {
  const bounds = new Map(Object.entries(tools));
  for (const bound of [maxCharacters, ...bounds.values()]) {
    if (bound === false || (Number.isSafeInteger(bound) && bound >= LEAST_CHARACTERS)) continue;
    throw new CapstanError("plugin-invalid", `outputLimit: a bound is a whole number from ${LEAST_CHARACTERS} on`);
  }
  const readOutput = readOutputTool(maxCharacters);
  return plugin<Own>({
    name: NAME,
    fold: { start: { outputs: [], readable: false }, next },
    tools: [readOutput],
    async prepare(request, context) {
      const readable = request.tools.some(({ name }) => name === READ_OUTPUT);
      if (readable !== context.own.readable) await context.record({ type: "readable", readable } satisfies Data);
    },
    async tool(call, context, next) {
      if (call.tool.hash === readOutput.hash) return readBack(call, context, maxCharacters);
      const output = await next(call);
      const bound = bounds.get(call.name) ?? maxCharacters;
      const whole = textOf(output.content);
      return bound === false || whole.length <= bound ? output : cut(output, whole, bound, context);
    },
  });
}

function readOutputTool(maxCharacters: number): Tool {
  return tool<Reading>({
    name: READ_OUTPUT,
    description: `Reads a part of a tool result that was cut. At most ${maxCharacters} characters at once: go on with offset.`,
    input: jsonSchema<Reading>({
      type: "object",
      properties: {
        id: { type: "string", description: "As the cut result names it." },
        offset: { type: "integer", minimum: 0, description: "First character, counted from 0." },
        limit: { type: "integer", minimum: 1, maximum: maxCharacters },
      },
      required: ["id"],
      additionalProperties: false,
    }),
    kind: "read",
    rerun: "safe",
    needs: () => [],
    title: ({ id }) => `Read on in ${JSON.stringify(id)}`,
    execute: () => {
      throw new Error("answered by the hook of the plugin");
    },
  });
}

async function cut(
  output: ToolOutput,
  whole: string,
  bound: number,
  context: ToolHookContext<Own>,
): Promise<ToolOutput> {
  const { hash, text: kept } = await context.keepText(whole); // cut after secrets are out: half of one would not be found
  const id = `out-${hash.slice(0, 12)}`;
  if (recall(context.own.outputs, id) === undefined) {
    await context.record({ type: "kept", id, blob: hash, characters: kept.length } satisfies Data);
  }
  const head = kept.slice(0, starting(kept, Math.ceil(bound / 2)));
  const tail = kept.slice(starting(kept, kept.length - Math.floor(bound / 2)));
  const left = kept.length - head.length - tail.length;
  if (left <= 0) return output; // it was long by its secrets only
  const how = context.own.readable
    ? `read them with ${READ_OUTPUT} { "id": "${id}", "offset": ${head.length} }`
    : "ask for less at a time to see them";
  const shown = `${head}\n[... ${left.toLocaleString("en-US")} of ${kept.length.toLocaleString("en-US")} characters left out: ${how} ...]\n${tail}`;
  return {
    ...output,
    content: [text(shown), ...output.content.filter((part) => part.type !== "text")],
    truncated: true,
  };
}

async function readBack(call: HookedCall, context: ToolHookContext<Own>, most: number): Promise<ToolOutput> {
  const checked = await check(call.tool.schema, structuredClone(call.input));
  if (!checked.ok) return context.answer(`Wrong arguments for ${READ_OUTPUT}: ${checked.problem}`, { isError: true });
  const { id, offset = 0, limit = most } = checked.value as Reading; // checked by the tool's own schema
  const found = recall(context.own.outputs, id);
  if (found === undefined) return context.answer(`There is no kept result ${JSON.stringify(id)}.`, { isError: true });
  if (offset >= found.characters) {
    return context.answer(`${id} has ${found.characters} characters: offset ${offset} is beyond its end.`, {
      isError: true,
    });
  }
  const whole = await context.keptText(found.blob);
  const from = starting(whole, offset);
  const to = Math.max(starting(whole, offset + limit), from + 1);
  const rest = to < whole.length ? `\n(characters ${from} to ${to} of ${whole.length}; go on with offset ${to})` : "";
  return { content: [text(whole.slice(from, to) + rest)], ...(rest !== "" && { truncated: true }) };
}

/** The index, or the one before it where it would cut a character in two. */
function starting(value: string, index: number): number {
  const code = value.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff && index > 0 ? index - 1 : Math.min(index, value.length);
}

function next(own: Own, fact: Fact): Own {
  const data = recorded<Data>(fact, NAME);
  if (data === undefined) return own;
  if (data.type === "readable") return { ...own, readable: data.readable };
  const { id, blob, characters } = data;
  return { ...own, outputs: remember(own.outputs, id, { blob, characters }, OUTPUTS) };
}
