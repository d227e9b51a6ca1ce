/** Mends arguments of the wrong type where that loses nothing, before anything else sees the call. */

import {
  type ModelEvent,
  type ModelRequest,
  type Plugin,
  plugin,
  type RejectedCall,
  textOutput,
  type ToolCallPart,
} from "@capstan/core";
import { coerceValue, type Coercion } from "./coerce-value.ts";

export type { Coercion } from "./coerce-value.ts";
export type CoerceOptions = {
  /** Whether this change may be made; a call with one that may not stays wrong. Default: every one may. */
  readonly coerce?: (change: Coercion & { readonly tool: string }) => boolean;
  /** What the model reads of arguments that are wrong all the same. Nothing leaves the standard text. */
  readonly reject?: (call: RejectedCall) => string | undefined;
};

const MAX_SHOWN = 60;

/**
 * Works where the model's answer comes in: history, rules, approvals and tools see the mended arguments only. Each
 * changed field is told in a notice `arguments-coerced`.
 */
export function coerceArguments({ coerce = () => true, reject }: CoerceOptions = {}): Plugin {
  return plugin({
    name: "coerce",
    async *model(request, _context, next) {
      for await (const batch of next(request)) {
        yield batch.some(isCallEnd) ? batch.flatMap((event) => mended(event, request, coerce)) : batch;
      }
    },
    ...(reject !== undefined && {
      reject(call: RejectedCall) {
        const said = call.cause === "wrong-arguments" ? reject(call) : undefined;
        return said === undefined ? undefined : textOutput(said, { isError: true });
      },
    }),
  });
}

type CallEnd = Extract<ModelEvent, { type: "block-end" }> & { readonly part: ToolCallPart };

function isCallEnd(event: ModelEvent): event is CallEnd {
  return event.type === "block-end" && event.part.type === "tool-call" && event.part.by === "capstan";
}

function mended(
  event: ModelEvent,
  { tools }: ModelRequest,
  may: NonNullable<CoerceOptions["coerce"]>,
): readonly ModelEvent[] {
  if (!isCallEnd(event)) return [event];
  const { part } = event;
  const tool = tools.find(({ name }) => name === part.name);
  const coerced =
    tool === undefined
      ? undefined
      : coerceValue(tool.inputSchema, part.input, (change) => may({ ...change, tool: part.name }));
  if (coerced === undefined) return [event];
  const detail = coerced.changes
    .map(({ path, from, to }) => `${path === "" ? "arguments" : path}: ${shown(from)} became ${shown(to)}`)
    .join("; ");
  return [
    { type: "notice", code: "arguments-coerced", title: `Arguments of ${part.name} were mended`, detail },
    { ...event, part: { ...part, input: coerced.value } },
  ];
}

function shown(value: Coercion["from"]): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}...`;
}
