import {
  agent,
  CapstanError,
  type Fact,
  type FactOf,
  type Message,
  type ModelRequest,
  type RunResult,
  text,
  textOf,
  tool,
  jsonSchema,
} from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedModel, type ScriptedTurn, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { compaction, type CompactionOptions } from "./index.ts";
import { placeOf } from "./place.ts";
import { shortened, transcriptOf } from "./transcript.ts";

const LONG = "A line of a file.\n".repeat(300);
const read = tool({
  name: "read",
  description: "Reads.",
  input: jsonSchema<object>({ type: "object", properties: {}, additionalProperties: false }),
  rerun: "safe",
  execute: () => LONG,
});
const usage = { inputTokens: 10, outputTokens: 5 };
const call: ScriptedTurn = { calls: [{ name: "read", input: {} }] };
const resultsIn = ({ messages }: ModelRequest): number =>
  messages.filter(({ parts }) => parts[0]?.type === "tool-result").length;
const isSummed = ({ messages }: ModelRequest): boolean => messages[0]?.id.startsWith("compaction/") === true;

/** `work` answers the conversation, by what stands in it; questions for a summary get the notes. */
function modelOf(
  work: (request: ModelRequest) => ScriptedTurn,
  notes: ScriptedTurn = { text: "NOTES", usage },
  contextTokens?: number,
): ScriptedModel {
  const turn = (request: ModelRequest): ScriptedTurn =>
    request.messages.at(-1)?.id.startsWith("compaction/t") === true ? notes : work(request);
  const capabilities = contextTokens === undefined ? {} : { contextTokens };
  return scriptedModel(
    Array.from({ length: 30 }, () => turn),
    { capabilities },
  );
}

/** Reads three times, then answers. */
const reader = (request: ModelRequest): ScriptedTurn =>
  resultsIn(request) >= 3 || (isSummed(request) && resultsIn(request) >= 1) ? { text: "Done." } : call;

type Played = {
  readonly log: readonly Fact[];
  readonly results: readonly RunResult<string>[];
  readonly compacted: readonly FactOf<"context.compacted">[];
  readonly notices: readonly string[];
};

async function play(
  model: ScriptedModel,
  options: CompactionOptions,
  inputs = ["Go"],
  tokens?: number,
): Promise<Played> {
  const plugins = [compaction(options)];
  const limits = tokens === undefined ? {} : { tokens };
  const worker = agent({ name: "worker", model, instructions: "Work.", tools: [read], plugins, limits });
  const runtime = await testRuntime({ agents: [worker] });
  const session = await runtime.session({ agent: worker });
  const results: RunResult<string>[] = [];
  const notices: string[] = [];
  for (const input of inputs) {
    const run = await session.send(input);
    for await (const { event } of run.events()) if (event.type === "notice") notices.push(event.title);
    results.push(await run.result());
  }
  const log = await runtime.store.read(session.id, { after: 0, limit: 10_000 });
  await runtime.close();
  return { log, results, notices, compacted: log.filter((fact) => fact.type === "context.compacted") };
}

