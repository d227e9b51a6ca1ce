/** Finds the skills of some folders and those that code brings: which of them count, what is wrong with the others, the catalog. */

import { CapstanError, messageOf } from "@capstan/core";
import { type DefinitionFolder, diskFolder, readText, subFolder } from "../definition-folder.ts";
import { catalogOf } from "./catalog.ts";
import { parseSkill, type ParsedSkill } from "./parse-skill.ts";
import {
  type InlineSkill,
  type Skill,
  SKILL_FILE,
  SKILL_SOURCES,
  type SkillDiagnostic,
  type SkillSource,
} from "./skill.ts";
import type { SkillHooks } from "./skill-hooks.ts";
import { skillText, writeSkills } from "./write-skill.ts";

export type SkillFolder = {
  readonly source: SkillSource;
  /** An absolute path, or a folder that hands out only what a person trusts. */
  readonly folder: string | DefinitionFolder;
};
export type LoadSkillsOptions = {
  readonly folders?: readonly SkillFolder[];
  readonly inline?: readonly InlineSkill[];
  /** Written to this folder first, with their files, and then found there. */
  readonly write?: { readonly folder: string; readonly skills: readonly InlineSkill[] };
  /** Default false: skills of the source `project` are left out, and told. */
  readonly trustProject?: boolean;
  /** Names; default all. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly hooks?: SkillHooks;
};
/** What `skills()` works with. */
export type SkillSet = {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  readonly diagnostics: readonly SkillDiagnostic[];
  /** What the model is told of them. */
  readonly catalog: string;
  readonly hooks: SkillHooks;
};

const MAX_SKILL_BYTES = 131_072;
const MAX_SKILLS = 256;

/** What is wrong with a skill is a diagnostic. Throws what `write` meets, and `plugin-invalid` for a hook that fails. */
export async function loadSkills(options: LoadSkillsOptions): Promise<SkillSet> {
  const { folders = [], inline = [], write, trustProject = false, hooks = {} } = options;
  const diagnostics: SkillDiagnostic[] = [];
  if (write !== undefined) await writeSkills(write.folder, write.skills);
  const written: readonly SkillFolder[] = write === undefined ? [] : [{ source: "inline", folder: write.folder }];
  const found: Skill[] = [];
  const take = ({ skill, diagnostics: said }: ParsedSkill): void => {
    diagnostics.push(...said);
    if (skill !== undefined) found.push(skill);
  };
  for (const { source, folder } of [...folders, ...written]) {
    const place =
      typeof folder === "string" ? diskFolder(folder, source === "user" ? { links: "follow" } : {}) : folder;
    if (source === "project" && !trustProject) {
      if ((await place.list()).length > 0) diagnostics.push(untrusted(place.path));
      continue;
    }
    for (const one of await skillsIn(place, source)) take(one);
  }
  for (const skill of inline) take(await parseSkill({ text: await skillText(skill), source: "inline" }));
  const chosen = limited(withoutShadowed(found.filter(isIncluded(options)), diagnostics), diagnostics);
  const skills = await resolved(chosen, hooks);
  return { skills, diagnostics, catalog: await catalogOf(skills, hooks), hooks };
}

async function skillsIn(folder: DefinitionFolder, source: SkillSource): Promise<readonly ParsedSkill[]> {
  const names = await folder.list();
  const heads = names.filter((name) => name.endsWith(`/${SKILL_FILE}`));
  const places = heads.map((name) => name.slice(0, -SKILL_FILE.length - 1));
  // a SKILL.md below another skill is a file of that one
  const outermost = places.filter((place) => !places.some((other) => place.startsWith(`${other}/`)));
  return Promise.all(outermost.map((place) => skillAt(folder, place, names, source)));
}

async function skillAt(
  folder: DefinitionFolder,
  place: string,
  names: readonly string[],
  source: SkillSource,
): Promise<ParsedSkill> {
  const own = subFolder(folder, place);
  const failed = (code: "file-too-large" | "unreadable", message: string): ParsedSkill => ({
    diagnostics: [{ severity: "error", code, skill: place, message }],
  });
  try {
    const text = await readText(folder, `${place}/${SKILL_FILE}`, MAX_SKILL_BYTES);
    if (text === undefined)
      return failed("unreadable", "its SKILL.md is no text file of this folder, or may not be read");
    const resources = names.flatMap((name) =>
      name.startsWith(`${place}/`) && name !== `${place}/${SKILL_FILE}` ? [name.slice(place.length + 1)] : [],
    );
    const directory = place.slice(place.lastIndexOf("/") + 1);
    return await parseSkill({ text, source, directory, folder: own, resources });
  } catch (error) {
    if (CapstanError.is(error, "file-too-large")) return failed("file-too-large", messageOf(error));
    return failed("unreadable", messageOf(error));
  }
}

function untrusted(path: string): SkillDiagnostic {
  const message = "the skills of this folder are left out: it is not trusted";
  return { severity: "warning", code: "project-untrusted", skill: path, message };
}

function isIncluded({ include, exclude = [] }: LoadSkillsOptions): (skill: Skill) => boolean {
  return ({ name }) => (include === undefined || include.includes(name)) && !exclude.includes(name);
}

/** Of one name the skill of the first source; in one source the first that was found. */
function withoutShadowed(found: readonly Skill[], diagnostics: SkillDiagnostic[]): readonly Skill[] {
  const byName = new Map<string, Skill>();
  for (const source of SKILL_SOURCES) {
    for (const skill of found.filter((one) => one.source === source)) {
      const other = byName.get(skill.name);
      if (other === undefined) byName.set(skill.name, skill);
      else {
        const message = `the skill of this name of the source ${other.source} is used, not that of ${skill.source}`;
        diagnostics.push({ severity: "warning", code: "name-shadowed", skill: skill.name, message });
      }
    }
  }
  return [...byName.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

function limited(skills: readonly Skill[], diagnostics: SkillDiagnostic[]): readonly Skill[] {
  for (const { name } of skills.slice(MAX_SKILLS)) {
    const message = `it is left out: at most ${MAX_SKILLS} skills are used at once; exclude some`;
    diagnostics.push({ severity: "warning", code: "too-many-skills", skill: name, message });
  }
  return skills.slice(0, MAX_SKILLS);
}

async function resolved(
  skills: readonly Skill[],
  { resolve, onFailure = "fail" }: SkillHooks,
): Promise<readonly Skill[]> {
  if (resolve === undefined) return skills;
  try {
    return (await resolve(skills)) ?? skills;
  } catch (cause) {
    if (onFailure === "ignore") return skills;
    throw new CapstanError("plugin-invalid", `skills: its resolve hook failed: ${messageOf(cause)}`, { cause });
  }
}
