/** A skill: instructions for one kind of task, after the open format of agentskills.io, and where it came from. */

import type { DefinitionFolder } from "../definition-folder.ts";

/** In the order of precedence: of two skills of one name that of the earlier source is used. */
export const SKILL_SOURCES = ["project", "user", "inline", "builtin"] as const;
export type SkillSource = (typeof SKILL_SOURCES)[number];

export type SkillDiagnostic = {
  readonly severity: "warning" | "error";
  readonly code: SkillDiagnosticCode;
  /** Name or path of the skill that it is about. */
  readonly skill: string;
  readonly message: string;
  /** Of the head of the file. */
  readonly field?: string;
};
export type SkillDiagnosticCode =
  | "allowed-tool-unknown"
  | "allowed-tools-invalid"
  | "compatibility-too-long"
  | "description-missing"
  | "description-too-long"
  | "field-invalid"
  | "field-unknown"
  | "file-too-large"
  | "front-matter-invalid"
  | "front-matter-missing"
  | "instructions-empty"
  | "metadata-coerced"
  | "name-invalid"
  | "name-mismatch-directory"
  | "name-missing"
  | "name-shadowed"
  | "project-untrusted"
  | "too-many-skills"
  | "unreadable";

export type Skill = {
  readonly name: string;
  /** What it does and when it is of use; one line. */
  readonly description: string;
  readonly instructions: string;
  readonly source: SkillSource;
  /** What lies beside its SKILL.md; absent for a skill that is in no folder. */
  readonly folder?: DefinitionFolder;
  /** Names of the other files in the folder, sorted. */
  readonly resources: readonly string[];
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata: { readonly [name: string]: string };
  /** Permission rules: while it is active, only calls that they mean. Absent: it narrows nothing. */
  readonly allowedTools?: readonly string[];
  /** Words of an input that make it active by itself. */
  readonly keywords: readonly string[];
  /** Tags of an input that make it active by themselves: `value`, `name` or `name:value`. */
  readonly tags: readonly string[];
  /** The model is not told of it: only people and code make it active. */
  readonly hidden: boolean;
};

/** A skill that code writes. `files` lie beside it when it is written to a folder. */
export type InlineSkill = {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata?: { readonly [name: string]: string };
  /** As in SKILL.md: `Read`, `Bash(git *)`, or names of tools. */
  readonly allowedTools?: readonly string[];
  readonly keywords?: readonly string[];
  readonly tags?: readonly string[];
  /** Texts by name relative to the skill, such as `scripts/check.sh`. */
  readonly files?: { readonly [name: string]: string };
};

export const SKILL_FILE = "SKILL.md";
const SCRIPT = /^scripts\/[^/]/;

export function scriptsOf({ resources }: Skill): readonly string[] {
  return resources.filter((name) => SCRIPT.test(name));
}
