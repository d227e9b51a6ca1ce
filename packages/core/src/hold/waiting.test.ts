import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { systemClock } from "../words/clock.ts";
import { systemIds } from "../words/ids.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { ANSWERS, fits, type RequestBody } from "../words/request.ts";
import { openRuntime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { tool } from "../ports/tool.ts";

const guarded = tool({
  name: "guarded",
  description: "Asks first.",
  input: z.object({}),
  permission: () => "ask",
  execute: () => "done",
});
const careful = agent({
  name: "careful",
  model: scriptedModel([{ calls: [{ name: "guarded", input: {} }] }, { text: "Ok." }]),
  instructions: "Ask.",
  tools: [guarded],
});

describe("a run that waits for a person", () => {
  it("DUR-06 PERM-08 is taken up by the next process that can answer, after the one that asked was killed", async () => {
    const store = memoryStore();
    const ids = systemIds(() => systemClock.now());
    const open = (options: Partial<RuntimeOptions> = {}) =>
      openRuntime({ agents: [careful], engine: storeEngine(store, { clock: systemClock, ids }), ...options });
    const first = await open();
    const sent = { key: "job", idempotencyKey: "once" };
    const before = await (await first.send(careful, "Go", sent)).result();
    expect(before.status).toBe("waiting");
    for (const { owner } of await store.owners()) store.kill(owner);
    const second = await open({ onRequest: () => Promise.resolve({ type: "permission", allow: true }) });
    const after = await (await second.send(careful, "Go", sent)).result();
    expect(after).toMatchObject({ status: "finished", reason: "end-turn", text: "Ok." });
    await second.close({ graceMs: 0 });
  });
});

describe("fits", () => {
  const binding = { inputHash: "a", toolHash: "b" };
  const permission: RequestBody = {
    type: "permission",
    callId: "c",
    tool: "t",
    input: {},
    title: "t",
    binding,
    remember: ["session"],
  };
  const doubt: RequestBody = { type: "doubt", callId: "c", tool: "t", input: {}, startedAt: 0 };
  const client: RequestBody = { type: "client-tool", callId: "c", tool: "t", input: {} };
  const options = ["s", "m"].map((label) => ({ label, description: label }));
  const question: RequestBody = {
    type: "question",
    questions: [
      { header: "Colour", question: "Which?", multiSelect: false, options },
      { header: "Sizes", question: "Which?", multiSelect: true, options },
    ],
  };
  const form: RequestBody = {
    type: "form",
    origin: "t",
    message: "Fill in",
    schema: { type: "object", properties: { age: { type: "integer" } }, required: ["age"] },
  };

  it.each([
    [permission, { type: "permission", allow: true }],
    [permission, { type: "permission", allow: false, reason: "no" }],
    [permission, { type: "permission", allow: true, remember: "session" }],
    [doubt, { type: "doubt", outcome: "it-happened" }],
    [client, { type: "client-tool", output: { content: [{ type: "text", text: "x" }] } }],
    [question, { type: "question", answers: { Colour: "red", Sizes: ["s", "m"] } }],
    [form, { type: "form", content: { age: 3 } }],
    [form, { type: "form", decline: true }],
  ] as const)("PERM-07 takes a whole answer to %o", (request, answer) => {
    expect(fits(request, answer)).toBe(true);
  });

  it.each([
    [permission, null],
    [permission, "yes"],
    [permission, []],
    [permission, { type: "permission" }],
    [permission, { type: "permission", allow: "no" }],
    [permission, { type: "permission", allow: 1 }],
    [permission, { type: "permission", allow: true, remember: "global" }],
    [permission, { type: "plan", allow: true }],
    [doubt, { type: "doubt" }],
    [doubt, { type: "doubt", outcome: "happened" }],
    [client, { type: "client-tool", output: "x" }],
    [client, { type: "client-tool", output: { content: [{ type: "text" }] } }],
    [question, { type: "question" }],
    [question, { type: "question", answers: { Colour: 5 } }],
    [question, { type: "question", answers: { Colour: ["s", "m"] } }],
    [question, { type: "question", answers: { Price: "1" } }],
    [form, { type: "form", content: { age: "old" } }],
    [form, { type: "form" }],
    [form, { type: "form", decline: true, content: { age: 3 } }],
  ])("EDGE-06 G16 refuses what is no whole answer to %o: %o", (request, answer) => {
    expect(fits(request, answer)).toBe(false);
  });

  it("has words for what each request takes", () => {
    expect(Object.keys(ANSWERS).toSorted()).toEqual(["client-tool", "doubt", "form", "permission", "plan", "question"]);
  });
});
