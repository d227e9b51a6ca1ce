import { agent, jsonSchema, type ModelRequest, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { tokenLimit } from "./index.ts";

const LONG = "x".repeat(400); // about a hundred tokens
const read = tool({
  name: "read",
  description: "Reads.",
  input: jsonSchema<object>({ type: "object" }),
  rerun: "safe",
  execute: () => LONG,
});
const fits = (request: ModelRequest): boolean => JSON.stringify(request.messages).length < 6_000;
const script = (reply: ScriptedReply): readonly ScriptedReply[] => Array.from({ length: 60 }, () => reply);

async function talk(tokens: number, inputs: readonly string[], reply: ScriptedReply = { text: LONG }) {
  const model = scriptedModel(script(reply));
  const worker = agent({
    name: "worker",
    model,
    instructions: "Work.",
    tools: [read],
    plugins: [tokenLimit({ tokens })],
  });
  const runtime = await testRuntime({ agents: [worker] });
  const session = await runtime.session({ agent: worker });
  const results = [];
  for (const input of inputs) results.push(await (await session.send(input)).result());
  const log = await runtime.store.read(session.id, { after: 0, limit: 10_000 });
  await runtime.close();
  return { model, results, log };
}

const inputs = Array.from({ length: 12 }, (_, index) => `Input ${index}. ${LONG}`);

describe("tokenLimit", () => {
  it("CTX-04 shows the newest turns that fit, and says that something is left out", async () => {
    const { model, results, log } = await talk(1_500, inputs);
    expect(results.every(({ reason }) => reason === "end-turn")).toBe(true);
    expect(model.requests.every(fits)).toBe(true);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(textOf(last[0]?.parts ?? [])).toContain("left out");
    expect(textOf(last.at(-1)?.parts ?? [])).toContain("Input 11.");
    const added = log.filter(({ type }) => type === "message.added");
    expect(added).toHaveLength(24); // the conversation has them all
  });

  it("CTX-04 COST-03 moves its window seldom: in between the cached prompt only grows", async () => {
    const { model, log } = await talk(1_500, inputs);
    const moves = log.filter(({ type }) => type === "data").length;
    expect(moves).toBeGreaterThan(0);
    expect(moves).toBeLessThan(6);
    const grew = model.requests.slice(1).filter(({ messages }, index) => {
      const before = model.requests[index]?.messages ?? [];
      return before.every((message, at) => message === messages[at]);
    });
    expect(grew).toHaveLength(model.requests.length - 1 - moves);
  });

  it("CTX-04 never cuts between a call and its result", async () => {
    const reply: ScriptedReply = ({ messages }) =>
      messages.at(-1)?.parts[0]?.type === "tool-result"
        ? { text: "Done." }
        : {
            calls: [
              { name: "read", input: {} },
              { name: "read", input: {} },
            ],
          };
    const { model, results } = await talk(900, inputs.slice(0, 8), reply);
    expect(results.every(({ reason }) => reason === "end-turn")).toBe(true);
    for (const { messages } of model.requests) {
      const parts = messages.flatMap((message) => message.parts);
      const calls = parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
      const answered = parts.flatMap((part) => (part.type === "tool-result" ? [part.callId] : []));
      expect(answered).toEqual(calls);
      expect(messages[0]?.role).toBe("user");
    }
  });

  it.each([0, 5, 100])(
    "CTX-04 a limit of %i tokens, into which nothing fits, ends the run before the model is asked",
    async (tokens) => {
      const { model, results } = await talk(tokens, [LONG]);
      expect(results).toMatchObject([{ reason: "error", error: { code: "limit-reached" } }]);
      expect(model.requests).toEqual([]);
    },
  );

  it("DUR-03 CTX-04 survives a crash at every write", async () => {
    const reply: ScriptedReply = (request) =>
      request.messages.filter(({ role }) => role === "assistant").length > 3
        ? { text: "Done." }
        : { calls: [{ name: "read", input: {} }] };
    const plugins = [tokenLimit({ tokens: 900 })];
    const worker = agent({
      name: "worker",
      model: scriptedModel(script(reply)),
      instructions: "x",
      tools: [read],
      plugins,
    });
    const report = await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go") });
    expect(report.crashes).toBeGreaterThan(20);
  });

  it("refuses a number that is none", () => {
    for (const tokens of [-1, Number.NaN]) expect(() => tokenLimit({ tokens })).toThrow("tokenLimit:");
  });
});
