import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { jsonIssues } from "../words/check-json.ts";
import { systemClock } from "../words/clock.ts";
import type { Json } from "../words/json.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { plugin } from "../ports/plugin.ts";
import { openRuntime } from "../session/runtime.ts";
import type { Session } from "../session/session.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";

const call = (name: string, input: Json = {}): ScriptedReply => ({ calls: [{ name, input }] });

describe("structured output at its edges", () => {
  it("OUT-02 takes no answer of an earlier run for that of one that said nothing", async () => {
    const lead = agent({
      name: "lead",
      model: scriptedModel([{ text: '{"n":1}' }, {}, {}], { capabilities: { structured: true } }),
      instructions: "L",
      output: z.object({ n: z.number() }),
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const first = await runtime.send(lead, "Go");
    expect(await first.output()).toEqual({ n: 1 });
    const second = await first.session.send("Again");
    expect((await second.result()).output).toBeUndefined();
    expect((await second.result()).reason).toBe("error");
  });

  it("OUT-03 takes the last tool's answer although the turns are used up when a call beside it ends", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "W" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([
        {
          calls: [
            { name: "final_answer", input: { n: 1 } },
            { name: "worker", input: { task: "x" } },
          ],
        },
      ]),
      instructions: "L",
      tools: [inner],
      output: z.object({ n: z.number() }),
      limits: { turns: 1 },
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const result = await (await runtime.send(lead, "Go")).result();
    expect(result).toMatchObject({ reason: "end-turn", output: { n: 1 } });
  });

  it("OUT-03 hears the stop hooks after the last tool too", async () => {
    let asked = 0;
    const more = plugin({ name: "more", stop: () => (asked++ === 0 ? "Check again." : undefined) });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("final_answer", { n: 1 }), { text: "unused" }, call("final_answer", { n: 2 })]),
      instructions: "L",
      plugins: [more],
      output: z.object({ n: z.number() }),
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const result = await soon((await runtime.send(lead, "Go")).result());
    expect(asked).toBeGreaterThan(0);
    expect(result).toMatchObject({ reason: "end-turn", output: { n: 2 } });
  });

  it("OUT-01 keeps references whole in a schema that is none of an object", async () => {
    const Node = z.object({
      name: z.string(),
      get children() {
        return z.array(Node);
      },
    });
    const model = scriptedModel([{ text: '{"answer":[{"name":"a","children":[]}]}' }], {
      capabilities: { structured: true },
    });
    const lead = agent({ name: "lead", model, instructions: "L", output: z.array(Node) });
    await using runtime = await testRuntime({ agents: [lead] });
    await (await runtime.send(lead, "Go")).output();
    const schema: Json = model.requests[0]?.settings.outputSchema ?? true;
    expect(jsonIssues(schema, { answer: [{ name: 1, children: [] }] })).not.toEqual([]);
    expect(jsonIssues(schema, { answer: [{ name: "a", children: [{ name: 2 }] }] })).not.toEqual([]);
  });

  it("OUT-03 refuses a tool of the author's with the name of the last tool", async () => {
    const own = tool({
      name: "final_answer",
      description: "Own.",
      input: z.object({ x: z.string() }),
      execute: () => "x",
    });
    expect(() =>
      agent({
        name: "lead",
        model: scriptedModel([]),
        instructions: "L",
        tools: [own],
        output: z.object({ n: z.number() }),
      }),
    ).toThrow();
  });

  it("OUT-01 checks a run that was found again by the schema that came with its input", async () => {
    const lead = agent({
      name: "lead",
      model: scriptedModel([{ text: '{"n":1}' }], { capabilities: { structured: true } }),
      instructions: "L",
      output: z.object({ other: z.string() }),
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go", { output: z.object({ n: z.number() }) });
    await run.result();
    const again = await (await runtime.session(run.session.id)).run();
    expect(await again?.output()).toEqual({ n: 1 });
  });

  it("OUT-03 forces no call that a model swapped in was not offered", async () => {
    const plain = scriptedModel([{ text: "x" }, { text: "no json" }, { text: '{"n":1}' }], { id: "plain" });
    const native = scriptedModel([call("swap"), { text: "n/a" }], { capabilities: { structured: true }, id: "native" });
    const ref: { session?: Session<unknown> } = {};
    const swap = tool({
      name: "swap",
      description: "S.",
      input: z.object({}),
      execute: async () => {
        await ref.session?.update({ model: "plain" });
        return "x";
      },
    });
    const lead = agent({
      name: "lead",
      model: "native",
      instructions: "L",
      tools: [swap],
      output: z.object({ n: z.number() }),
    });
    const store = memoryStore();
    const ids = fixedIds();
    const runtime = await openRuntime({
      agents: [lead],
      engine: storeEngine(store, { clock: systemClock, ids }),
      permission: { mode: "ask" },
      host: { clock: systemClock, ids, resolveModel: async (n) => (n === "plain" ? plain : native) },
    });
    const session = await runtime.session({ agent: lead });
    ref.session = session;
    const run = await session.send("Go");
    const result = await soon(run.result());
    expect(
      plain.requests.every(
        (r) => r.settings.toolChoice === undefined || r.tools.some((t) => t.name === "final_answer"),
      ),
    ).toBe(true);
    expect(result).toMatchObject({ output: { n: 1 } });
    await runtime.close({ graceMs: 0 });
  });
});
