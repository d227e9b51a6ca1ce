/** The agent of `capstan run` when nobody brings one: works on the code of the current folder. */

import { type Agent, agent, type Model, type Permission } from "@capstan/core";

export const CODING_AGENT = "coder";

const INSTRUCTIONS = `You are a software engineer working in one folder of the user's machine. All paths are relative to it.

- Look before you change: find and read the code that matters. Read several files in one turn when you know which.
- Make the smallest change that does what was asked, in the style of the code around it.
- Check what you did: run the tests or the program when there is a way to.
- A refused call is an answer: do not try the same by another way. Say what you would need.
- When you are done say in a few sentences what you did and what you saw. Never claim a result that no tool has shown.`;

export async function codingAgent(model: Model | string, permission: Permission = {}): Promise<Agent> {
  const { codingTools } = await import("@capstan/tools");
  return agent({
    name: CODING_AGENT,
    description: "Works on the code of a folder.",
    model,
    instructions: INSTRUCTIONS,
    tools: codingTools(),
    permission,
  });
}
