import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { isPlainJson } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { Model, ModelEvent } from "../ports/model.ts";
import { checkedUsage } from "./model-part.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
const deep: unknown = Array.from({ length: 5_000 }).reduce((inner) => ({ inner }), 1);

const FINISH = { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };

function text(part: unknown): readonly unknown[] {
  return [{ type: "block-start", index: 0, block: { type: "text" } }, { type: "block-end", index: 0, part }, FINISH];
}

function call(input: unknown): readonly unknown[] {
  const part = { type: "tool-call", callId: "c", name: "act", input, by: "capstan" };
  return [
    { type: "block-end", index: 0, part },
    { ...FINISH, reason: "tool-calls" },
  ];
}

/** Gives these events first, whatever they are, and then speaks like a model. */
function brokenModel(events: readonly unknown[]): Model {
  let asked = 0;
  return {
    id: "broken/model",
    capabilities: {},
    async *stream({ messages }) {
      JSON.stringify(messages); // as every provider does
      const fine = text({ type: "text", text: "Fine." });
      yield (asked++ === 0 ? events : fine) as readonly ModelEvent[];
    },
  };
}

async function session(events: readonly unknown[]) {
  const act = tool({ name: "act", description: "Acts.", input: z.object({}), execute: () => "x" });
  const guide = agent({ name: "guide", model: brokenModel(events), instructions: "x", tools: [act] });
  const runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session<string>({ agent: "guide" });
  const first = await soon((await session.send("Go")).result());
  const second = await soon((await session.send("More")).result());
  const log = await logOf(runtime.store, session.id);
  const { usage } = await session.state();
  await runtime.close({ graceMs: 0 });
  return { first, second, log, usage };
}

describe("a model that gives", () => {
  const PARTS: { readonly [what: string]: unknown } = {
    "no part": undefined,
    "a text for a part": "x",
    "a text that is none": { type: "text", text: 5n },
    "a part of no known kind": { type: "video" },
    "a call without a name": { type: "tool-call", input: {} },
    "a seal that cannot be kept": { type: "opaque", seal: { provider: "x", data: deep } },
  };
  for (const [what, part] of Object.entries(PARTS)) {
    it(`LOOP-29 G4 G25 ${what} ends its run with model-protocol, and the session goes on`, async () => {
      const { first, second, log } = await session(text(part));
      expect(first).toMatchObject({ reason: "error", error: { code: "model-protocol" } });
      expect(second).toMatchObject({ reason: "end-turn", text: "Fine." });
      expect(isPlainJson(JSON.parse(JSON.stringify(log)))).toBe(true);
    });
  }

  const INPUTS = {
    "no JSON": 5n,
    "a cycle": cyclic,
    code: () => 1,
    "a depth without end": deep,
    "a date": new Date(0),
  };
  for (const [what, input] of Object.entries(INPUTS)) {
    it(`LOOP-29 TOOL-04 G25 arguments with ${what} has the call refused, and the run goes on`, async () => {
      const { first, log } = await session(call(input));
      expect(first).toMatchObject({ reason: "end-turn", text: "Fine." });
      expect(ofType(log, "tool.finished")).toMatchObject([{ status: "error" }]);
      expect(ofType(log, "tool.started")).toEqual([]);
    });
  }

  it("MODEL-20 G4 a usage, a reason and names that are none counts nothing, and the session goes on", async () => {
    for (const finish of [
      { type: "finish", reason: "stop" },
      { type: "finish", usage: { inputTokens: Number.NaN, outputTokens: -5, costMicroUsd: Number.NaN } },
      { type: "finish", reason: "why", rawReason: 5n, usage: { inputTokens: 1n } },
    ]) {
      const { first, second, usage } = await session([{ type: "start", model: 5n, responseId: 5n }, finish]);
      expect(first).toMatchObject({ reason: "end-turn" });
      expect(second).toMatchObject({ reason: "end-turn", text: "Fine." });
      expect(usage).toEqual({ inputTokens: 1, outputTokens: 1 });
    }
  });

  it("G12 G13 an answer without an end is cut off", async () => {
    const delta = { type: "block-delta", index: 0, delta: "x".repeat(LIMITS.answerChars / 4) };
    const { first, second } = await session([text("")[0], delta, delta, delta, delta, delta]);
    expect(first).toMatchObject({ reason: "error", error: { code: "model-protocol" } });
    expect(second).toMatchObject({ reason: "end-turn" });
  });
});

describe("checkedUsage", () => {
  it("keeps all counts that are there, and adds none", () => {
    const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 };
    expect(checkedUsage({ ...usage, costMicroUsd: 0.5 })).toEqual({ ...usage, costMicroUsd: 0.5 });
    expect(checkedUsage({ inputTokens: 1, outputTokens: 2 })).toEqual({ inputTokens: 1, outputTokens: 2 });
  });
});
