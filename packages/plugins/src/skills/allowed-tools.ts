/** `allowed-tools` of a skill as permission rules that narrow: no call that they do not mean, and never one more than before. */

import { claudeRules, messageOf, parseRule } from "@capstan/core";

export type AllowedTools = { readonly rules: readonly string[]; readonly problems: readonly string[] };

/** Names that others write for what rules call `Read` and `Edit`. */
const READING = /^(?:Grep|Glob|LS|NotebookRead)\b/;
const WRITING = /^(?:Write|MultiEdit|NotebookEdit)\b/;

/** One text with spaces or commas between the entries, or a list. An entry that means nothing here allows nothing. */
export function allowedTools(entries: string | readonly string[]): AllowedTools {
  const texts = typeof entries === "string" ? [entries] : entries;
  const rules: string[] = [];
  const problems: string[] = [];
  for (const entry of texts.flatMap((text) => text.match(/[^\s,()]+(?:\([^()]*\))?|[()]/g) ?? [])) {
    try {
      rules.push(...rulesOf(entry));
    } catch (error) {
      problems.push(`${JSON.stringify(entry)} allows nothing: ${messageOf(error)}`);
    }
  }
  return { rules, problems };
}

function rulesOf(entry: string): readonly string[] {
  if (/^(?:[a-z]|mcp:)/.test(entry) && !entry.startsWith("mcp__")) return [parseRule(entry).text];
  const named = entry.replace(READING, "Read").replace(WRITING, "Edit");
  const { permission, problems } = claudeRules({ allow: [named] }, { root: "/", home: "/" });
  const { allow = [] } = permission;
  if (allow.length === 0) throw new Error(problems[0] ?? "it names no tool");
  return allow;
}
