import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { plugin } from "../ports/plugin.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";

const write = tool({
  name: "write",
  description: "Writes.",
  input: z.object({}),
  rerun: "safe",
  execute: () => "written",
});
const call = (name: string, input = {}): ScriptedReply => ({ calls: [{ name, input }] });

/** Denies all that is done, for the runs that name it; counts all facts, of every run. */
function frozen(seen: string[] = []) {
  return plugin<number>({
    name: "frozen",
    scope: "run",
    fold: { start: 0, next: (count, { type }) => (type === "run.started" ? count + 1 : count) },
    input: (message, context, next) => {
      seen.push(`input of run ${context.own}`);
      return next(message);
    },
    tool: (_call, { own }) => ({ content: [{ type: "text", text: `frozen in run ${own}` }], isError: true }),
  });
}

async function open(seen: string[] = []) {
  const model = scriptedModel([
    call("write"),
    { text: "1" },
    call("write"),
    { text: "2" },
    call("write"),
    { text: "3" },
  ]);
  const guide = agent({ name: "guide", model, instructions: "x", tools: [write], plugins: [frozen(seen)] });
  return { guide, runtime: await testRuntime({ agents: [guide] }) };
}

describe("a plugin for single runs", () => {
  it("HOOK-10 hooks into the runs that name it and no others; its state goes on through all", async () => {
    const seen: string[] = [];
    const { guide, runtime } = await open(seen);
    const session = await runtime.session({ agent: guide });
    for (const plugins of [undefined, ["frozen"], []])
      await soon((await session.send("Go", plugins === undefined ? {} : { plugins })).result());
    const ends = ofType(await logOf(runtime.store, session.id), "tool.finished");
    expect(ends.map(({ status, output: { content } }) => [status, content[0]])).toEqual([
      ["ok", { type: "text", text: "written" }],
      ["error", { type: "text", text: "frozen in run 2" }],
      ["ok", { type: "text", text: "written" }],
    ]);
    expect(seen).toEqual(["input of run 2"]);
    await runtime.close();
  });

  it("HOOK-10 one that is not there ends the run before the model or a tool is asked", async () => {
    const { guide, runtime } = await open();
    const run = await runtime.send(guide, "Go", { plugins: ["frozen", "guard"] });
    expect(await soon(run.result())).toMatchObject({
      reason: "error",
      turns: 0,
      error: { code: "plugin-invalid", message: expect.stringContaining("guard") },
    });
    expect(ofType(await logOf(runtime.store, run.session.id), "turn.started")).toEqual([]);
    expect((await soon((await run.session.send("Go on")).result())).reason).toBe("end-turn");
    await runtime.close();
  });

  it("HOOK-10 PERM-10 holds for the sub-agents of its run too", async () => {
    const worker = agent({ name: "worker", model: scriptedModel([call("write")]), instructions: "x", tools: [write] });
    const model = scriptedModel([
      call("worker", { task: "Write." }),
      { text: "1" },
      call("worker", { task: "Write." }),
    ]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [worker], plugins: [spared()] });
    const runtime = await testRuntime({ agents: [guide] });
    const session = await runtime.session({ agent: guide });
    await soon((await session.send("Go", { plugins: ["spared"] })).result());
    await soon((await session.send("Go")).result());
    const children = (await runtime.sessions({ parent: session.id })).toReversed();
    const ends = await Promise.all(children.map(async ({ sessionId }) => logOf(runtime.store, sessionId)));
    expect(ends.flatMap((log) => ofType(log, "tool.finished").map(({ status }) => status))).toEqual(["denied", "ok"]);
    await runtime.close();
  });

  it("HOOK-10 takes part in its run after a crash too", async () => {
    const model = scriptedModel([call("write"), { text: "1" }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [write], plugins: [frozen()] });
    const report = await crashSweep({
      agents: [guide],
      journey: (runtime) => runtime.send(guide, "Go", { plugins: ["frozen"] }),
    });
    expect(report.crashes).toBeGreaterThan(10);
  });

  it("has no tools and watches no events: those are of the session", () => {
    expect(() => plugin({ name: "p", scope: "run", tools: [write] })).toThrow("single runs");
    expect(() => plugin({ name: "p", scope: "run", on: () => undefined })).toThrow("single runs");
  });
});

/** Denies what is not the call of a sub-agent. */
function spared() {
  return plugin({
    name: "spared",
    scope: "run",
    tool: (hooked, context, next) => (hooked.name === "write" ? context.deny("Frozen") : next(hooked)),
  });
}
