import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { type FlowContext, flowTool, type ToolResult } from "../ports/tool.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

type Body = (input: { readonly to: string }, context: FlowContext) => Promise<ToolResult>;

function guideOf(flow: Body, description = "Deploys.") {
  const deploy = flowTool({ name: "deploy", description, input: z.object({ to: z.string() }), flow });
  const model = scriptedModel([{ calls: [{ name: "deploy", input: { to: "prod" } }] }, { text: "Ok." }]);
  return agent({ name: "guide", model, instructions: "x", tools: [deploy] });
}

/** One run of the flow to its end in a fresh runtime. */
async function play(flow: Body, options: Partial<RuntimeOptions> = {}) {
  const guide = guideOf(flow);
  const runtime = await testRuntime({ agents: [guide], ...options });
  const run = await runtime.send(guide, "Go");
  const result = await soon(run.result());
  const log = await logOf(runtime.store, run.session.id);
  await runtime.close();
  return { result, log, end: ofType(log, "tool.finished")[0] };
}

class FlowWorld extends World {
  start(flow: Body, options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    return this.open({ permission: { mode: "ask" }, work: "all", ...options, agents: [guideOf(flow)] });
  }
}

describe("a flow", () => {
  it("TOOL-11 runs its steps in order and records each, with an intent for what is not safe", async () => {
    const { end, log } = await play(async ({ to }, context) => {
      const plan = await context.step("plan", { rerun: "safe" }, () => `plan for ${to}`);
      const key = await context.step("apply", { rerun: "keyed" }, ({ idempotencyKey }) => idempotencyKey.length);
      await context.step("note", () => undefined);
      return `${plan}, ${key}`;
    });
    expect(end).toMatchObject({ status: "ok", output: { content: [{ text: "plan for prod, 64" }] } });
    const prefix = "call/run_1/1/0/step";
    expect(ofType(log, "step.started").map(({ name, rerun }) => [name, rerun])).toEqual([
      [`${prefix}/apply`, "keyed"],
      [`${prefix}/note`, "never"],
    ]);
    expect(ofType(log, "step.finished").map(({ name, value }) => [name, value])).toEqual([
      [`${prefix}/plan`, "plan for prod"],
      [`${prefix}/apply`, 64],
      [`${prefix}/note`, null],
    ]);
    expect(ofType(log, "tool.started")[0]).toMatchObject({ flow: true, rerun: "safe" });
  });

  it("an error is a result for the model, and the failure of its step is recorded", async () => {
    const { end, log, result } = await play(async (_input, context) => {
      await context.step("bad", () => {
        throw new Error("no disk");
      });
      return "never";
    });
    expect(end).toMatchObject({ status: "error", output: { content: [{ text: "no disk" }], isError: true } });
    expect(ofType(log, "step.finished")).toMatchObject([{ value: null, failed: "no disk" }]);
    expect(result.text).toBe("Ok.");
  });

  it("may go on after a step that threw", async () => {
    const { end } = await play(async (_input, context) => {
      const first = await context.step("bad", () => Promise.reject<string>(new Error("no"))).catch(() => "caught");
      return `${first} ${await context.step("good", () => "good")}`;
    });
    expect(end).toMatchObject({ status: "ok", output: { content: [{ text: "caught good" }] } });
  });

  it("steps beside each other are fine", async () => {
    const { end } = await play(async (_input, context) => {
      const all = await Promise.all(["a", "b", "c"].map((name) => context.step(name, async () => name)));
      return all.join("");
    });
    expect(end).toMatchObject({ output: { content: [{ text: "abc" }] } });
  });

  it("using a name twice ends the run with flow-diverged", async () => {
    const { result } = await play(async (_input, context) => {
      await context.step("same", () => 1);
      await context.step("same", () => 2);
      return "never";
    });
    expect(result).toMatchObject({ reason: "error", error: { code: "flow-diverged" } });
    const mixed = await play(async (_input, context) => {
      await context.sleep("same", 0);
      await context.step("same", () => 2);
      return "never";
    });
    expect(mixed.result).toMatchObject({ error: { code: "flow-diverged" } });
  });

  it("PERM-05 an ask with nobody to ask is a no, not a wait", async () => {
    const { end } = await play(async (_input, context) => JSON.stringify(await context.ask("go", { title: "Go?" })));
    expect(end).toMatchObject({ output: { content: [{ text: '{"allow":false,"reason":"nobody can be asked"}' }] } });
  });

  it("asks a person, and asks questions", async () => {
    const questions = [
      {
        header: "Colour",
        question: "Which?",
        multiSelect: false,
        options: [
          { label: "red", description: "warm" },
          { label: "blue", description: "cold" },
        ],
      },
    ];
    const { end, log } = await play(
      async (_input, context) => {
        const go = await context.ask("go", { title: "Deploy to prod?", detail: "3 changes" });
        const { answers } = await context.question("colour", questions);
        return JSON.stringify([go, answers]);
      },
      {
        permission: { mode: "ask" },
        onRequest: async ({ body }) =>
          body.type === "question"
            ? { type: "question", answers: { Colour: "blue" } }
            : { type: "permission", allow: true, reason: "fine" },
      },
    );
    expect(end).toMatchObject({
      output: { content: [{ text: '[{"allow":true,"reason":"fine"},{"Colour":"blue"}]' }] },
    });
    expect(ofType(log, "request.opened").map(({ request }) => request)).toEqual([
      {
        type: "permission",
        callId: "run_1/1/0",
        tool: "deploy",
        input: { to: "prod" },
        title: "Deploy to prod?",
        reason: "3 changes",
        binding: { inputHash: expect.any(String), toolHash: expect.any(String) },
        remember: [],
      },
      { type: "question", callId: "run_1/1/0", questions },
    ]);
  });

  it("knows its call, session and workspace", async () => {
    let seen: FlowContext | undefined;
    await play(async (_input, context) => void (seen = context));
    expect(seen).toMatchObject({ callId: "run_1/1/0", runId: "run_1", depth: 0, session: { id: "ses_1" } });
    expect(() => seen?.workspace).toThrow(/has no workspace/);
  });

  it("LOOP-34 DUR-10 sleeps on the clock, holds nothing for longer than a minute, and wakes by itself", async () => {
    const world = new FlowWorld();
    const order: string[] = [];
    const flow: Body = async (_input, context) => {
      order.push("top");
      await context.sleep("nap", 300_000);
      order.push("awake");
      return "rested";
    };
    const runtime = await world.start(flow);
    const run = await runtime.send("guide", "Go");
    await until(async () => (await runtime.sessions({ status: "parked" })).length === 1);
    await world.clock.advance(299_999);
    expect(order).toEqual(["top"]);
    await world.clock.advance(1);
    expect(await soon(run.text())).toBe("Ok.");
    expect(order).toEqual(["top", "top", "awake"]);
    await world.close();
  });

  it("DUR-10 a sleep goes on in the next process", async () => {
    const world = new FlowWorld();
    const flow: Body = async (_input, context) => {
      await context.sleep("nap", 5_000);
      return "rested";
    };
    const first = await world.start(flow);
    const run = await first.send("guide", "Go");
    await until(async () => (await first.sessions({ status: "parked" })).length === 1);
    await first.close({ graceMs: 0 });
    await world.clock.advance(6_000);
    const second = await world.start(flow);
    const again = await (await second.session<string>(run.session.id)).run();
    await until(async () => (await second.sessions({ status: "idle" })).length === 1);
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    await world.close();
  });

  it("EDGE-02 finished steps answer from the log when it runs again from its top", async () => {
    const world = new FlowWorld();
    const ran: string[] = [];
    let hang = true;
    const flow: Body = async (_input, context) => {
      const a = await context.step("a", () => (ran.push("a"), "A"));
      const b = await context.step("b", { rerun: "safe" }, () => {
        ran.push("b");
        return hang ? new Promise<string>(() => undefined) : "B";
      });
      return a + b;
    };
    const first = await world.start(flow);
    const run = await first.send("guide", "Go");
    await until(() => ran.includes("b"));
    await world.kill();
    hang = false;
    const second = await world.start(flow);
    const again = await (await second.session<string>(run.session.id)).run();
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(ran).toEqual(["a", "b", "b"]);
    expect(ofType(await logOf(world.store, run.session.id), "tool.finished")[0]).toMatchObject({
      status: "ok",
      output: { content: [{ text: "AB" }] },
    });
    await world.close();
  });

  it("EDGE-14 code that does not ask for its recorded steps ends with flow-diverged", async () => {
    const world = new FlowWorld();
    const hang: Body = async (_input, context) => {
      await context.step("old", { rerun: "safe" }, () => 1);
      await context.step("wait", { rerun: "safe" }, () => new Promise<number>(() => undefined));
      return "never";
    };
    const first = await world.start(hang);
    const run = await first.send("guide", "Go");
    await until(async () => ofType(await logOf(world.store, run.session.id), "step.finished").length === 1);
    await world.kill();
    const second = await world.start(async (_input, context) => context.step("new", { rerun: "safe" }, () => 2));
    const again = await (await second.session<string>(run.session.id)).run();
    if (again === undefined) throw new Error("no run");
    expect(await soon(again.result())).toMatchObject({
      reason: "error",
      error: { code: "flow-diverged", message: expect.stringContaining("step/old") },
    });
    await world.close();
  });

  it("EDGE-01 survives a crash at every write", async () => {
    const flow: Body = async (_input, context) => {
      const plan = await context.step("plan", { rerun: "safe" }, () => "plan");
      await context.sleep("moment", 0);
      const [one, two] = await Promise.all([
        context.step("one", { rerun: "keyed" }, () => "1"),
        context.step("two", { rerun: "keyed" }, () => "2"),
      ]);
      return plan + one + two;
    };
    const guide = guideOf(flow);
    const report = await crashSweep({ agents: [guide], journey: (runtime) => runtime.send(guide, "Go") });
    expect(report.doubts).toBe(0);
  });
});
