/** Whether active skills let a call be made: one that limits its tools refuses every call that its rules do not mean. */

import { callFacts, check, type HookedCall, isMeant, parseRule, type SessionState } from "@capstan/core";
import type { ActiveSkill } from "./active-skills.ts";
import { RUN_TOOL, SKILL_TOOLS } from "./skill-tools.ts";

/** Why the call is refused. Every active skill must let it pass: two limits together are narrower than each. */
export async function refusedBy(
  active: readonly ActiveSkill[],
  { name, tool, input }: HookedCall,
  state: SessionState,
): Promise<string | undefined> {
  const limiting = active.filter(({ allowedTools }) => allowedTools !== undefined);
  if (limiting.length === 0 || (SKILL_TOOLS.has(name) && name !== RUN_TOOL)) return undefined;
  const checked = await check(tool.schema, structuredClone(input));
  if (!checked.ok) return undefined; // the loop refuses it
  const ownScript = (skill: ActiveSkill): boolean =>
    name === RUN_TOOL && (checked.value as { readonly name?: unknown }).name === skill.name; // its input is an object
  for (const skill of limiting) {
    if (ownScript(skill) || meansCall(skill, tool, checked.value, state)) continue;
    const allowed = skill.allowedTools?.join(", ") ?? "";
    return `The skill ${skill.name} is active, and while it is, only these may be called: ${allowed === "" ? "nothing" : allowed}.`;
  }
  return undefined;
}

function meansCall(
  { allowedTools = [] }: ActiveSkill,
  tool: HookedCall["tool"],
  input: unknown,
  state: SessionState,
): boolean {
  try {
    return isMeant(callFacts(tool, input, state.workspace?.root), allowedTools.map(parseRule));
  } catch {
    return false; // what it touches cannot be told
  }
}
