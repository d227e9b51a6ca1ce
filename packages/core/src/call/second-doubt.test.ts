import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "../words/limits.ts";
import type { Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { flowTool, type Tool, tool } from "../ports/tool.ts";

const nothing = z.object({});

class DoubtWorld extends World {
  start(act: Tool, options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    const model = scriptedModel([{ calls: [{ name: "act", input: {} }] }, { text: "Ok." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [act] });
    return this.open({ agents: [guide], work: "all", permission: { mode: "ask" }, ...options });
  }

  async opened(count: number): Promise<readonly string[]> {
    await until(async () => ofType(await this.log(), "request.opened").length === count, `${count} requests`);
    return ofType(await this.log(), "request.opened").map(({ requestId }) => requestId);
  }
}

/** A call, and a step of a flow, that a crash interrupts as often as they run, but for the last time. */
const KINDS: { readonly [kind: string]: (perform: () => Promise<string>) => Tool } = {
  call: (perform) => tool({ name: "act", description: "Acts.", input: nothing, rerun: "never", execute: perform }),
  "step of a flow": (perform) =>
    flowTool({ name: "act", description: "Acts.", input: nothing, flow: (_input, { step }) => step("act", perform) }),
};

describe("a second doubt", () => {
  for (const [kind, toolOf] of Object.entries(KINDS)) {
    it(`EDGE-01 DUR-03 about the same ${kind} is a question of its own, named by the attempt`, async () => {
      const world = new DoubtWorld();
      let runs = 0;
      const act = toolOf(() => (++runs < 3 ? new Promise<string>(() => undefined) : Promise.resolve("done")));
      const first = await world.start(act);
      const run = await first.send("guide", "Go");
      for (const life of [1, 2]) {
        await until(() => runs === life, `attempt ${life}`);
        await world.kill();
        const next = await world.start(act);
        const asked = await world.opened(life);
        expect(new Set(asked).size).toBe(life);
        expect(runs).toBe(life); // not again before somebody says so
        const session = await next.session<string>(run.session.id);
        await soon(session.respond(asked.at(-1) ?? "", { type: "doubt", outcome: "run-again" }));
      }
      await until(async () => ofType(await world.log(), "run.finished").length === 1);
      expect(runs).toBe(3);
      const log = await world.log();
      expect(ofType(log, "tool.finished")).toMatchObject([{ status: "ok", output: { content: [{ text: "done" }] } }]);
      expect(ofType(log, "request.resolved")).toHaveLength(2);
      await world.close();
    });
  }
});

describe("a probe", () => {
  it("DUR-03 TOOL-16 that hangs is given up when its time is over, and knows nothing", async () => {
    const world = new DoubtWorld();
    let runs = 0;
    let probes = 0;
    const act = tool({
      name: "act",
      description: "Acts.",
      input: nothing,
      rerun: "never",
      timeoutMs: 2_000,
      execute: () => ((runs += 1), new Promise<string>(() => undefined)),
      probe: () => ((probes += 1), new Promise<never>(() => undefined)),
    });
    const first = await world.start(act);
    const run = await first.send("guide", "Go");
    await until(() => runs === 1);
    await world.kill();
    const second = await world.start(act, { permission: { mode: "never-ask" } });
    await until(() => probes === 1);
    await world.clock.advance(2_000 + LIMITS.interruptGraceMs);
    // it is still its session's own mode: a person is asked
    const [request = ""] = await world.opened(1);
    const session = await second.session<string>(run.session.id);
    await soon(session.respond(request, { type: "doubt", outcome: "skip" }));
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    expect(ofType(await world.log(), "tool.finished")).toMatchObject([{ status: "cancelled" }]);
    expect([runs, probes]).toEqual([1, 1]);
    await world.close();
  });
});
