import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "../words/limits.ts";
import type { Runtime } from "../session/runtime.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { type FlowContext, flowTool } from "../ports/tool.ts";

const GO = { type: "permission", allow: true } as const;

class FlowWorld extends World {
  start(flow: (context: FlowContext) => Promise<string>): Promise<Runtime> {
    const work = flowTool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      flow: (_input, context) => flow(context),
    });
    const model = scriptedModel([{ calls: [{ name: "work", input: {} }] }, { text: "Ok." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [work] });
    return this.open({ agents: [guide], permission: { mode: "ask" }, work: "all" });
  }

  async opened(count: number): Promise<readonly string[]> {
    await until(async () => ofType(await this.log(), "request.opened").length === count, `${count} requests`);
    return ofType(await this.log(), "request.opened").map(({ requestId }) => requestId);
  }

  async output(): Promise<unknown> {
    return ofType(await this.log(), "tool.finished")[0]?.output.content[0];
  }
}

const both = async ({ ask }: FlowContext): Promise<string> => {
  const answers = await Promise.all([ask("left", { title: "Left?" }), ask("right", { title: "Right?" })]);
  return answers.map(({ allow, reason }) => `${allow} ${reason}`).join(", ");
};

describe("two questions of one flow at once", () => {
  it("DUR-06 LOOP-34 are both answered, in either order", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const world = new FlowWorld();
      const runtime = await world.start(both);
      const run = await runtime.send("guide", "Go");
      const requests = await world.opened(2);
      await until(async () => (await runtime.sessions({ status: "waiting" })).length === 1);
      for (const index of order)
        await soon(run.session.respond(requests[index] ?? "", { ...GO, reason: ["left", "right"][index] ?? "" }));
      expect(await soon(run.text())).toBe("Ok.");
      expect(await world.output()).toEqual({ type: "text", text: "true left, true right" });
      await world.close();
    }
  });

  it("DUR-06 DUR-12 EDGE-02 are both answered when the session parks, and its process dies, in between", async () => {
    const world = new FlowWorld();
    const first = await world.start(both);
    const run = await first.send("guide", "Go");
    const [left = "", right = ""] = await world.opened(2);
    await world.clock.advance(LIMITS.parkAfterMs + 1);
    expect(await world.store.pending()).toEqual([]);
    await soon(run.session.respond(left, { ...GO, reason: "left" }));
    await until(async () => ofType(await world.log(), "run.suspended").length === 2);
    await world.kill();
    const second = await world.start(both);
    const session = await second.session<string>(run.session.id);
    await soon(session.respond(right, { ...GO, reason: "right" }));
    expect(await soon((await session.run())?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(await world.output()).toEqual({ type: "text", text: "true left, true right" });
    expect(await world.opened(2)).toEqual([left, right]);
    await world.close();
  });
});

describe("a flow that waits beside a step that runs", () => {
  const waits = {
    ask: { wait: ({ ask }: FlowContext) => ask("go", { title: "Go?" }), asks: true },
    sleep: { wait: ({ sleep }: FlowContext) => sleep("nap", 5_000), asks: false },
  };
  for (const [name, { wait, asks }] of Object.entries(waits)) {
    it(`LOOP-34 EDGE-02 does not suspend or park before the step is recorded (${name})`, async () => {
      const world = new FlowWorld();
      const gate = Promise.withResolvers<string>();
      let performed = 0;
      const runtime = await world.start(async (context) => {
        const step = context.step("slow", () => ((performed += 1), gate.promise));
        await wait(context);
        return step;
      });
      const run = await runtime.send("guide", "Go");
      await until(() => performed === 1);
      await world.clock.advance(3 * LIMITS.parkAfterMs);
      expect(ofType(await world.log(), "run.suspended")).toEqual([]);
      expect(await world.store.pending()).toMatchObject([{ owner: await world.owner() }]);
      gate.resolve("built");
      if (asks) {
        const [request = ""] = await world.opened(1);
        await until(async () => ofType(await world.log(), "run.suspended").length === 1);
        await world.clock.advance(LIMITS.parkAfterMs + 1);
        await soon(run.session.respond(request, GO));
      }
      expect(await soon(run.text())).toBe("Ok.");
      expect(performed).toBe(1);
      expect(await world.output()).toEqual({ type: "text", text: "built" });
      await world.close();
    });
  }
});

it("G13 a flow that looks at a question later, and is interrupted before, does not end the process", async () => {
  const lost: unknown[] = [];
  const hear = (error: unknown): void => void lost.push(error);
  process.on("unhandledRejection", hear);
  try {
    const world = new World();
    const early = flowTool({
      name: "early",
      description: "Asks early.",
      input: z.object({}),
      async flow(_input, context) {
        const answer = context.ask("sure", { title: "Sure?" });
        await context.sleep("meanwhile", 100_000);
        return (await answer).allow ? "Yes." : "No.";
      },
    });
    const guide = agent({
      name: "guide",
      model: scriptedModel([{ calls: [{ name: "early", input: {} }] }]),
      instructions: "x",
      tools: [early],
    });
    const runtime = await world.open({ agents: [guide], work: "all" });
    const run = await runtime.send(guide, "Go");
    expect((await soon(run.result())).status).toBe("waiting");
    await soon(run.session.interrupt());
    expect((await soon(run.result())).reason).toBe("interrupted");
    await new Promise((resolve) => setImmediate(resolve));
    expect(lost).toEqual([]);
  } finally {
    process.off("unhandledRejection", hear);
  }
});
