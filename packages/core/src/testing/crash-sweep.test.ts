import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { plugin } from "../ports/plugin.ts";
import { flowTool, tool } from "../ports/tool.ts";
import { crashSweep } from "./crash-sweep.ts";
import { scriptedModel } from "./scripted-model.ts";

const city = z.object({ city: z.string() });
const weather = tool({
  name: "weather",
  description: "Weather of a city.",
  input: city,
  rerun: "safe",
  execute: ({ city: name }) => `rain in ${name}`,
});
const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ cents: z.int() }),
  rerun: "never",
  permission: "allow",
  execute: ({ cents }) => `paid ${cents}`,
});
const refund = tool({
  name: "refund",
  description: "Refunds.",
  input: z.object({ cents: z.int() }),
  rerun: "keyed",
  execute: ({ cents }, { idempotencyKey }) => `refunded ${cents} ${idempotencyKey.length}`,
});
const guarded = tool({
  name: "guarded",
  description: "Asks first.",
  input: z.object({}),
  rerun: "never",
  permission: () => "ask",
  execute: () => "done",
});

describe("crashSweep", () => {
  it("EDGE-01 DUR-02 DUR-05 survives a crash at every write of a run with parallel reads", async () => {
    const model = scriptedModel([
      {
        calls: [
          { name: "weather", input: { city: "Oslo" } },
          { name: "weather", input: { city: "Rome" } },
          { name: "nothing", input: {} },
        ],
      },
      { text: "Take one." },
    ]);
    const guide = agent({ name: "guide", model, instructions: "Short.", tools: [weather] });
    const report = await crashSweep({ agents: [guide], journey: (runtime) => runtime.send(guide, "Umbrella?") });
    expect(report.doubts).toBe(0);
    expect(report.writes).toBeGreaterThan(8);
  });

  it("EDGE-01 DUR-03 DUR-04 never doubles an effect and reports every doubt", async () => {
    const model = scriptedModel([
      {
        calls: [
          { name: "pay", input: { cents: 5 } },
          { name: "refund", input: { cents: 7 } },
          { name: "pay", input: { cents: 6 } },
        ],
      },
      { text: "Paid." },
    ]);
    const clerk = agent({ name: "clerk", model, instructions: "Pay.", tools: [pay, refund] });
    const report = await crashSweep({ agents: [clerk], journey: (runtime) => runtime.send(clerk, "Pay both") });
    expect(report.doubts).toBeGreaterThan(0);
  });

  it("DUR-06 PERM-08 keeps requests and their answers over every crash", async () => {
    const model = scriptedModel([
      {
        calls: [
          { name: "guarded", input: {} },
          { name: "weather", input: { city: "Oslo" } },
        ],
      },
      { text: "Ok." },
    ]);
    const careful = agent({ name: "careful", model, instructions: "Ask.", tools: [guarded, weather] });
    await crashSweep({
      agents: [careful],
      journey: (runtime) => runtime.send(careful, "Go"),
      onRequest: (request) =>
        Promise.resolve(
          request.body.type === "doubt" ? { type: "doubt", outcome: "skip" } : { type: "permission", allow: true },
        ),
      compare: () => undefined, // a skipped doubt ends otherwise; the ledger is what counts here
    });
  });

  it("EDGE-02 runs flows, hooks and refusals to the same end after every crash", async () => {
    const deploy = flowTool({
      name: "deploy",
      description: "Deploys.",
      input: z.object({}),
      permission: "allow",
      async flow(_input, context) {
        const plan = await context.step("plan", { rerun: "safe" }, () => "the plan");
        const answer = await context.ask("go", { title: "Deploy?" });
        if (!answer.allow) return "refused";
        return context.step(
          "apply",
          { rerun: "keyed" },
          ({ idempotencyKey }) => `${plan} applied ${idempotencyKey.length}`,
        );
      },
    });
    const counting = plugin<number>({
      name: "counting",
      fold: { start: 0, next: (count, fact) => (fact.type === "tool.finished" ? count + 1 : count) },
      async tool(call, context, next) {
        await context.step("before", () => "noted");
        return next(call);
      },
      async stop(_state, context) {
        await context.step("goodbye", () => 1);
      },
      prepare: (_request, context) => ({ tail: [{ type: "text", text: `calls so far: ${context.own}` }] }),
    });
    const model = scriptedModel([
      { calls: [{ name: "deploy", input: {} }] },
      { calls: [{ name: "weather", input: { city: "Oslo" } }] },
      { text: "Out." },
    ]);
    const operator = agent({
      name: "operator",
      model,
      instructions: "Deploy.",
      tools: [deploy, weather],
      plugins: [counting],
    });
    await crashSweep({
      agents: [operator],
      journey: (runtime) => runtime.send(operator, "Deploy"),
      onRequest: () => Promise.resolve({ type: "permission", allow: true }),
    });
  });

  it("EDGE-11 TEST-04 sees a doubled effect when a tool lies about itself", async () => {
    let happened = 0;
    const liar = tool({
      name: "liar",
      description: "Says safe, is not.",
      input: z.object({}),
      rerun: "safe",
      execute: () => `number ${++happened}`,
    });
    const model = scriptedModel([{ calls: [{ name: "liar", input: {} }] }, { text: "Ok." }]);
    const bad = agent({ name: "bad", model, instructions: "x", tools: [liar] });
    await expect(crashSweep({ agents: [bad], journey: (runtime) => runtime.send(bad, "Go") })).rejects.toThrow(
      /ended otherwise/,
    );
  });
});
