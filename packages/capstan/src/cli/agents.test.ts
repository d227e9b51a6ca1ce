import { agent } from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { chosenAgent, reachedFrom } from "./agents.ts";

const of = (name: string, more: object = {}) =>
  agent({ name, model: scriptedModel([]), instructions: "Work.", ...more });
const billing = of("billing", { handoffs: ["triage"] });
const triage = of("triage", { handoffs: [billing] });
const config = { agents: [triage, of("other")] };

describe("chosenAgent", () => {
  it("SUB-08 finds an agent that only others hand over to", async () => {
    expect(await chosenAgent({ config, name: "billing" })).toBe(billing);
  });
});

describe("reachedFrom", () => {
  it("SUB-08 brings those that may take over, once each, and the given one as it was changed", () => {
    const changed = Object.freeze({ ...billing, model: scriptedModel([], { id: "changed" }) });
    const reached = reachedFrom(changed, config);
    expect(reached.map(({ name }) => name)).toEqual(["billing", "triage"]);
    expect(reached[0]?.model).toBe(changed.model);
    expect(reached.flatMap(({ agents }) => agents)).toEqual([]);
    expect(reachedFrom(of("alone"), undefined)).toHaveLength(1);
  });
});
