import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Agent, agent, type AgentDefinition } from "../ports/agent.ts";
import { plugin } from "../ports/plugin.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { ofType, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { flowTool, tool } from "../ports/tool.ts";

const nothing = z.object({});
const TURNS = [{ calls: [{ name: "act", input: {} }] }, { text: "Ok." }];
const act = { name: "act", description: "Acts.", input: nothing };

type Changed = (perform: () => string) => Pick<AgentDefinition, "tools" | "plugins">;

/** What may stand in the place of a tool whose call a crash left open. */
const CHANGES: { readonly [what: string]: Changed } = {
  "is gone": () => ({ tools: [] }),
  "has a stricter schema": (execute) => ({ tools: [tool({ ...act, input: z.object({ why: z.string() }), execute })] }),
  "is a flow now": (perform) => ({ tools: [flowTool({ ...act, flow: (_input, { step }) => step("act", perform) })] }),
  "is a client's now": () => ({ tools: [tool(act)] }),
  "may be repeated now": (execute) => ({ tools: [tool({ ...act, rerun: "safe", execute })] }),
  "has a key now": (execute) => ({ tools: [tool({ ...act, rerun: "keyed", execute })] }),
  "is denied by a hook": (execute) => ({
    tools: [tool({ ...act, execute })],
    plugins: [plugin({ name: "guard", tool: async (_call, context) => context.deny("not now") })],
  }),
  "is answered by a hook": (execute) => ({
    tools: [tool({ ...act, execute })],
    plugins: [plugin({ name: "cache", tool: async (_call, context) => context.answer("as before") })],
  }),
  "has a hook that fails": (execute) => ({
    tools: [tool({ ...act, execute })],
    plugins: [plugin({ name: "broken", tool: () => Promise.reject(new Error("no")) })],
  }),
};

class ChangingWorld extends World {
  effects = 0;

  guide(parts: Pick<AgentDefinition, "tools" | "plugins">): Agent {
    return agent({ name: "guide", model: scriptedModel(TURNS), instructions: "x", ...parts });
  }
}

describe("a call that a crash left open, when its tool", () => {
  for (const [what, changed] of Object.entries(CHANGES)) {
    it(`DUR-03 DUR-12 EDGE-14 G3 ${what}, is in doubt and not made again`, async () => {
      const world = new ChangingWorld();
      const hangs = (): Promise<never> => (world.effects++, new Promise(() => undefined));
      const never = tool({ ...act, execute: hangs });
      const options = { agents: [world.guide({ tools: [never] })], work: "all" } as const;
      const before = await world.open({ ...options, permission: { mode: "never-ask", allow: ["act"] } });
      await before.send("guide", "Go");
      await until(() => world.effects === 1);
      await world.kill();
      const after = world.guide(changed(() => `done ${++world.effects} times`));
      const allow = after.tools.length === 0 ? [] : ["act"];
      await world.open({ agents: [after], work: "all", permission: { mode: "never-ask", allow } });
      await until(async () => ofType(await world.log(), "run.finished").length === 1, "the end of the run");
      expect(world.effects).toBe(1);
      expect(ofType(await world.log(), "tool.finished")).toMatchObject([{ status: "unknown" }]);
      await world.close();
    });
  }

  it("DUR-03 DUR-12 is a call now and was a flow, is in doubt where a step of it was begun", async () => {
    const world = new ChangingWorld();
    const hangs = (): Promise<string> => (world.effects++, new Promise(() => undefined));
    const flow = flowTool({ ...act, flow: (_input, { step }) => step("act", hangs) });
    const permission = { mode: "never-ask", allow: ["act"] } as const;
    const before = await world.open({ agents: [world.guide({ tools: [flow] })], work: "all", permission });
    await before.send("guide", "Go");
    await until(() => world.effects === 1);
    await world.kill();
    const call = tool({ ...act, rerun: "safe", execute: () => `done ${++world.effects} times` });
    await world.open({ agents: [world.guide({ tools: [call] })], work: "all", permission });
    await until(async () => ofType(await world.log(), "run.finished").length === 1, "the end of the run");
    expect(world.effects).toBe(1);
    expect(ofType(await world.log(), "tool.finished")).toMatchObject([{ status: "unknown" }]);
    await world.close();
  });

  it("DUR-03 G3 is gone, is settled by a person who can be asked", async () => {
    const world = new ChangingWorld();
    const hangs = (): Promise<never> => (world.effects++, new Promise(() => undefined));
    const options = { work: "all", permission: { mode: "ask", allow: ["act"] } } as const;
    const before = await world.open({
      agents: [world.guide({ tools: [tool({ ...act, execute: hangs })] })],
      ...options,
    });
    await before.send("guide", "Go");
    await until(() => world.effects === 1);
    await world.kill();
    const doubts: string[] = [];
    await world.open({
      agents: [world.guide({ tools: [] })],
      work: "all",
      permission: { mode: "ask" },
      onRequest: ({ body }) => (doubts.push(body.type), Promise.resolve({ type: "doubt", outcome: "it-happened" })),
    });
    await until(async () => ofType(await world.log(), "run.finished").length === 1, "the end of the run");
    expect(doubts).toEqual(["doubt"]);
    expect(ofType(await world.log(), "tool.finished")).toMatchObject([{ status: "ok" }]);
    await world.close();
  });
});
