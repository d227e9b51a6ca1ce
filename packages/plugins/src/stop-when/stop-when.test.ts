import { agent, tool } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { allOf, type StopCondition, stopWhen, toolCalled, turnsReached } from "./index.ts";

const named = (name: string, fails = false) =>
  tool({
    name,
    description: "Does.",
    input: z.object({}),
    rerun: "safe",
    execute: () => (fails ? { content: [{ type: "text", text: "no" }], isError: true } : "done"),
  });
const call = (name: string, text = ""): ScriptedReply => ({ text, calls: [{ name, input: {} }] });
const SCRIPT = [call("look"), call("fail"), call("submit", "Here it is."), call("look"), { text: "The end." }];

function worker(...conditions: readonly StopCondition[]) {
  const model = scriptedModel(SCRIPT);
  const tools = [named("look"), named("fail", true), named("submit")];
  return {
    model,
    agent: agent({ name: "worker", model, instructions: "x", tools, plugins: [stopWhen(...conditions)] }),
  };
}

/** How often the model was asked, and how the run ended. */
async function ended(...conditions: readonly StopCondition[]) {
  const { model, agent: made } = worker(...conditions);
  await using runtime = await testRuntime({ agents: [made] });
  const { reason, text, usage } = await (await runtime.send(made, "Go")).result();
  return { asked: model.requests.length, reason, text, usage };
}

describe("stopWhen", () => {
  it("LOOP-06 ends when a number of turns is reached, as if the model were done, and does not pay for a turn more", async () => {
    const three = await ended(turnsReached(3));
    expect(three).toMatchObject({ asked: 3, reason: "end-turn", text: "Here it is." });
    const four = await ended(turnsReached(4));
    expect(four.usage.inputTokens).toBeGreaterThan(three.usage.inputTokens);
  });

  it("LOOP-06 ends after a tool that has succeeded, its result kept, and not after one that failed", async () => {
    expect(await ended(toolCalled("submit"))).toMatchObject({ asked: 3, reason: "end-turn" });
    expect(await ended(toolCalled("fail"))).toMatchObject({ asked: 5, text: "The end." });
  });

  it("LOOP-06 conditions compose: any of those that are given, all of some, and any function", async () => {
    const both = allOf(toolCalled("look"), ({ calls }) => calls.some(({ status }) => status === "error"));
    expect(await ended(both)).toMatchObject({ asked: 2 });
    expect(await ended(both, turnsReached(1))).toMatchObject({ asked: 1 });
    expect(await ended(({ text }) => text.includes("Here"))).toMatchObject({ asked: 3 });
    expect(await ended()).toMatchObject({ asked: 5, text: "The end." });
  });

  it("counts each run for itself, and the conversation goes on after a stopped one", async () => {
    const { agent: made } = worker(turnsReached(1));
    await using runtime = await testRuntime({ agents: [made] });
    const run = await runtime.send(made, "Go");
    expect(await run.result()).toMatchObject({ reason: "end-turn", turns: 2 }); // the second one was not asked for
    const next = await (await run.session.send("On")).result();
    expect(next.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  it("comes to the same end whenever the process crashes", async () => {
    const { agent: made } = worker(toolCalled("submit"));
    const { crashes } = await crashSweep({ agents: [made], journey: (runtime) => runtime.send(made, "Go") });
    expect(crashes).toBeGreaterThan(10);
  });

  it("refuses a number of turns that is none", () => {
    for (const count of [0, 1.5, Number.NaN]) expect(() => turnsReached(count)).toThrow("whole number");
  });
});
