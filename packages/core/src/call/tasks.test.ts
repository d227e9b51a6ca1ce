import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { type Envelope, type Fact, type FactOf, type FactBody, isLive } from "../words/event.ts";
import type { Model } from "../ports/model.ts";
import { plugin } from "../ports/plugin.ts";
import type { Runtime } from "../session/runtime.ts";
import type { RunResult } from "../session/session.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { flowTool, type Spawned, tool } from "../ports/tool.ts";

function worker(replies: readonly ScriptedReply[], more: object = {}) {
  return agent({
    name: "worker",
    description: "Works.",
    model: scriptedModel(replies),
    instructions: "Work.",
    ...more,
  });
}
const call = (name: string, input: object): ScriptedReply => ({
  calls: [{ name, input: JSON.parse(JSON.stringify(input)) }],
});

async function facts(runtime: Runtime, sessionId: string): Promise<readonly Fact[]> {
  const session = await runtime.session(sessionId);
  const { head } = await session.state();
  const found: Fact[] = [];
  for await (const { event } of session.events()) {
    if (!isLive(event)) found.push(event);
    if (event.seq >= head) break;
  }
  return found;
}
const of = <T extends FactBody["type"]>(log: readonly Fact[], type: T) =>
  log.filter((fact): fact is FactOf<T> => fact.type === type);

