/** The agent of `capstan demo`: a scripted model with real tools, allowed just what the demo needs. */

import { type Agent, agent } from "@capstan/core";

export const DEMO_AGENT = "demo";

/** `wordMs`: pause after each word of the model, for people who watch. */
export async function demoAgent(wordMs = 0): Promise<Agent> {
  const [{ codingTools }, { demoModel }] = await Promise.all([
    import("@capstan/tools"),
    import("@capstan/models/demo"),
  ]);
  return agent({
    name: DEMO_AGENT,
    description: "Repairs the demo project; its model is scripted.",
    model: demoModel({ wordMs }),
    instructions: "Repair the project.",
    tools: codingTools(),
    permission: { allow: ["shell(node --test --test-reporter=spec)", "edit(./src/**)"] },
  });
}
