/** What the model is told of the skills there are: a line each, as short as the whole must be. Same skills, same bytes. */

import { CapstanError, messageOf } from "@capstan/core";
import { plainLine } from "../plain-line.ts";
import type { SkillHooks } from "./skill-hooks.ts";
import type { Skill } from "./skill.ts";

/** Of all lines together, in UTF-16 units: they are sent with every request. */
const MAX_CATALOG = 12_000;
const LEAST_DESCRIPTION = 40;

export async function catalogOf(
  skills: readonly Skill[],
  { catalog, onFailure = "fail" }: SkillHooks,
): Promise<string> {
  const shown = skills.filter(({ hidden }) => !hidden);
  const text = linesOf(shown);
  if (catalog === undefined) return text;
  try {
    return (await catalog(text, shown)) ?? text;
  } catch (cause) {
    if (onFailure === "ignore") return text;
    throw new CapstanError("plugin-invalid", `skills: its catalog hook failed: ${messageOf(cause)}`, { cause });
  }
}

/** Where there is not enough room, every long description is cut to the same length. */
function linesOf(skills: readonly Skill[]): string {
  const lines = (limit: number): string =>
    skills.map(({ name, description }) => `- ${name}: ${plainLine(description, limit)}`).join("\n");
  for (let limit = 1_024; limit > LEAST_DESCRIPTION; limit = Math.floor(limit * 0.8)) {
    const text = lines(limit);
    if (text.length <= MAX_CATALOG) return text;
  }
  return lines(LEAST_DESCRIPTION);
}