describe("sub-agents", () => {
  it("SUB-01 TOOL-11 an agent among the tools gets a task in words and answers in a session of its own", async () => {
    const inner = worker([{ text: "42" }]);
    const model = scriptedModel([call("worker", { task: "Count." }), { text: "It is 42." }]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [inner] });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "How many?");
    expect(await run.text()).toBe("It is 42.");
    const log = await facts(runtime, run.session.id);
    const [started] = of(log, "task.started");
    expect(started).toMatchObject({ kind: "agent", title: "worker: Count.", background: false });
    expect(of(log, "task.finished")[0]).toMatchObject({ taskId: started?.taskId, status: "completed", summary: "42" });
    const child = await facts(runtime, started?.childSessionId ?? "");
    expect(of(child, "session.created")[0]).toMatchObject({
      agent: "worker",
      parent: { sessionId: run.session.id, runId: run.id, depth: 1, agents: ["lead"] },
    });
    expect(await runtime.sessions({ parent: run.session.id })).toHaveLength(1);
  });

  it("COST-07 counts what sub-agents used into the tree, and into their own run only", async () => {
    const usage = { inputTokens: 100, outputTokens: 10 };
    const inner = worker([{ text: "42", usage }]);
    const model = scriptedModel([
      { ...(call("worker", { task: "Count." }) as object), usage },
      { text: "Done.", usage },
    ]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [inner] });
    await using runtime = await testRuntime({ agents: [lead] });
    const result = await (await runtime.send(lead, "How many?")).result();
    expect(result.usage).toMatchObject({ inputTokens: 200, outputTokens: 20 });
    expect(result.treeUsage).toMatchObject({ inputTokens: 300, outputTokens: 30 });
  });

  it("SUB-07 hands a structured answer on", async () => {
    const inner = worker([{ text: '{"n":42}' }], { output: z.object({ n: z.number() }) });
    const model = scriptedModel([call("worker", { task: "Count." }), { text: "ok" }]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [inner] });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "How many?");
    await run.result();
    const log = await facts(runtime, run.session.id);
    expect(of(log, "task.finished")[0]?.output).toEqual({ n: 42 });
    expect(of(log, "tool.finished")[0]?.output.output).toEqual({ n: 42 });
  });

  it("SUB-01 several tasks of one turn run beside each other, and a failed one is an error for the model", async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const meet = (): ScriptedReply => ({
      text: "met",
      hold: ((): Promise<void> => {
        waiting += 1;
        if (waiting === 2) gate.resolve();
        return gate.promise;
      })(),
    });
    const one = agent({ name: "one", model: scriptedModel([() => meet() as never]), instructions: "1" });
    const two = agent({ name: "two", model: scriptedModel([() => meet() as never]), instructions: "2" });
    const bad = worker([{ error: new Error("no") }]);
    const calls = ["one", "two", "worker"].map((name) => ({ name, input: { task: "go" } }));
    const lead = agent({
      name: "lead",
      model: scriptedModel([{ calls }, { text: "ok" }]),
      instructions: "Lead.",
      tools: [one, two, bad],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    expect((await run.result()).reason).toBe("end-turn");
    const ends = of(await facts(runtime, run.session.id), "tool.finished");
    expect(Object.fromEntries(ends.map(({ name, status }) => [name, status]))).toEqual({
      one: "ok",
      two: "ok",
      worker: "error",
    });
  });

  it("SUB-04 SUB-11 a follower of the parent sees the events of the children, each with where it belongs", async () => {
    const inner = worker([{ text: "42" }]);
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "Count." }), { text: "ok" }]),
      instructions: "Lead.",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    const seen: Envelope[] = [];
    for await (const envelope of run.events({ children: true })) seen.push(envelope);
    const child = seen.filter(({ parent }) => parent !== undefined);
    expect(child[0]).toMatchObject({ agent: "worker", parent: { sessionId: run.session.id, callId: `${run.id}/1/0` } });
    expect(child.map(({ event }) => event.type)).toContain("message.added");
    expect(seen.at(-1)?.event).toMatchObject({ type: "run.finished", runId: run.id });
  });

  it("SUB-06 a task in the background is not waited for, and its end is in the parent's log", async () => {
    const gate = Promise.withResolvers<void>();
    const inner = worker([{ text: "late", hold: gate.promise }]);
    const launch = flowTool({
      name: "launch",
      description: "Launches.",
      input: z.object({}),
      flow: async (_input, context) => (await context.spawn("w", "worker", "go", { background: true })).status,
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("launch", {}), { text: "launched" }]),
      instructions: "L",
      tools: [launch],
    });
    await using runtime = await testRuntime({ agents: [lead, inner] });
    const run = await runtime.send(lead, "Go");
    expect(await run.text()).toBe("launched");
    gate.resolve();
    for await (const { event } of run.session.events()) {
      if (event.type !== "task.finished") continue;
      expect(event).toMatchObject({ status: "completed", summary: "late" });
      break;
    }
  });

  it("EDGE-05 LOOP-10 an interrupt stops the children, and ends once", async () => {
    const never = new Promise<void>(() => undefined);
    const begun = Promise.withResolvers<void>();
    const wait = tool({
      name: "wait",
      description: "Waits.",
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          begun.resolve();
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    });
    const inner = worker([call("wait", {}), { text: "no", hold: never }], { tools: [wait] });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" })]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    await begun.promise;
    await run.session.interrupt();
    expect((await run.result()).reason).toBe("interrupted");
    const log = await facts(runtime, run.session.id);
    expect(of(log, "run.finished")).toHaveLength(1);
    const [task] = of(log, "task.started");
    expect(of(log, "task.finished")[0]?.status).toBe("stopped");
    const child = await runtime.session(task?.childSessionId ?? "");
    expect((await (await child.run())?.result())?.reason).toBe("interrupted");
  });

  it("PERM-10 PERM-11 denies and hooks of the parent hold for its children, which never get more", async () => {
    const done: string[] = [];
    const act = (name: string) =>
      tool({ name, description: `Does ${name}.`, input: z.object({}), execute: () => void done.push(name) });
    const inner = worker(
      [{ calls: ["denied", "hooked", "fine"].map((name) => ({ name, input: {} })) }, { text: "ok" }],
      { tools: [act("denied"), act("hooked"), act("fine")], permission: { allow: ["denied", "hooked", "fine"] } },
    );
    const guard = plugin({
      name: "guard",
      tool: (hooked, context, next) => (hooked.name === "hooked" ? context.deny("not this") : next(hooked)),
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner, act("denied")],
      plugins: [guard],
      permission: { deny: ["denied"] },
    });
    await using runtime = await testRuntime({ agents: [lead] });
    await (await runtime.send(lead, "Go")).result();
    expect(done).toEqual(["fine"]);
  });

  it("SUB-03 PERM-11 a mode of the child cannot be wider than its parent's", async () => {
    const done: string[] = [];
    const write = tool({
      name: "write",
      description: "Writes.",
      input: z.object({}),
      kind: "edit",
      needs: () => [{ type: "write", path: "/w/a" }],
      execute: () => void done.push("write"),
    });
    const inner = worker([call("write", {}), { text: "ok" }], { tools: [write], permission: { mode: "bypass" } });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    await (await runtime.send(lead, "Go", { mode: "plan" })).result();
    expect(done).toEqual([]);
  });

  it("SUB-01 a question of a child reaches whoever waits for the parent, and is answered through it", async () => {
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      input: z.object({}),
      permission: "ask",
      execute: () => "refunded",
    });
    const inner = worker([call("refund", {}), { text: "done" }], { tools: [refund] });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "all done" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const run = await runtime.send(lead, "Go");
    let result: RunResult = await run.result();
    expect(result.status).toBe("waiting");
    for (const { requestId } of result.requests)
      await run.session.respond(requestId, { type: "permission", allow: true });
    result = await run.result();
    expect(result).toMatchObject({ status: "finished", text: "all done" });
  });

  it("SUB-01 refuses agents below agents beyond the limit, and unknown ones", async () => {
    const self: { model?: Model } = {};
    const model = scriptedModel([call("dig", {}), { text: "ok" }]);
    self.model = model;
    let deepest = 0;
    const problems: string[] = [];
    const dig = flowTool({
      name: "dig",
      description: "Digs.",
      input: z.object({}),
      async flow(_input, context) {
        deepest = Math.max(deepest, context.depth);
        const results = await Promise.allSettled([
          context.spawn("deeper", "digger", "go"),
          context.spawn("who", "nobody", "go"),
        ]);
        for (const result of results) if (result.status === "rejected") problems.push(String(result.reason));
        return "dug";
      },
    });
    const digger = agent({ name: "digger", model, instructions: "Dig.", tools: [dig] });
    await using runtime = await testRuntime({ agents: [digger] });
    await (await runtime.send(digger, "Go")).result();
    expect(deepest).toBe(5);
    expect(problems.filter((said) => said.includes("at most 5 deep"))).toHaveLength(1);
    expect(problems.filter((said) => said.includes('no agent named "nobody"'))).toHaveLength(6);
  });

  it("EDGE-01 EDGE-02 a tree of agents ends the same way whenever it crashes", async () => {
    const look = tool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      rerun: "keyed",
      execute: () => "seen",
    });
    const inner = worker([call("look", {}), { text: "42" }], { tools: [look] });
    const ask = flowTool({
      name: "both",
      description: "Asks both.",
      input: z.object({}),
      async flow(_input, context) {
        const all: readonly Spawned[] = await Promise.all([
          context.spawn("a", "worker", "A"),
          context.spawn("b", "worker", "B"),
        ]);
        return all.map(({ text }) => text).join(" ");
      },
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("both", {}), { text: "Done." }]),
      instructions: "L",
      tools: [ask],
    });
    const { crashes } = await crashSweep({
      agents: [lead, inner],
      journey: async (runtime) => (await runtime.send(lead, "Go", { idempotencyKey: "one" })).text(),
    });
    expect(crashes).toBeGreaterThan(30);
  });

  it("SUB-01 removing a session removes those below it", async () => {
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [worker([{ text: "42" }])],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    await run.result();
    await run.session.remove();
    expect(await runtime.sessions()).toEqual([]);
  });
});
