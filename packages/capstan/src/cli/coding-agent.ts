/** The agent of `capstan run` when nobody brings one: works on the code of the current folder. */

import { type Agent, agent, type Model, type Plugin } from "@capstan/core";
import type { PluginSwitches } from "./settings.ts";

export const CODING_AGENT = "coder";

export type CodingOptions = {
  /** Somebody answers questions: the agent gets a tool to ask them. */
  readonly asks?: boolean;
  /** What the folder says itself, already framed. */
  readonly folderInstructions?: string;
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
  { asks = false, folderInstructions, without = {} }: CodingOptions = {},
): Promise<Agent> {
  const { askTool, codingTools } = await import("@capstan/tools");
  return agent({
    name: CODING_AGENT,
    description: "Works on the code of a folder.",
    model,
    instructions: folderInstructions === undefined ? INSTRUCTIONS : `${INSTRUCTIONS}\n\n${folderInstructions}`,
    tools: [...codingTools(), ...(asks ? [askTool] : [])],
    plugins: (await codingPlugins()).filter(({ name }) => without[name as keyof PluginSwitches] !== false), // other names are not in it
  });
}

/** The outermost first: the loop is judged by results as the model sees them. */
async function codingPlugins(): Promise<readonly Plugin[]> {
  const [{ loopGuard }, { outputLimit }, { omissionGuard }, { readBeforeEdit }, { backgroundShell }] =
    await Promise.all([
      import("@capstan/plugins/loop-guard"),
      import("@capstan/plugins/output-limit"),
      import("@capstan/plugins/omission-guard"),
      import("@capstan/plugins/read-before-edit"),
      import("@capstan/tools"),
    ]);
  return [
    loopGuard({ polling: ["shell_output", "shell_list"] }),
    outputLimit({ tools: { read_file: READ_CHARACTERS } }),
    omissionGuard(),
    readBeforeEdit(),
    backgroundShell(),
  ];
}
