import { describe, expect, it } from "vitest";
import { agent, type Model, type SessionView } from "@capstan/core";
import {
  scriptedModel,
  type ScriptedModel,
  type ScriptedTurn,
  testRuntime,
  type TestRuntime,
} from "@capstan/core/testing";
import { nameConversation, namer } from "./index.ts";
import { toTitle } from "./name-conversation.ts";

const usage = { inputTokens: 50, outputTokens: 5, costMicroUsd: 7 };
const small = (turn: ScriptedTurn = { text: '"Umbrellas in Oslo."' }): ScriptedModel =>
  scriptedModel([{ usage, ...turn }], { id: "scripted/small" });

async function open(
  model: Model | string,
): Promise<{ readonly runtime: TestRuntime; readonly guide: ReturnType<typeof agent> }> {
  const guide = agent({
    name: "guide",
    model: scriptedModel([{ text: "Take one.", usage: { inputTokens: 1_000, outputTokens: 10 } }]),
    instructions: "Guide.",
    plugins: [namer({ model })],
  });
  return { guide, runtime: await testRuntime({ agents: [guide] }) };
}

/** The state of a session once it is as wanted; fails instead of waiting for ever. */
async function eventually(
  read: () => Promise<SessionView>,
  wanted: (state: SessionView) => boolean,
): Promise<SessionView> {
  for (let turn = 0; turn < 2_000; turn++) {
    const state = await read();
    if (wanted(state)) return state;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("it did not come");
}

describe("namer", () => {
  it("LOOP-30 names the session after its first turn with a model of its own, and records the cost", async () => {
    const model = small();
    const { runtime, guide } = await open(model);
    await using _ = runtime;
    const session = await runtime.session({ agent: guide });
    await (await session.send("Umbrella in Oslo?")).result();
    const state = await eventually(
      () => session.state(),
      ({ title }) => title !== undefined,
    );
    expect(state.title).toBe("Umbrellas in Oslo");
    expect(state.usage).toEqual({ inputTokens: 1_050, outputTokens: 15, costMicroUsd: 7 });
    expect((await runtime.sessions())[0]).toMatchObject({ title: "Umbrellas in Oslo", usage: state.usage });
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("Umbrella in Oslo?");
    await (await session.send("And in Bergen?")).result();
    expect(model.requests).toHaveLength(1);
  });

  it("LOOP-30 is never in the way: the run ends while the name is still asked for", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { runtime, guide } = await open(small({ text: "Late", hold: promise }));
    await using _ = runtime;
    const session = await runtime.session({ agent: guide });
    expect(await (await session.send("Umbrella?")).text()).toBe("Take one.");
    expect((await session.state()).title).toBeUndefined();
    resolve();
    await eventually(
      () => session.state(),
      ({ title }) => title === "Late",
    );
  });

  it("LOOP-30 leaves sessions alone that have a title or want none", async () => {
    const model = small();
    const { runtime, guide } = await open(model);
    await using _ = runtime;
    const titled = await runtime.session({ agent: guide, title: "Mine" });
    await (await titled.send("Umbrella?")).result();
    const off = await runtime.session({ agent: guide, metadata: { naming: false } });
    await (await off.send("Umbrella?")).result();
    const on = await runtime.session({ agent: guide });
    await (await on.send("Umbrella?")).result();
    await eventually(
      () => on.state(),
      ({ title }) => title !== undefined,
    );
    expect([(await titled.state()).title, (await off.state()).title]).toEqual(["Mine", undefined]);
    expect(model.requests).toHaveLength(1);
  });

  it("LOOP-30 keeps the title that a person gave meanwhile, and tries again after a fault", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { runtime, guide } = await open(small({ hold: promise }));
    await using _ = runtime;
    const session = await runtime.session({ agent: guide });
    await (await session.send("Umbrella?")).result();
    await session.update({ title: "Mine" });
    resolve();
    const state = await eventually(
      () => session.state(),
      ({ usage: spent }) => spent.costMicroUsd === 7,
    );
    expect(state.title).toBe("Mine");

    let calls = 0;
    const flaky = small();
    const faulty: Model = {
      ...flaky,
      stream: (request) => (calls++ === 0 ? small({ error: new Error("down") }) : flaky).stream(request),
    };
    const other = await open(faulty);
    await using __ = other.runtime;
    const second = await other.runtime.session({ agent: other.guide });
    await (await second.send("Umbrella?")).result();
    await (await second.send("Again?")).result();
    await eventually(
      () => second.state(),
      ({ title }) => title === "Umbrellas in Oslo",
    );
  });

  it("closes with its runtime although the model never answers", async () => {
    const { runtime, guide } = await open(small({ hold: new Promise(() => undefined) }));
    await (await runtime.send(guide, "Umbrella?")).result();
    await runtime.close();
  });
});

describe("nameConversation", () => {
  it("LOOP-30 names a session by hand", async () => {
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "Take one." }]), instructions: "Guide." });
    await using runtime = await testRuntime({ agents: [guide] });
    const session = await runtime.session({ agent: guide, title: "Old" });
    await (await session.send("Umbrella?")).result();
    expect(await nameConversation(session, small())).toEqual({ title: "Umbrellas in Oslo", usage });
    const state = await session.state();
    expect([state.title, state.usage.costMicroUsd]).toEqual(["Umbrellas in Oslo", 7]);
  });

  it("makes one plain line of what a model answers", () => {
    expect(toTitle(' **"Umbrellas\tin\u200b Oslo."** \nBecause ...')).toBe("Umbrellas in Oslo");
    expect(toTitle("x".repeat(200))).toHaveLength(80);
    expect(toTitle("\n")).toBe("");
  });
});
