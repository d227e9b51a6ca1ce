/** SKILL.md as a skill (agentskills.io): what can be understood is used, what cannot is said with a code. */

import type { DefinitionFolder } from "../definition-folder.ts";
import { frontMatter } from "../front-matter.ts";
import { plainLine } from "../plain-line.ts";
import { allowedTools } from "./allowed-tools.ts";
import type { Skill, SkillDiagnostic, SkillDiagnosticCode, SkillSource } from "./skill.ts";

export type SkillText = {
  readonly text: string;
  readonly source: SkillSource;
  /** Name of the folder that the file lies in; the name of the skill should be the same. */
  readonly directory?: string;
  readonly folder?: DefinitionFolder;
  readonly resources?: readonly string[];
};
export type ParsedSkill = { readonly skill?: Skill; readonly diagnostics: readonly SkillDiagnostic[] };

const MAX_NAME = 64;
const MAX_DESCRIPTION = 1_024;
const MAX_COMPATIBILITY = 500;
const MAX_WORDS = 64;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const KNOWN = new Set(
  "name description license compatibility metadata allowed-tools keywords tags disable-model-invocation".split(" "),
);

/** Never throws. Without a skill the last diagnostic of severity `error` says why. */
export async function parseSkill({ text, source, directory, folder, resources = [] }: SkillText): Promise<ParsedSkill> {
  const diagnostics: SkillDiagnostic[] = [];
  const { fields, body, problem } = await frontMatter(text);
  const known = lineOf(fields?.get("name") ?? directory, MAX_NAME) || "a skill without a name";
  const say = (
    severity: SkillDiagnostic["severity"],
    code: SkillDiagnosticCode,
    message: string,
    field?: string,
  ): void => void diagnostics.push({ severity, code, skill: known, message, ...(field !== undefined && { field }) });
  if (problem !== undefined) say("warning", "front-matter-invalid", problem);
  if (fields === undefined) {
    say("error", "front-matter-missing", "it has no head with a name and a description");
    return { diagnostics };
  }
  const name = nameOf(fields.get("name"), directory, say);
  const description = descriptionOf(fields.get("description"), say);
  if (name === undefined || description === undefined) return { diagnostics };
  for (const field of fields.keys())
    if (!KNOWN.has(field))
      say(
        "warning",
        "field-unknown",
        `the field ${plainLine(String(field), 60)} has no effect here`,
        plainLine(String(field), 60),
      );
  if (body.trim() === "") say("warning", "instructions-empty", "it has no instructions");
  const metadata = metadataOf(fields.get("metadata"), say);
  const allowed = allowedOf(fields.get("allowed-tools"), say);
  const license = lineOf(fields.get("license"), MAX_COMPATIBILITY);
  const compatibility = compatibilityOf(fields.get("compatibility"), say);
  const hidden = flagOf(fields.get("disable-model-invocation"), say);
  const skill: Skill = {
    name,
    description,
    instructions: body.trim(),
    source,
    resources,
    metadata,
    keywords: wordsOf(fields.get("keywords") ?? metadata["keywords"]),
    tags: wordsOf(fields.get("tags") ?? metadata["tags"]),
    hidden,
    ...(folder !== undefined && { folder }),
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    ...(allowed !== undefined && { allowedTools: allowed }),
  };
  return { skill, diagnostics };
}

type Say = (severity: SkillDiagnostic["severity"], code: SkillDiagnosticCode, message: string, field?: string) => void;

/** Words that are almost a name are made one; the folder's name stands in for one that is missing. */
function nameOf(value: unknown, directory: string | undefined, say: Say): string | undefined {
  const given = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  if (given === "") say(directory === undefined ? "error" : "warning", "name-missing", "it has no name", "name");
  const said = given === "" ? (directory ?? "") : given;
  if (said === "") return undefined;
  const name = said.length <= MAX_NAME && NAME.test(said) ? said : mended(said);
  if (name === undefined) {
    say("error", "name-invalid", `a name has 1 to ${MAX_NAME} lower-case letters, digits and single hyphens`, "name");
    return undefined;
  }
  if (name !== said)
    say(
      "warning",
      "name-invalid",
      `its name is read as ${name}: lower-case letters, digits and single hyphens`,
      "name",
    );
  if (given !== "" && directory !== undefined && given !== directory)
    say(
      "warning",
      "name-mismatch-directory",
      `it lies in a folder of another name, ${plainLine(directory, MAX_NAME)}`,
      "name",
    );
  return name;
}

function mended(said: string): string | undefined {
  const name = said
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name !== "" && name.length <= MAX_NAME ? name : undefined;
}

function descriptionOf(value: unknown, say: Say): string | undefined {
  const text = lineOf(value, Number.POSITIVE_INFINITY) ?? "";
  if (text === "") {
    say("error", "description-missing", "it has no description, so nobody can tell when it is of use", "description");
    return undefined;
  }
  if (text.length > MAX_DESCRIPTION)
    say("warning", "description-too-long", `its description is cut after ${MAX_DESCRIPTION} characters`, "description");
  return plainLine(text, MAX_DESCRIPTION);
}

function compatibilityOf(value: unknown, say: Say): string | undefined {
  const text = lineOf(value, Number.POSITIVE_INFINITY);
  if (text !== undefined && text.length > MAX_COMPATIBILITY)
    say("warning", "compatibility-too-long", `it is cut after ${MAX_COMPATIBILITY} characters`, "compatibility");
  return text === undefined ? undefined : plainLine(text, MAX_COMPATIBILITY);
}

function metadataOf(value: unknown, say: Say): Skill["metadata"] {
  if (value === undefined || value === null) return {};
  if (!(value instanceof Map)) {
    say("warning", "metadata-coerced", "metadata is a list of names and texts; it is left out", "metadata");
    return {};
  }
  const pairs = [...value].slice(0, MAX_WORDS).map(([name, entry]: readonly [unknown, unknown]): [string, string] => {
    if (typeof entry !== "string")
      say("warning", "metadata-coerced", `${plainLine(String(name), 60)} is read as text`, "metadata");
    return [
      String(name),
      typeof entry === "string" ? entry : Array.isArray(entry) ? entry.map(String).join(", ") : String(entry),
    ];
  });
  return Object.fromEntries(pairs);
}

/** What cannot be read allows nothing: a limit is not lost in silence. */
function allowedOf(value: unknown, say: Say): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const entries = value === null ? "" : value;
  if (typeof entries !== "string" && !(Array.isArray(entries) && entries.every((entry) => typeof entry === "string"))) {
    say(
      "error",
      "allowed-tools-invalid",
      "it is no list of tools: while the skill is active, nothing may be called",
      "allowed-tools",
    );
    return [];
  }
  const { rules, problems } = allowedTools(entries as string | readonly string[]); // as was just seen
  for (const problem of problems) say("warning", "allowed-tool-unknown", problem, "allowed-tools");
  return rules;
}

function flagOf(value: unknown, say: Say): boolean {
  if (value === undefined || typeof value === "boolean") return value === true;
  say("warning", "field-invalid", "it is true or false", "disable-model-invocation");
  return true; // what was to be hidden is not shown
}

function lineOf(value: unknown, limit: number): string | undefined {
  return typeof value === "string" || typeof value === "number" ? plainLine(String(value), limit) : undefined;
}

/** A list, or texts with commas between them. */
function wordsOf(value: unknown): readonly string[] {
  const texts = Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(",") : [];
  return texts
    .map((text) => plainLine(text, MAX_NAME).toLowerCase())
    .filter((text) => text !== "")
    .slice(0, MAX_WORDS);
}
