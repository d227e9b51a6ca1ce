/** Has Anthropic's servers edit the context of each request (beta context-management-2025-06-27): nothing changes here. */

import { CapstanError, type Json, modelName, type Plugin, plugin } from "@capstan/core";

export type ContextEditingOptions = {
  /** Old results of tools are cleared: from this many input tokens on; `false` never. Default 100,000. */
  readonly clearResultsAt?: number | false;
  /** Newest calls whose results stay; default 3. */
  readonly keepCalls?: number;
  /** Clears at least so many tokens at once: each time voids the cache. */
  readonly clearAtLeast?: number;
  /** Tools whose results stay. */
  readonly exclude?: readonly string[];
  /** Turns whose thinking stays; without it the provider's default holds. */
  readonly keepThinkingTurns?: number;
};

/** What the model has to be made with: `anthropic(id, { betas: [CONTEXT_EDITING_BETA] })`. */
export const CONTEXT_EDITING_BETA = "context-management-2025-06-27";

/** Changes requests to models whose id begins with `anthropic/` only. Throws `plugin-invalid` for numbers that are none. */
export function contextEditing(options: ContextEditingOptions = {}): Plugin {
  const edits = editsOf(options);
  return plugin({
    name: "context-editing",
    async prepare({ settings }, context) {
      const { id } = await context.model();
      if (!id.startsWith("anthropic/")) return;
      const extra = settings.extraBody;
      const before = isObject(extra) ? extra : {};
      if (Object.hasOwn(before, "context_management")) return; // said by hand
      return { settings: { extraBody: { ...before, context_management: { edits } } } };
    },
  });
}

function editsOf(options: ContextEditingOptions): readonly Json[] {
  const { clearResultsAt = 100_000, keepCalls = 3, clearAtLeast, exclude = [], keepThinkingTurns } = options;
  const numbers = [
    clearResultsAt === false ? 1 : clearResultsAt,
    keepCalls + 1,
    clearAtLeast ?? 1,
    keepThinkingTurns ?? 1,
  ];
  if (numbers.some((number) => !Number.isSafeInteger(number) || number < 1))
    throw new CapstanError("plugin-invalid", "contextEditing: its numbers are whole and above 0; keepCalls may be 0");
  const thinking: readonly Json[] =
    keepThinkingTurns === undefined
      ? []
      : [{ type: "clear_thinking_20251015", keep: { type: "thinking_turns", value: keepThinkingTurns } }];
  if (clearResultsAt === false) return thinking;
  return [
    ...thinking, // the API wants it first
    {
      type: "clear_tool_uses_20250919",
      trigger: { type: "input_tokens", value: clearResultsAt },
      keep: { type: "tool_uses", value: keepCalls },
      ...(clearAtLeast !== undefined && { clear_at_least: { type: "input_tokens", value: clearAtLeast } }),
      ...(exclude.length > 0 && { exclude_tools: exclude.map(modelName) }),
    },
  ];
}

function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
