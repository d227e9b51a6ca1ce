/** The agent of `capstan run` when nobody brings one: works on the code of the current folder. */

import { type Agent, agent, listedTools, type Model, type Plugin, type Tool } from "@capstan/core";
import { type Definitions, NO_DEFINITIONS } from "./definitions.ts";
import type { PluginSwitches } from "./settings.ts";

export const CODING_AGENT = "coder";

export type CodingOptions = {
  /** Somebody answers questions: the agent gets a tool to ask them. */
  readonly asks?: boolean;
  /** What the folder says itself, already framed. */
  readonly folderInstructions?: string;
  /** Skills, commands, rules, tools and plugins beside its own. */
  readonly definitions?: Definitions;
  /** Plugins that are switched off. */
  readonly without?: PluginSwitches;
};

/** A whole source file is worth more than its head and tail; what is longer than this can still be read in parts. */
const READ_CHARACTERS = 64_000;

const INSTRUCTIONS = `You are a software engineer working in one folder of the user's machine. All paths are relative to it.

- Look before you change: find and read the code that matters. Read several files in one turn when you know which.
- Make the smallest change that does what was asked, in the style of the code around it.
- Check what you did: run the tests or the program when there is a way to.
- A refused call is an answer: do not try the same by another way. Say what you would need.
- When you are done say in a few sentences what you did and what you saw. Never claim a result that no tool has shown.`;

export async function codingAgent(
  model: Model | string,
  { asks = false, folderInstructions, definitions = NO_DEFINITIONS, without = {} }: CodingOptions = {},
): Promise<Agent> {
  const { askTool, codingTools } = await import("@capstan/tools");
  const own = [...codingTools(), ...(await webOf(process.env)), ...(asks ? [askTool] : [])];
  const plugins = (await codingPlugins(definitions)).filter(
    ({ name }) => without[name as keyof PluginSwitches] !== false,
  ); // other names are not in it
  const taken = new Set([...own, ...plugins.flatMap(listedTools)].map(({ name }) => name));
  return agent({
    name: CODING_AGENT,
    description: "Works on the code of a folder.",
    model,
    instructions: folderInstructions === undefined ? INSTRUCTIONS : `${INSTRUCTIONS}\n\n${folderInstructions}`,
    tools: [...own, ...definitions.tools.filter(({ name }) => !taken.has(name))],
    plugins,
  });
}

/** Pages of the web, and a search where there is a key for one. */
async function webOf({ BRAVE_API_KEY, TAVILY_API_KEY }: NodeJS.ProcessEnv): Promise<readonly Tool[]> {
  const { braveSearch, tavilySearch, webTools } = await import("@capstan/tools/web");
  if (BRAVE_API_KEY !== undefined && BRAVE_API_KEY !== "") return webTools({ search: braveSearch() });
  if (TAVILY_API_KEY !== undefined && TAVILY_API_KEY !== "") return webTools({ search: tavilySearch() });
  return webTools();
}

/** The outermost first: the loop is judged by results as the model sees them, skills judge calls as they are made. */
async function codingPlugins({ commands: found, skills: set, ...more }: Definitions): Promise<readonly Plugin[]> {
  const [
    { commands },
    { compaction },
    { rules },
    { skills },
    { loopGuard },
    { outputLimit },
    { omissionGuard },
    { readBeforeEdit },
    tools,
  ] = await Promise.all([
    import("@capstan/plugins/commands"),
    import("@capstan/plugins/compaction"),
    import("@capstan/plugins/rules"),
    import("@capstan/plugins/skills"),
    import("@capstan/plugins/loop-guard"),
    import("@capstan/plugins/output-limit"),
    import("@capstan/plugins/omission-guard"),
    import("@capstan/plugins/read-before-edit"),
    import("@capstan/tools"),
  ]);
  const { attachments, backgroundShell } = tools;
  const own = [
    commands(found, { also: set.skills.map(({ name, description }) => ({ name, description })) }),
    compaction(),
    attachments(),
    rules(more.rules),
    loopGuard({ polling: ["shell_output", "shell_list"] }),
    outputLimit({ tools: { read_file: READ_CHARACTERS, skill: READ_CHARACTERS, skill_read: READ_CHARACTERS } }),
    omissionGuard(),
    readBeforeEdit(),
    backgroundShell(),
  ];
  const last = skills(set);
  const names = new Set([...own, last].map(({ name }) => name));
  return [...own, ...more.plugins.filter(({ name }) => !names.has(name)), last];
}
