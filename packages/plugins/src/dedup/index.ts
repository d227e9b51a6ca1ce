/** Answers a repeated call of a run with the result that an equal call brought before, instead of making it again. */

import {
  CapstanError,
  check,
  type Fact,
  hashJson,
  type HookedCall,
  type Json,
  type Plugin,
  plugin,
  type ToolOutput,
} from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { recall, remember, type Remembered } from "../remembered.ts";

/** Calls with the same text count as equal; for `undefined` and the empty text the call is made and nothing is kept. */
export type CallKey = (input: Json) => string | undefined;
export type DedupTool = {
  /** Default: all arguments, whatever the order of their members. */
  readonly key?: CallKey;
  /** Also for a tool whose calls have effects: leaving a repeated one out is what you want. */
  readonly effects?: boolean;
  /** Its results stay right whatever other calls change. Else every call with effects voids them. */
  readonly lasting?: boolean;
};
export type DedupOptions = { readonly tools: { readonly [tool: string]: true | CallKey | DedupTool } };

const NAME = "dedup";
/** Results that are kept of one run, the newest. */
const RESULTS = 256;
/** Larger results are not kept. UTF-16 units of their JSON. */
const MOST_CHARACTERS = 4_000_000;

type Entry = { readonly callId: string; readonly blob: string; readonly lasting: boolean };
type Own = Remembered<Entry>;
type Data = Entry & { readonly key: string };

/** Results of failed calls are never kept. Throws `plugin-invalid` for what is no way to compare calls. */
export function dedup({ tools }: DedupOptions): Plugin {
  const known = new Map(Object.entries(tools).map(([name, given]) => [name, checkedTool(name, given)]));
  return plugin<Own>({
    name: NAME,
    fold: { start: [], next },
    async tool(call, context, next) {
      const { key: keyOf = hashJson, effects = false, lasting = false } = known.get(call.name) ?? {};
      if (!known.has(call.name) || (hasEffects(call) && !effects)) return next(call);
      const checked = await check(call.tool.schema, structuredClone(call.input));
      const own = checked.ok ? keyOf(checked.value as Json) : undefined; // what a schema makes of JSON is JSON, or the author's own
      if (typeof own !== "string" || own === "") return next(call);
      const key = hashJson([call.name, call.tool.hash, own]);
      const earlier = recall(context.own, key);
      if (earlier !== undefined && earlier.callId !== call.callId) {
        return JSON.parse(await context.keptText(earlier.blob)) as ToolOutput; // written below
      }
      const output = await next(call);
      if (output.isError === true) return output;
      const whole = JSON.stringify(output);
      if (whole.length > MOST_CHARACTERS) return output;
      const { hash: blob } = await context.keepText(whole);
      await context.record({ key, callId: call.callId, blob, lasting } satisfies Data);
      return output;
    },
  });
}

/** A flow is made of steps that nobody can see from outside. */
function hasEffects({ tool }: HookedCall): boolean {
  return tool.rerun !== "safe" || tool.body.type !== "execute";
}

function checkedTool(name: string, given: true | CallKey | DedupTool): DedupTool {
  if (given === true) return {};
  if (typeof given === "function") return { key: given };
  const { key } = { ...given };
  if (typeof given === "object" && given !== null && (key === undefined || typeof key === "function")) return given;
  throw new CapstanError(
    "plugin-invalid",
    `dedup: ${JSON.stringify(name)} needs true, a function of the arguments, or { key, effects, lasting }`,
  );
}

function next(own: Own, fact: Fact): Own {
  if (fact.type === "run.started") return [];
  // what was seen before a change may be different now
  if (fact.type === "tool.started" && (fact.rerun !== "safe" || fact.flow))
    return own.filter(([, { lasting }]) => lasting);
  const data = recorded<Data>(fact, NAME);
  if (data === undefined) return own;
  const { key, ...entry } = data;
  return remember(own, key, entry, RESULTS);
}
