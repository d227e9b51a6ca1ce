/** The agent of a command with all that holds for it: settings of the user, of Claude Code, of a trusted folder, remembered rules. */

import { realpath } from "node:fs/promises";
import { type Agent, parseRule, type PermissionRules, type Plugin } from "@capstan/core";
import type { Config } from "../config.ts";
import { chosenAgent, toolsFor, withInner, withRules } from "./agents.ts";
import { type ClaudeSettings, folderClaudeSettings, userClaudeSettings } from "./claude-settings.ts";
import { CODING_AGENT } from "./coding-agent.ts";
import { type Definitions, definitionsOrNone, type Note } from "./definitions.ts";
import { type FolderInstructions, folderInstructions } from "./folder-instructions.ts";
import { type AskTrust, folderTrust } from "./folder-trust.ts";
import { inertLine } from "./inert.ts";
import { mcpPlugins } from "./mcp-servers.ts";
import { withProjectSettings } from "./project-settings.ts";
import type { Screen } from "./screen.ts";
import type { Settings } from "./settings.ts";
import { folderHooks, userHooks } from "./settings-plugins.ts";

export type AgentPlace = {
  readonly config: Config | undefined;
  readonly settings: Settings;
  readonly name: string | undefined;
  readonly model?: string | undefined;
  /** Folder of the session, if it has one. */
  readonly root: string | undefined;
  /** Somebody answers the agent's questions. */
  readonly asks: boolean;
  readonly askTrust?: AskTrust | undefined;
  /** Of the command line. */
  readonly rules?: PermissionRules;
};
export type AgentSetUp = {
  readonly agent: Agent<unknown>;
  /** With every rule that holds for all agents. */
  readonly settings: Settings;
  /** Of the runtime, beside those of the configuration. */
  readonly plugins: readonly Plugin[];
  /** Of the coding agent: what it was given beside its own. */
  readonly definitions?: Definitions;
  readonly notes: readonly Note[];
};

/** Throws `agent-unknown`, `config-invalid` or `usage`. Nothing of a folder that is not trusted is in it. */
export async function setUpAgent(place: AgentPlace): Promise<AgentSetUp> {
  const { config, name, model, root, asks, rules = {} } = place;
  const isCoding = config === undefined && (name ?? CODING_AGENT) === CODING_AGENT;
  const found = isCoding ? await surroundings(place) : { ...NONE, settings: place.settings };
  const { settings } = found;
  const coding = {
    asks,
    ...(found.instructions !== undefined && { folderInstructions: found.instructions.text }),
    ...(found.definitions !== undefined && { definitions: found.definitions }),
    ...(settings.plugins !== undefined && { without: settings.plugins }),
  };
  const chosen = await chosenAgent({ config, name, model, defaultModel: settings.model, coding });
  const plugins = [
    ...(await userHooks(settings)),
    ...(await folderHooks(found.folder, root, settings)),
    ...found.mcp,
    ...(isCoding && settings.plugins?.checkpoints !== false ? [await fileCheckpoints()] : []),
  ];
  const isKnown = knownTo(chosen, config);
  const { all = [], agents = {} } = settings.always ?? {};
  const always = Object.hasOwn(agents, chosen.name) ? (agents[chosen.name] ?? []) : [];
  const added = [...found.user, ...found.folder].map((file) => file.rules);
  return {
    agent: withRules(chosen, { ...rules, allow: [...(rules.allow ?? []), ...always.filter(isKnown)] }),
    settings: withAdded(settings, [{ allow: all }, ...added], isKnown),
    plugins,
    ...(found.definitions !== undefined && { definitions: found.definitions }),
    notes: notesOf(found),
  };
}

/** Of the runtime, so that what sub-agents change is kept too. */
async function fileCheckpoints(): Promise<Plugin> {
  const { checkpoints } = await import("@capstan/plugins/checkpoints");
  return checkpoints();
}

/** What was found says itself: always what is not used, else only where it is asked for. */
export function sayNotes(screen: Screen, notes: readonly Note[], verbose: boolean): void {
  for (const note of notes) {
    if (verbose || !note.verbose)
      screen.note(`  ${note.verbose ? "·" : "!"} ${note.line}`, note.verbose ? "dim" : "yellow");
  }
}

