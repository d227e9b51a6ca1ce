import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "../words/limits.ts";
import { textOutput } from "../words/message.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { ofType, soon } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";

const look = tool({ name: "look", description: "Looks.", input: z.object({}), rerun: "safe", execute: () => "seen" });

async function play(plugins: readonly Plugin[], call = "missing") {
  const model = scriptedModel([{ calls: [{ name: call, input: {} }] }, { text: "Done." }]);
  const one = agent({ name: "one", model, instructions: "x", tools: [look], plugins });
  await using runtime = await testRuntime({ agents: [one] });
  await (await runtime.send(one, "Go")).result();
  return runtime.store.read("ses_1", { after: 0, limit: 100 });
}
const say = (name: string, said: string): Plugin =>
  plugin({
    name,
    reject: (_call, { content }) => textOutput(`${JSON.stringify(content).length > 0 ? said : ""}`, { isError: true }),
  });

describe("reject hooks", () => {
  it("TOOL-14 pass over calls that cannot be made, the innermost first, and see each other's word", async () => {
    const add = (name: string): Plugin =>
      plugin({
        name,
        reject: ({ cause, known }, output) =>
          textOutput(
            `${name}(${cause} ${known.join()} ${output.content.map((part) => ("text" in part ? part.text.slice(0, 16) : "")).join("")})`,
          ),
      });
    const [finished] = ofType(await play([add("outer"), add("inner")]), "tool.finished");
    expect([finished?.status, finished?.output.content]).toEqual([
      "ok",
      [{ type: "text", text: "outer(unknown-tool look inner(unknown-to)" }],
    ]);
  });

  it("TOOL-14 change nothing when they fail, and are not asked about calls that can be made", async () => {
    const broken = plugin({
      name: "broken",
      reject: () => {
        throw new Error("broken");
      },
    });
    const [finished] = ofType(await play([broken]), "tool.finished");
    expect(finished?.output.content).toEqual([
      { type: "text", text: 'There is no tool named "missing". Available: look.' },
    ]);
    const [made] = ofType(await play([say("loud", "x")], "look"), "tool.finished");
    expect(made?.output.content).toEqual([{ type: "text", text: "seen" }]);
  });
});

describe("plans and times of hooks", () => {
  it("TOOL-30 writes a plan for people to see", async () => {
    const entries = [{ content: "Look", priority: "high", status: "pending" }] as const;
    const planner = plugin({
      name: "planner",
      async tool(call, context, next) {
        await context.showPlan(entries);
        return next(call);
      },
    });
    expect(ofType(await play([planner], "look"), "plan.updated").map((fact) => fact.entries)).toEqual([entries]);
  });

  it("HOOK-02 gives the hooks of a plugin the time that it names", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = plugin({
      name: "slow",
      timeoutMs: LIMITS.hookTimeoutMs * 3,
      async tool(call, _context, next) {
        resolve();
        await new Promise((go) => void runtime.clock.after(LIMITS.hookTimeoutMs * 2, () => go(undefined)));
        return next(call);
      },
    });
    const model = scriptedModel([{ calls: [{ name: "look", input: {} }] }, { text: "Done." }]);
    const one = agent({ name: "one", model, instructions: "x", tools: [look], plugins: [slow] });
    const runtime = await testRuntime({ agents: [one] });
    const run = await runtime.send(one, "Go");
    const ended = run.result();
    await promise;
    await runtime.clock.advance(LIMITS.hookTimeoutMs * 2);
    await soon(ended);
    const log = await runtime.store.read("ses_1", { after: 0, limit: 100 });
    expect(ofType(log, "tool.finished").map(({ status }) => status)).toEqual(["ok"]);
    await runtime.close();
  });
});
