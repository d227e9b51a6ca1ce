/** Why a call gets its verdict: what the rules say of each thing it touches, for people who write rules. */

import type { Need } from "../ports/workspace.ts";
import type { Verdict } from "../words/verdict.ts";
import { readingOf } from "./need-reading.ts";
import { type CallFacts, evaluate, type Policy } from "./permission.ts";
import { isFree } from "./rule.ts";

export type NeedVerdict = {
  readonly need: Need;
  readonly verdict: Verdict["verdict"];
  /** One line. */
  readonly reason: string;
  readonly rule?: string;
  readonly tier?: string;
};
export type Explanation = Verdict & {
  /** The verdict on each need as if it were the call's only one. The call gets the strictest, or a stricter one of its own. */
  readonly needs: readonly NeedVerdict[];
};

/** The verdict of `evaluate`, with one line for each need. Pure. */
export function explain(call: CallFacts, policy: Policy): Explanation {
  return { ...evaluate(call, policy), needs: call.needs.map((need) => verdictOn(need, call, policy)) };
}

function verdictOn(need: Need, call: CallFacts, policy: Policy): NeedVerdict {
  const alone: CallFacts = { ...call, needs: [need] };
  const { verdict, reason, by, rule, tier } = evaluate(alone, policy);
  const [reading] = readingOf(alone).needs;
  if (by === "default" && verdict !== "allow" && reading !== undefined && isFree(call, reading)) {
    return { need, verdict: "allow", reason: "Needs no rule" };
  }
  return { need, verdict, reason, ...(rule !== undefined && { rule }), ...(tier !== undefined && { tier }) };
}
