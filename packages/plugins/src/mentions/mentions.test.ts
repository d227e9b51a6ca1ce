import { describe, expect, it } from "vitest";
import { agent } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { mentions } from "./index.ts";

/** What was asked of the lead's model, and what the reviewer was given. */
async function sent(input: string, names = ["reviewer", "absent"]) {
  const reviewerModel = scriptedModel([{ text: "Fine." }]);
  const reviewer = agent({ name: "reviewer", model: reviewerModel, instructions: "Review." });
  const model = scriptedModel([
    ({ settings }) =>
      settings.toolChoice === undefined
        ? { text: "Done." }
        : { calls: [{ name: "reviewer", input: { task: "look at it" } }] },
    { text: "It is fine." },
  ]);
  const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [reviewer], plugins: [mentions(names)] });
  await using runtime = await testRuntime({ agents: [lead] });
  const text = await (await runtime.send(lead, input)).text();
  return {
    text,
    choices: model.requests.map(({ settings }) => settings.toolChoice),
    tails: model.requests.map(({ messages }) =>
      JSON.stringify(messages).includes("The user addresses the agent reviewer"),
    ),
    given: reviewerModel.requests.map(({ messages }) => messages.flatMap(({ parts }) => parts)),
  };
}

describe("mentions", () => {
  it("SUB-05 makes the model give the task to the agent that is named, once", async () => {
    expect(await sent("@reviewer look at the change")).toEqual({
      text: "It is fine.",
      choices: [{ tool: "reviewer" }, undefined],
      tails: [true, false],
      given: [[{ type: "text", text: "look at it" }]],
    });
    expect((await sent(" @reviewer: look")).choices).toEqual([{ tool: "reviewer" }, undefined]);
  });

  it("SUB-05 leaves unknown names, addresses, and mentions without a task or in the middle alone", async () => {
    for (const input of [
      "@nobody look",
      "@absent look",
      "@reviewer",
      "ask @reviewer",
      "me@reviewer look",
      "@reviewers look",
    ]) {
      expect([input, (await sent(input)).choices]).toEqual([input, [undefined]]);
    }
    expect((await sent("@reviewer look", [])).choices).toEqual([undefined]);
  });
});