describe("compaction", () => {
  it("CTX-01 sums up at a threshold and keeps the last turns word for word", async () => {
    const model = modelOf(reader);
    const { compacted, results, notices } = await play(model, { atTokens: 3_500, keepTurns: 1 });
    expect(results[0]).toMatchObject({ reason: "end-turn", text: "Done." });
    expect(compacted).toMatchObject([{ trigger: "auto" }]);
    const after = model.requests.at(-1);
    expect(after?.messages.map(({ role, parts }) => [role, parts[0]?.type])).toEqual([
      ["user", "text"],
      ["assistant", "tool-call"],
      ["user", "tool-result"],
    ]);
    expect(textOf(after?.messages[0]?.parts ?? [])).toContain("NOTES");
    expect(notices).toContain("Conversation compacted");
  });

  it("CTX-01 COST-01 the run's own model is asked with the conversation's cached beginning", async () => {
    const model = modelOf(reader);
    await play(model, { atTokens: 3_500, keepTurns: 1 });
    const at = model.requests.findIndex(({ messages }) => messages.at(-1)?.id === "compaction/task");
    const [before, asked] = [model.requests[at - 1], model.requests[at]];
    expect([asked?.system, asked?.tools]).toEqual([before?.system, before?.tools]);
    expect(asked?.messages.slice(0, -1)).toEqual(before?.messages.slice(0, (asked?.messages.length ?? 0) - 1));
  });

  it("CTX-01 a cheaper model reads a transcript of what is summed up", async () => {
    const cheap = modelOf(reader);
    const model = modelOf(reader);
    const { compacted } = await play(model, {
      atTokens: 3_500,
      keepTurns: 1,
      model: cheap,
      instructions: "Name all files.",
    });
    expect(compacted).toHaveLength(1);
    const [asked] = cheap.requests;
    expect(asked?.tools).toEqual([]);
    const said = textOf(asked?.messages[0]?.parts ?? []);
    expect(said).toContain("[user] Go");
    expect(said).toContain("[result of read] A line of a file.");
    expect(said).toContain("Name all files.");
    expect(model.requests.some(({ messages }) => messages.at(-1)?.id.startsWith("compaction/t"))).toBe(false);
  });

  it("CTX-01 the threshold is four fifths of the model's context, and there is none where that is unknown", async () => {
    const small = await play(modelOf(reader, undefined, 4_500), { keepTurns: 1 });
    expect(small.compacted).toHaveLength(1);
    const unknown = await play(modelOf(reader), { keepTurns: 1 });
    expect(unknown.compacted).toEqual([]);
  });

  it("CTX-01 /compact sums up at once, with what the user wants to be in it", async () => {
    const model = modelOf(reader);
    const { compacted, results } = await play(model, { keepTurns: 1 }, ["/compact", "Go", "/compact the names"]);
    expect(results.map(({ text: said }) => said)).toEqual([
      "There is nothing to sum up yet.",
      "Done.",
      expect.stringMatching(/^About [\d,]+ tokens became [\d,]+\.$/),
    ]);
    expect(compacted).toMatchObject([{ trigger: "manual" }]);
    const asked = model.requests.find(({ messages }) => messages.at(-1)?.id === "compaction/transcript");
    expect(textOf(asked?.messages[0]?.parts ?? [])).toContain("the names");
    const plain = modelOf(reader);
    await play(plain, { keepTurns: 1, instructions: "The usual." }, ["Go", "/compact"]);
    const usual = plain.requests.find(({ messages }) => messages.at(-1)?.id === "compaction/transcript");
    expect(textOf(usual?.messages[0]?.parts ?? [])).toContain("The usual.");
  });

  it("CTX-06 pinned messages stay word for word, also in the next summary", async () => {
    const model = modelOf((request) => (resultsIn(request) > 0 ? { text: "Done." } : call));
    const pin = (message: Message): boolean => textOf(message.parts).includes("never");
    const inputs = ["You must never push.", "Go", "/compact", "Go", "Go", "/compact"];
    const { compacted } = await play(model, { keepTurns: 0, pin }, inputs);
    expect(compacted).toHaveLength(2);
    for (const { summary } of compacted)
      expect(summary).toContainEqual(text("[kept word for word] You must never push."));
  });

  it("CTX-01 a summary that fails leaves the conversation as it is, is said once, and the run goes on", async () => {
    const model = modelOf(reader, { error: new CapstanError("model-refused", "No") });
    const { compacted, results, notices, log } = await play(model, { atTokens: 1_300, keepTurns: 1 });
    expect(results[0]).toMatchObject({ reason: "end-turn" });
    expect(compacted).toEqual([]);
    expect(notices.filter((title) => title.includes("could not be compacted"))).toHaveLength(1);
    expect(log.filter((fact) => fact.type === "step.finished" && fact.failed !== undefined)).toHaveLength(1);
  });

  it("CTX-01 does not compact each turn what cannot become small: it must grow first", async () => {
    const inputs = ["Go", "a", "b"];
    const notes: ScriptedTurn = { text: "N".repeat(4_000), usage };
    const big = modelOf((request) => (resultsIn(request) > 0 || isSummed(request) ? { text: "Done." } : call), notes);
    const { compacted } = await play(big, { atTokens: 900, keepTurns: 1 }, inputs);
    expect(compacted).toHaveLength(1);
  });

  it("CTX-05 a turn that does not fit is compacted and tried again, without a threshold", async () => {
    const model = modelOf((request) =>
      resultsIn(request) >= 3 ? { error: new CapstanError("model-context-exceeded", "Too long") } : reader(request),
    );
    const { compacted, results } = await play(model, { keepTurns: 1 });
    expect(results[0]).toMatchObject({ reason: "end-turn" });
    expect(compacted).toMatchObject([{ trigger: "overflow" }]);
  });

  it.each([
    ["no summary comes", { text: "", usage }],
    ["the summary is longer than what it sums up", { text: LONG.repeat(20), usage }],
    ["the model fails", { error: new CapstanError("model-refused", "No") }],
  ] as const)("CTX-05 when %s, a turn that does not fit ends the run with compaction-failed", async (_why, notes) => {
    const model = modelOf(
      (request) =>
        resultsIn(request) >= 2 ? { error: new CapstanError("model-context-exceeded", "Too long") } : reader(request),
      notes,
    );
    const { compacted, results } = await play(model, { keepTurns: 1 });
    expect(results[0]).toMatchObject({ reason: "context-exceeded", error: { code: "compaction-failed" } });
    expect(compacted).toEqual([]);
    expect(model.requests.length).toBeLessThanOrEqual(5);
  });

  it("CTX-05 one input that is too long for the model ends the run: nothing is left to sum up", async () => {
    const model = modelOf(() => ({ error: new CapstanError("model-context-exceeded", "Too long") }));
    const { results } = await play(model, {});
    expect(results[0]).toMatchObject({ reason: "context-exceeded", error: { code: "compaction-failed" } });
    expect(model.requests).toHaveLength(1);
  });

  it("EDGE-08 COST-08 a budget pays the summary like any turn, and no turn is asked that it does not pay", async () => {
    const { results, log } = await play(modelOf(reader), { atTokens: 3_500, keepTurns: 1 }, ["Go"], 60_000);
    const spent = results[0]?.usage.inputTokens ?? 0;
    const asked = log.flatMap((fact) => ("usage" in fact && fact.type !== "run.finished" ? [fact.usage] : []));
    expect(asked.reduce((sum, own) => sum + (own?.inputTokens ?? 0), 0)).toBe(spent);
    expect(log.some((fact) => fact.type === "step.started" && fact.reserved !== undefined)).toBe(true);
  });

  it("DUR-03 CTX-01 survives a crash at every write", async () => {
    const plugins = [compaction({ atTokens: 3_500, keepTurns: 1 })];
    const worker = agent({ name: "worker", model: modelOf(reader), instructions: "Work.", tools: [read], plugins });
    const report = await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go") });
    expect(report.crashes).toBeGreaterThan(30);
  });

  it("refuses numbers that are none", () => {
    for (const options of [{ atTokens: 0 }, { atTokens: Number.NaN }, { keepTurns: -1 }, { keepTurns: 1.5 }])
      expect(() => compaction(options)).toThrow("compaction:");
  });
});

