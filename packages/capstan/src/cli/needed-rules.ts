/** The rules that would allow a call, also one that opens files beside the programs it runs. */

import { type CallFacts, type Need, rulesFor } from "@capstan/core";

/** Characters that mean more than themselves in the pattern of a rule. */
const SPECIAL = /[*?[\]{}()\\!]/;

/** Empty where no rules can: whoever offers them judges the call once more with them. */
export function neededRules(call: CallFacts): readonly string[] {
  const together = rulesFor(call);
  if (together.length > 0) return together;
  const each = call.needs.map((need) => rulesOfNeed(call, need));
  return each.some((rules) => rules.length === 0) ? [] : [...new Set(each.flat())];
}

function rulesOfNeed(call: CallFacts, need: Need): readonly string[] {
  if (need.type !== "write" && need.type !== "read") return rulesFor({ ...call, needs: [need] });
  if (SPECIAL.test(need.path)) return [];
  const path = /^(\/|\.\/)/.test(need.path) ? need.path : `./${need.path}`;
  return [`${need.type === "write" ? "Edit" : "Read"}(${path})`];
}
