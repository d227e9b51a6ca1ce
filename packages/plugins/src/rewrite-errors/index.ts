/** Rewrites what the model reads of calls: errors as text, results whole. */

import { type Json, type Plugin, plugin, textOf, textOutput, type ToolOutput } from "@capstan/core";

/** `input` as the model wrote it. */
export type SeenCall = { readonly callId: string; readonly name: string; readonly input: Json };
export type RewriteOptions = {
  /** Another text for an error: of a tool, of a refusal, of a call that could not be made. Nothing leaves it as it is. */
  readonly error?: (text: string, call: SeenCall) => string | undefined;
  /** Another result for a call that succeeded. Nothing leaves it as it is. */
  readonly output?: (output: ToolOutput, call: SeenCall) => ToolOutput | string | undefined;
};

/** Both functions decide from what they are given: after a crash they are asked again. What they throw is a notice and changes nothing. */
export function rewriteErrors({ error, output }: RewriteOptions): Plugin {
  const rewritten = (given: ToolOutput, { callId, name, input }: SeenCall): ToolOutput => {
    const call: SeenCall = { callId, name, input };
    if (given.isError === true) {
      const said = error?.(textOf(given.content), call);
      return said === undefined ? given : { ...given, content: textOutput(said).content };
    }
    const other = output?.(given, call);
    return (typeof other === "string" ? { ...given, content: textOutput(other).content } : other) ?? given;
  };
  return plugin({
    name: "rewrite-errors",
    tool: async (call, _context, next) => rewritten(await next(call), call),
    reject: (call, given) => rewritten(given, call),
  });
}
