/** What the coding agent is given beside its own: skills, commands, rules, tools, packages, of the user and of a trusted folder. */

import { isAbsolute, join } from "node:path";
import { builtIn, CapstanError, messageOf, type Plugin, type Tool } from "@capstan/core";
import type { CommandSet } from "@capstan/plugins/commands";
import type { LoadedPackage } from "@capstan/plugins/packages";
import type { RulesFolder } from "@capstan/plugins/rules";
import type { SkillSet } from "@capstan/plugins/skills";
import { type Env, homeFolder, homeFolders } from "../home-folders.ts";
import type { Trust } from "../trust.ts";
import { inertLine } from "./inert.ts";
import type { Settings } from "./settings.ts";
import { currentTrustedFolder, trustedFolder } from "./trusted-folder.ts";

export type Definitions = {
  readonly skills: SkillSet;
  readonly commands: CommandSet;
  readonly rules: readonly RulesFolder[];
  readonly tools: readonly Tool[];
  readonly plugins: readonly Plugin[];
};
export type Note = { readonly line: string; readonly verbose: boolean };
export type FoundDefinitions = { readonly definitions: Definitions; readonly notes: readonly Note[] };

/** Folders of a project that hold definitions, by what they hold; the first that has a name wins. */
export const PROJECT_FOLDERS = {
  skills: [".capstan/skills", ".agents/skills", ".claude/skills"],
  commands: [".capstan/commands", ".claude/commands"],
  rules: [".capstan/rules", ".claude/rules"],
  tools: [".capstan/tools"],
} as const;

type Place = {
  /** Real path of the session's folder, if it has one. */
  readonly root: string | undefined;
  /** Undefined: nothing of the folder is used. */
  readonly trust: Trust | undefined;
  readonly settings: Settings;
  readonly env?: Env;
};

/** Throws `config-invalid` for a package that does not load, and `file-changed` for one that is not what was trusted. */
async function readDefinitions({ root, trust, settings, env = process.env }: Place): Promise<FoundDefinitions> {
  const [{ loadCommands }, { diskFolder, loadSkills }, { loadTools }, packages] = await Promise.all([
    import("@capstan/plugins/commands"),
    import("@capstan/plugins/skills"),
    import("@capstan/plugins/packages"),
    loadPackages(settings, env),
  ]);
  const user = userFolders(env);
  const ofProject = (what: keyof typeof PROJECT_FOLDERS): readonly string[] =>
    trust === undefined ? [] : PROJECT_FOLDERS[what];
  const from = <T>(source: T, folders: readonly string[]) => folders.map((folder) => ({ source, folder }));
  const [skills, commands, own, theirs] = await Promise.all([
    loadSkills({
      folders: [
        ...ofProject("skills").map((below) => ({
          source: "project" as const,
          folder: trustedFolder(trust as Trust, below),
        })), // there are none without it
        ...from("user" as const, user.skills),
        ...packages.flatMap((one) => one.skills),
      ],
      trustProject: trust !== undefined,
      ...settings.skills,
    }),
    loadCommands({
      folders: [
        ...ofProject("commands").map((below) => ({
          source: "project" as const,
          folder: trustedFolder(trust as Trust, below),
        })),
        ...from("user" as const, user.commands),
        ...packages.flatMap((one) => one.commands),
      ],
      trustProject: trust !== undefined,
    }),
    loadTools(diskFolder(user.tools, { links: "follow" })),
    trust === undefined ? { tools: [], diagnostics: [] } : loadTools(trustedFolder(trust, PROJECT_FOLDERS.tools[0])),
  ]);
  const rules = [
    ...user.rules.map((folder) => ({ of: "the user", folder: diskFolder(folder, { links: "follow" }) })),
    ...packages.flatMap((one) => one.rules),
    ...(root === undefined
      ? []
      : PROJECT_FOLDERS.rules.map((below) => ({ of: "this folder", folder: currentTrustedFolder(root, below) }))),
  ];
  const tools = firstOfName([...own.tools, ...packages.flatMap((one) => one.tools), ...theirs.tools.map(asking)]);
  const toolNotes = [own, ...packages, theirs].flatMap(({ diagnostics }) =>
    diagnostics.map(({ file, message }) => visible(file, message)),
  );
  return {
    definitions: { skills, commands, rules, tools, plugins: packages.flatMap((one) => one.plugins) },
    notes: [...notesOf(skills, commands), ...toolNotes],
  };
}

