/** Lets a model think hard at the beginning of a run and less as it goes on: the plan needs thought, its steps need little. */

import { CapstanError, type ModelSettings, type Plugin, plugin } from "@capstan/core";

export type ReasoningLevel = NonNullable<ModelSettings["reasoning"]>;
/** The level from a turn on, until the next turn that is named; turns count from 1 in every run. */
export type ReasoningSteps = { readonly [fromTurn: number]: ReasoningLevel };

/**
 * `reasoningDecay({ 1: "high", 4: "medium", 10: "low" })`, or a function of the turn, which must give the same level each
 * time: after a crash it is asked again. It wins over the `reasoning` of the agent and of `send`; before the first named
 * turn, and where a function gives nothing, theirs counts. Some providers forget their cache of the conversation when the
 * level changes, so a few steps cost less than one a turn. Throws `plugin-invalid` for what is no turn or no level.
 */
export function reasoningDecay(decay: ReasoningSteps | ((turn: number) => ReasoningLevel | undefined)): Plugin {
  const levelOf = typeof decay === "function" ? (turn: number) => checked(decay(turn)) : steps(decay);
  return plugin({
    name: "reasoning-decay",
    prepare(_request, { state }) {
      const reasoning = levelOf((state.run?.turns ?? 0) + 1);
      return reasoning === undefined ? undefined : { settings: { reasoning } };
    },
  });
}

function steps(given: ReasoningSteps): (turn: number) => ReasoningLevel | undefined {
  const sorted = Object.entries(given)
    .map(([turn, level]) => [Number(turn), checked(level)] as const)
    .toSorted(([a], [b]) => a - b);
  if (sorted.length === 0 || !sorted.every(([turn]) => Number.isSafeInteger(turn) && turn >= 1)) {
    throw invalid("its steps are named by turns: whole numbers from 1 on");
  }
  return (turn) => sorted.findLast(([from]) => from <= turn)?.[1];
}

const WORDS: readonly unknown[] = ["off", "low", "medium", "high", "adaptive"];

/** Levels may come from a file or from code without types. */
function checked(level: ReasoningLevel | undefined): ReasoningLevel | undefined {
  if (level === undefined || WORDS.includes(level)) return level;
  if (typeof level === "object" && Number.isSafeInteger(level?.budgetTokens) && level.budgetTokens > 0) return level;
  throw invalid('a level is "off", "low", "medium", "high", "adaptive" or { budgetTokens }');
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `reasoningDecay: ${what}`);
}
