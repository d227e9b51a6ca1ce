/** A skill as the model reads it once it is active. */

import { inQuotes } from "../plain-line.ts";
import { scriptsOf, type Skill } from "./skill.ts";

const MAX_NAMES = 100;

export function activeText(skill: Skill): string {
  const { name, instructions, compatibility, allowedTools, resources } = skill;
  const scripts = scriptsOf(skill);
  const files = resources.filter((file) => !scripts.includes(file));
  const notes = [
    ...(compatibility === undefined ? [] : [`Needs: ${compatibility}`]),
    ...(files.length === 0 ? [] : [`Files, for skill_read: ${namesOf(files)}`]),
    ...(scripts.length === 0 ? [] : [`Scripts, for skill_run: ${namesOf(scripts)}`]),
    ...(allowedTools === undefined
      ? []
      : [`While this skill is active only these may be called: ${allowedTools.join(" ") || "nothing"}`]),
  ];
  // what looks like the end of the block is part of the text
  const body = instructions.replaceAll(/<(?=\/?skill[\s>])/gi, "&lt;");
  return [`<skill name="${inQuotes(name)}">`, body, ...notes, "</skill>"].join("\n");
}

function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => (/[\s,]|\p{Cc}/u.test(name) ? JSON.stringify(name) : name));
  return shown.join(", ") + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
}