type Found = {
  /** Of the user, with what the folder may change. */
  readonly settings: Settings;
  readonly definitions?: Definitions;
  /** Of the definitions and of MCP servers. */
  readonly notes: readonly Note[];
  readonly mcp: readonly Plugin[];
  readonly user: readonly ClaudeSettings[];
  readonly folder: readonly ClaudeSettings[];
  readonly instructions?: FolderInstructions | undefined;
  readonly unused?: string | undefined;
};
const NONE: Omit<Found, "settings"> = { user: [], folder: [], notes: [], mcp: [] };

async function surroundings({ root, askTrust, settings: own }: AgentPlace): Promise<Found> {
  if (root === undefined) {
    const { plugins: mcp, notes: said } = await mcpPlugins(undefined, undefined);
    const { definitions, notes } = await definitionsOrNone({ root, trust: undefined, settings: own });
    return { ...NONE, settings: own, definitions, notes: [...notes, ...said], mcp };
  }
  const real = await realpath(root).catch(() => root); // one that is gone is told by whoever opens it
  const [user, { trust, unused }] = await Promise.all([userClaudeSettings(real), folderTrust(real, askTrust)]);
  const { settings, files } = await withProjectSettings(own, trust);
  const { definitions, notes } = await definitionsOrNone({ root: real, trust, settings });
  const { plugins: mcp, notes: ofServers } = await mcpPlugins(trust, undefined);
  return {
    settings,
    definitions,
    notes: [...notes, ...ofServers],
    mcp,
    user: user === undefined ? [] : [user],
    folder: [...files, ...(trust === undefined ? [] : await folderClaudeSettings(trust))],
    instructions: trust === undefined ? undefined : await folderInstructions(trust),
    unused,
  };
}

/** A rule of elsewhere may be about a tool that is not here: it means nothing then, and is no mistake. */
function knownTo(agent: Agent<unknown>, config: Config | undefined): (rule: string) => boolean {
  const tools = withInner([agent]).flatMap((one) => toolsFor(config, one));
  const names = new Set(["Read", "Edit", "Write", "Bash", ...tools.map((tool) => tool.name)]);
  return (rule) => {
    const { name } = parseRule(rule);
    return (
      name.startsWith("mcp:") ||
      names.has(name) ||
      (name.endsWith("/*") && [...names].some((tool) => tool.startsWith(name.slice(0, -1))))
    );
  };
}

function withAdded(
  settings: Settings,
  added: readonly PermissionRules[],
  isKnown: (rule: string) => boolean,
): Settings {
  const own = settings.permission ?? {};
  const all = (list: "allow" | "ask" | "deny"): readonly string[] => [
    ...(own[list] ?? []),
    ...added.flatMap((rules) => rules[list] ?? []).filter(isKnown),
  ];
  return { ...settings, permission: { ...own, allow: all("allow"), ask: all("ask"), deny: all("deny") } };
}

function notesOf({ user, folder, instructions, unused, notes: ofDefinitions }: Found): readonly Note[] {
  const notes: Note[] = [...ofDefinitions];
  if (unused !== undefined) notes.push({ line: unused, verbose: false });
  if (instructions !== undefined) {
    const { names, bytes, left } = instructions;
    notes.push({ line: `Instructions of ${names.join(", ")} (${bytes} bytes)`, verbose: true });
    if (left > 0)
      notes.push({ line: `${names.join(", ")}: the last ${left} bytes are too much and left out`, verbose: false });
  }
  for (const { file, rules, problems, hooks } of [...user, ...folder]) {
    const count = [rules.allow, rules.ask, rules.deny].reduce((sum, list) => sum + (list?.length ?? 0), 0);
    const what = `${count} rules${hooks === undefined ? "" : " and hooks"}`;
    notes.push({ line: `${inertLine(file)}: ${what}`, verbose: true });
    const [first = "", ...more] = problems;
    if (more.length > 0)
      notes.push({
        line: `${inertLine(file)}: ${problems.length} rules do not hold as written; --verbose lists them`,
        verbose: false,
      });
    else if (first !== "") notes.push({ line: `${inertLine(file)}: ${inertLine(first)}`, verbose: false });
    for (const problem of more.length > 0 ? problems : [])
      notes.push({ line: `${inertLine(file)}: ${inertLine(problem)}`, verbose: true });
  }
  return notes;
}
