/** Skills that code writes: as text in the form of SKILL.md, and into a folder, to be found there like any other. */

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CapstanError, systemClock, systemIds } from "@capstan/core";
import { isPlainName } from "../definition-folder.ts";
import { type InlineSkill, SKILL_FILE } from "./skill.ts";

const ids = systemIds(() => systemClock.now());

export async function skillText(skill: InlineSkill): Promise<string> {
  const { stringify } = await import("yaml");
  const { name, description, instructions, license, compatibility, metadata, allowedTools, keywords, tags } = skill;
  const head = stringify({
    name,
    description,
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    ...(allowedTools !== undefined && { "allowed-tools": allowedTools }),
    ...(keywords !== undefined && { keywords }),
    ...(tags !== undefined && { tags }),
    ...(metadata !== undefined && { metadata }),
  });
  return `---\n${head}---\n\n${instructions}\n`;
}

/** Each file is replaced whole, and only when it differs. Throws `path-invalid` for a name that leads elsewhere. */
export async function writeSkills(folder: string, skills: readonly InlineSkill[]): Promise<void> {
  for (const skill of skills) {
    const files = { ...skill.files, [SKILL_FILE]: await skillText(skill) };
    for (const name of [skill.name, ...Object.keys(files)]) {
      if (!isPlainName(name))
        throw new CapstanError(
          "path-invalid",
          `Skill ${JSON.stringify(skill.name)}: ${JSON.stringify(name)} is no name below its folder`,
        );
    }
    if (skill.name.includes("/"))
      throw new CapstanError("path-invalid", `The name of a skill has no slash: ${JSON.stringify(skill.name)}`);
    for (const [name, text] of Object.entries(files)) await replace(join(folder, skill.name, name), text);
  }
}

async function replace(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => undefined)) === text) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${ids.random()}.tmp`;
  await writeFile(temporary, text, { flag: "wx", mode: /(?:^|\/)scripts\//.test(path) ? 0o700 : 0o600 });
  await rename(temporary, path);
}
