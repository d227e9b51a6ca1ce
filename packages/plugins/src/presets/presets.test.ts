import { agent, jsonSchema, type Plugin, type Tool, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { composePresets, preset, withPresets } from "./index.ts";

const toolNamed = (name: string, description = name): Tool =>
  tool({ name, description, input: jsonSchema({ type: "object" }), execute: () => "" });
const named = (name: string): Plugin => ({ name });
const careful = preset({
  name: "careful",
  instructions: "Be careful.",
  tools: [toolNamed("look"), toolNamed("save", "old")],
  plugins: [named("guard")],
  permission: { mode: "plan", deny: ["look(secret)"] },
  limits: { turns: 5, tokens: 1_000_000 },
  settings: { temperature: 0, maxOutputTokens: 10 },
});
const quick = preset({
  name: "quick",
  model: "demo",
  instructions: "Be quick.",
  tools: [toolNamed("save", "new")],
  limits: { turns: 2 },
  permission: { allow: ["save"] },
});

describe("presets", () => {
  it("SKILL-13 are put together in order: what there can be one of is the later one's", () => {
    const both = composePresets("both", [careful, quick]);
    expect(both).toMatchObject({
      name: "both",
      model: "demo",
      instructions: "Be careful.\n\nBe quick.",
      permission: { mode: "plan", allow: ["save"], ask: [], deny: ["look(secret)"] },
      limits: { turns: 2, tokens: 1_000_000 },
      settings: { temperature: 0, maxOutputTokens: 10 },
    });
    expect(both.tools?.map(({ name, description }) => `${name} ${description}`)).toEqual(["look look", "save new"]);
    expect(both.plugins).toEqual([named("guard")]);
  });

  it("SKILL-13 make an agent together with its own definition, which comes last", async () => {
    const model = scriptedModel([{ text: "ok" }]);
    const made = agent(
      withPresets([careful, quick], {
        name: "worker",
        model,
        instructions: ({ id }) => `Session ${id}.`,
        limits: { turns: 9 },
        permission: { mode: "ask" },
      }),
    );
    expect([made.limits.turns, made.permission.mode, made.permission.deny]).toEqual([9, "ask", ["look(secret)"]]);
    await using runtime = await testRuntime({ agents: [made] });
    const session = await runtime.session({ agent: made });
    await (await session.send("Go")).result();
    expect(model.requests[0]?.system).toBe(`Be careful.\n\nBe quick.\n\nSession ${session.id}.`);
    expect(model.requests[0]?.settings).toMatchObject({ temperature: 0 });
  });

  it("SKILL-13 say what is missing or unknown", () => {
    expect(() => withPresets([careful], { name: "worker" })).toThrow(/names a model/);
    expect(() => withPresets([], { name: "worker", model: "demo" })).toThrow(/has instructions/);
    expect(() => preset({ name: "x", tool: [] } as never)).toThrow(/no member "tool"/);
    expect(() => preset({ name: " " })).toThrow(/needs a name/);
  });
});