describe("placeOf", () => {
  const user = (id: string): Message => ({ id, role: "user", parts: [text("x")] });
  const answer = (id: string, ...calls: readonly string[]): Message => ({
    id,
    role: "assistant",
    parts: calls.map((callId) => ({ type: "tool-call", callId, name: "t", input: {}, by: "capstan" })),
  });
  const results = (id: string, ...calls: readonly string[]): Message => ({
    id,
    role: "user",
    parts: calls.map((callId) => ({ type: "tool-result", callId, name: "t", output: { content: [] } })),
  });
  const talk = [
    user("1"),
    answer("2", "a"),
    results("3", "a"),
    answer("4", "b"),
    results("5", "b"),
    answer("6"),
    user("7"),
  ];

  it("CTX-01 never cuts between a call and its result, whatever is kept", () => {
    expect([0, 1, 2, 3, 4].map((keep) => placeOf(talk, keep, 1_000_000))).toEqual([6, 5, 3, 0, 0]);
    for (const cut of [0, 1, 2].map((keep) => placeOf(talk, keep, 1_000_000)))
      expect(talk[cut]?.parts[0]?.type).not.toBe("tool-result");
  });

  it("CTX-01 keeps fewer turns where they would fill what is to become free", () => {
    expect(placeOf(talk, 2, 50)).toBe(5);
    expect(placeOf(talk, 2, 1)).toBe(6);
  });

  it("CTX-01 a summary alone is nothing to sum up", () => {
    expect(placeOf([{ ...user("compaction/9") }, user("7")], 0, 1)).toBe(0);
  });
});

describe("transcriptOf", () => {
  it("CTX-01 is never longer than it may be, and shows head and tail of what is long", () => {
    const messages: readonly Message[] = Array.from({ length: 200 }, (_, index) => ({
      id: String(index),
      role: "user",
      parts: [text(`begin ${"x".repeat(9_000)} end`)],
    }));
    for (const most of [500, 5_000, 100_000]) expect(transcriptOf(messages, most).length).toBeLessThan(most + 100);
    expect(shortened(`begin ${"x".repeat(900)} end`, 100)).toMatch(
      /^begin x+\n\[\.\.\. 810 characters left out \.\.\.\]\nx+ end$/,
    );
  });
});