/** Without anything beside the agent's own. */
export const NO_DEFINITIONS: Definitions = {
  skills: { skills: [], diagnostics: [], catalog: "", hooks: {} },
  commands: { commands: [], diagnostics: [] },
  rules: [],
  tools: [],
  plugins: [],
};

function userFolders(env: Env): {
  readonly skills: readonly string[];
  readonly commands: readonly string[];
  readonly rules: readonly string[];
  readonly tools: string;
} {
  const own = homeFolders(env).settings;
  const named = env["CLAUDE_CONFIG_DIR"];
  const claude = named !== undefined && isAbsolute(named) ? named : join(homeFolder(), ".claude");
  return {
    skills: [join(own, "skills"), join(homeFolder(), ".agents", "skills"), join(claude, "skills")],
    commands: [join(own, "commands"), join(claude, "commands")],
    rules: [join(own, "rules"), join(claude, "rules")],
    tools: join(own, "tools"),
  };
}

async function loadPackages({ packages = [] }: Settings, env: Env): Promise<readonly LoadedPackage[]> {
  if (packages.length === 0) return [];
  const { loadPackage, packageFolder } = await import("@capstan/plugins/packages");
  return Promise.all(
    packages.map(async ({ from, hash }) => {
      try {
        return await loadPackage(packageFolder(from, homeFolders(env).settings), { hash });
      } catch (cause) {
        if (!CapstanError.is(cause)) throw cause;
        const cure = `look at it with "capstan packages '${from}'", or use it no more with --remove`;
        throw new CapstanError(cause.code, `Package ${from}: ${cause.message}; ${cure}`, { cause });
      }
    }),
  );
}

/** A tool of a project asks, whatever it says of itself, unless a rule allows it: a project can only tighten. */
function asking(tool: Tool): Tool {
  return builtIn(tool.permission === "deny" ? tool : { ...tool, permission: "ask" });
}

function firstOfName(tools: readonly Tool[]): readonly Tool[] {
  return tools.filter(({ name }, index) => tools.findIndex((tool) => tool.name === name) === index);
}

function notesOf({ skills, diagnostics }: SkillSet, commands: CommandSet): readonly Note[] {
  const names = skills.map(({ name, source }) => `${name} (${source})`);
  return [
    ...(names.length === 0 ? [] : [{ line: inertLine(`Skills: ${names.join(", ")}`), verbose: true }]),
    ...(commands.commands.length === 0
      ? []
      : [
          { line: inertLine(`Commands: ${commands.commands.map(({ name }) => `/${name}`).join(", ")}`), verbose: true },
        ]),
    ...diagnostics.map(({ severity, skill, message }) => ({
      line: inertLine(`Skill ${skill}: ${message}`),
      verbose: severity === "warning",
    })),
    ...commands.diagnostics.map(({ command, message }) => ({
      line: inertLine(`Command ${command}: ${message}`),
      verbose: true,
    })),
  ];
}

function visible(file: string, message: string): Note {
  return { line: inertLine(`Tools of ${file}: ${message}`), verbose: false };
}

/** What cannot be read of definitions must not keep the agent from its work, but for what the user has named himself. */
export async function definitionsOrNone(place: Place): Promise<FoundDefinitions> {
  try {
    return await readDefinitions(place);
  } catch (error) {
    if (!CapstanError.is(error) || error.code === "config-invalid" || error.code === "file-changed") throw error;
    return { definitions: NO_DEFINITIONS, notes: [visible("skills and commands", messageOf(error))] };
  }
}
