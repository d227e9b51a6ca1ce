/** What several edits do to a text, one after the other: a pure function of both, so that a probe can ask later whether it was done. */

import type { Probe } from "@capstan/core";
import { beforesOf, hasNewText, hasOldText, isRemoval, planEdit, type Edit } from "./edit-plan.ts";

export type MultiPlan =
  | { readonly ok: true; readonly text: string; readonly replaced: number }
  | { readonly ok: false; readonly problem: string };

/** Texts that a probe follows back at once. */
const MAX_BEFORES = 50;

/** Each edit sees what the ones before it made. One that cannot be done undoes them all. */
export function planEdits(text: string, edits: readonly Edit[]): MultiPlan {
  let current = text;
  let replaced = 0;
  for (const [index, edit] of edits.entries()) {
    const plan = planEdit(current, edit);
    if (!plan.ok) return { ok: false, problem: `Edit ${index + 1} of ${edits.length}: ${plan.problem}` };
    current = plan.text;
    replaced += plan.replaced;
  }
  if (current === text) return { ok: false, problem: "The edits together change nothing." };
  return { ok: true, text: current, replaced };
}

/**
 * Whether a text is one from before the edits, one from after them, or could be both. What was removed cannot be put back:
 * with a removal among them, edits that could be made now may have been made already.
 */
export function probeEdits(text: string, edits: readonly Edit[]): Probe {
  const removals = edits.filter(isRemoval);
  if (planEdits(text, edits).ok) return removals.length === 0 && past(text, edits) === "no" ? "did-not" : "unknown";
  if (removals.some((edit) => hasOldText(text, edit))) return "unknown";
  const others = edits.filter((edit) => !removals.includes(edit));
  return past(text, others) === "yes" ? "happened" : "unknown";
}

/** Whether the edits can have made the text: undone from the last to the first, then done again. */
function past(text: string, edits: readonly Edit[]): "yes" | "no" | "unsure" {
  let states: readonly string[] = [text];
  let isWhole = true;
  for (const edit of edits.toReversed()) {
    const befores = states.map((state) => beforesOf(state, edit));
    if (befores.includes(undefined)) return "unsure";
    // some of the places may have had the new text before: not every choice of them is tried
    if (edit.replaceAll && states.some((state) => hasNewText(state, edit))) isWhole = false;
    states = [...new Set(befores.flatMap((list) => list ?? []))];
    if (states.length > MAX_BEFORES) return "unsure";
    if (states.length === 0) return isWhole ? "no" : "unsure";
  }
  return "yes";
}
