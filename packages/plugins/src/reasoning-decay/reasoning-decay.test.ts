import { describe, expect, it } from "vitest";
import { agent, type ModelSettings, type Plugin, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { reasoningDecay, type ReasoningSteps } from "./index.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  rerun: "safe",
  execute: () => "Nothing.",
});
const TURNS = 5;

/** The reasoning that the model was asked for, turn by turn, in runs of five turns each. */
async function asked(plugin: Plugin, settings: ModelSettings = {}, runs = 1): Promise<readonly unknown[]> {
  const oneRun = [
    ...Array.from({ length: TURNS - 1 }, () => ({ calls: [{ name: "look", input: {} }] })),
    { text: "Done." },
  ];
  const model = scriptedModel(Array.from({ length: runs }, () => oneRun).flat());
  const looker = agent({ name: "looker", model, instructions: "Look.", tools: [look], plugins: [plugin], settings });
  await using runtime = await testRuntime({ agents: [looker] });
  const session = await runtime.session({ agent: looker });
  for (let run = 0; run < runs; run++) expect(await (await session.send("Look")).text()).toBe("Done.");
  return model.requests.map((request) => request.settings.reasoning);
}

describe("reasoningDecay", () => {
  it("MODEL-15 takes the level of the last named turn", async () => {
    const levels = await asked(reasoningDecay({ 4: "off", 1: "high", 3: { budgetTokens: 2_000 } }));
    expect(levels).toEqual(["high", "high", { budgetTokens: 2_000 }, "off", "off"]);
  });

  it("MODEL-15 takes a function of the turn", async () => {
    const levels = await asked(
      reasoningDecay((turn) => (turn < 3 ? "high" : turn === 5 ? undefined : "low")),
      { reasoning: "medium" },
    );
    expect(levels).toEqual(["high", "high", "low", "low", "medium"]);
  });

  it("MODEL-15 leaves the agent's own level before the first named turn, and other settings alone", async () => {
    expect(await asked(reasoningDecay({ 3: "low" }), { reasoning: "adaptive" })).toEqual([
      "adaptive",
      "adaptive",
      "low",
      "low",
      "low",
    ]);
  });

  it("MODEL-15 begins anew in every run", async () => {
    const levels = await asked(reasoningDecay({ 1: "high", 2: "low" }), {}, 2);
    expect(levels).toEqual(["high", "low", "low", "low", "low", "high", "low", "low", "low", "low"]);
  });

  it("refuses what is no turn and no level", () => {
    const wrong: readonly unknown[] = [
      {},
      { 0: "high" },
      { "1.5": "high" },
      { first: "high" },
      { 1: "most" },
      { 1: { budgetTokens: 0 } },
      { 1: null },
    ];
    for (const steps of wrong) {
      expect(() => reasoningDecay(steps as ReasoningSteps)).toThrowError(
        expect.objectContaining({ code: "plugin-invalid" }),
      );
    }
  });

  it("ends the run with a typed error when the function gives no level", async () => {
    const broken = reasoningDecay((() => "most") as unknown as (turn: number) => "high");
    const model = scriptedModel([]);
    const looker = agent({ name: "looker", model, instructions: "Look.", plugins: [broken] });
    await using runtime = await testRuntime({ agents: [looker] });
    const result = await (await runtime.send(looker, "Look")).result();
    expect([result.reason, result.error?.code]).toEqual(["error", "plugin-invalid"]);
  });
});
