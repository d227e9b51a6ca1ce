import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "./agent.ts";
import { plugin } from "./plugin.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "./tool.ts";

const model = scriptedModel([]);
const echo = tool({ name: "echo", description: "Says it again.", input: z.object({}), execute: () => "x" });
const define = (change: Partial<AgentDefinition> = {}) =>
  agent({ name: "guide", model, instructions: "Short.", ...change });

describe("agent", () => {
  it("LOOP-27 is frozen, and a copy of what it was given", () => {
    const tools = [echo];
    const permission = { allow: ["echo"] };
    const settings = { extraBody: { a: [1] } };
    const made = define({ tools, permission, settings });
    tools.push(echo);
    permission.allow.push("other");
    settings.extraBody.a.push(2);
    expect(made.tools).toEqual([echo]);
    expect(made.permission).toEqual({ allow: ["echo"] });
    expect(made.settings).toEqual({ extraBody: { a: [1] } });
    for (const part of [
      made,
      made.tools,
      made.plugins,
      made.limits,
      made.permission,
      made.settings,
      made.settings.extraBody,
    ])
      expect(Object.isFrozen(part)).toBe(true);
  });

  const invalid: readonly [string, Partial<AgentDefinition>][] = [
    ["no name", { name: "" }],
    ["a blank name", { name: "  " }],
    ["no model", { model: undefined as never }],
    ["an empty model", { model: "" }],
    ["no instructions", { instructions: undefined as never }],
    ["two tools of one name", { tools: [echo, echo] }],
    ["a tool named like one of a plugin", { tools: [echo], plugins: [plugin({ name: "p", tools: [echo] })] }],
    ["two plugins of one name", { plugins: [plugin({ name: "p" }), plugin({ name: "p" })] }],
  ];
  for (const [what, change] of invalid) {
    it(`LOOP-07 TOOL-01 refuses ${what}`, () => {
      expect(() => define(change)).toThrow(expect.objectContaining({ code: "agent-invalid" }));
    });
  }

  it("LOOP-04 COST-08 has 50 turns unless told otherwise, and takes dollars", () => {
    expect(define().limits).toEqual({ turns: 50 });
    expect(define({ limits: { turns: 3, usd: 0.25 } }).limits).toEqual({ turns: 3, microUsd: 250_000 });
  });

  it("DUR-12 its hash changes with all that the model depends on, and with nothing else", () => {
    const base = define({ tools: [echo] });
    expect(define({ tools: [echo], description: "other" }).hash).toBe(base.hash);
    expect(define({ tools: [echo], limits: { turns: 9 } }).hash).toBe(base.hash);
    for (const change of [
      { name: "other" },
      { instructions: "Long." },
      { instructions: () => "Short." },
      { tools: [] },
      { settings: { temperature: 1 } },
      { plugins: [plugin({ name: "p" })] },
    ]) {
      expect(define({ tools: [echo], ...change }).hash).not.toBe(base.hash);
    }
  });

  it("a model by name is resolved when the runtime opens", async () => {
    await expect(testRuntime({ agents: [define({ model: "a/b" })] })).rejects.toThrow(/a\/b/);
    const runtime = await testRuntime({ agents: [define({ model: "a/b" })], models: { guide: model } });
    expect(await (await runtime.send("guide", "Go")).text()).toBe("Done.");
    await runtime.close();
  });

  it("LOOP-01 two agents of one name, an unknown one, and rules for unknown tools are refused", async () => {
    await expect(testRuntime({ agents: [define(), define()] })).rejects.toMatchObject({ code: "agent-invalid" });
    await expect(testRuntime({ agents: [define({ permission: { deny: ["nothing"] } })] })).rejects.toMatchObject({
      code: "rule-invalid",
    });
    const runtime = await testRuntime({ agents: [define()] });
    await expect(runtime.send("nobody", "Go")).rejects.toMatchObject({ code: "agent-unknown" });
    await runtime.close();
  });

  it("PERM-01 rules of the runtime that name no known tool are refused when it opens", async () => {
    await expect(testRuntime({ agents: [define()], permission: { deny: ["nothing"] } })).rejects.toMatchObject({
      code: "rule-invalid",
    });
  });
});
