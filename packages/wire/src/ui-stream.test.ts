import { agent, type Envelope, type Json, jsonSchema, type Run, tool } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { PROGRESS_CHARS, uiStream } from "./ui-stream.ts";
import type { UiChunk } from "./ui-chunk.ts";

const anything = jsonSchema<Json>({ type: "object" });

/** The chunks of `ai` take what is sent; a new or misspelt one would not compile. */
const accepted = (chunk: UiChunk): UIMessageChunk => chunk as UIMessageChunk;

async function rebuilt(chunks: readonly UiChunk[], message?: UIMessage): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(accepted(chunk));
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  const read = readUIMessageStream({ stream, terminateOnError: true, ...(message !== undefined && { message }) });
  for await (const snapshot of read) last = snapshot;
  return last;
}

async function eventsOf(run: Run): Promise<readonly Envelope[]> {
  const events: Envelope[] = [];
  for await (const envelope of run.events({ children: true })) events.push(envelope);
  return events;
}

function chunksOf(run: Run, events: readonly Envelope[]): readonly UiChunk[] {
  const stream = uiStream({ runId: run.id, inputId: run.inputId });
  return events.flatMap((event) => stream.push(event));
}

const weather = tool({
  name: "weather",
  description: "The weather.",
  input: anything,
  permission: "allow",
  rerun: "safe",
  execute: async (_input, { progress }) => {
    progress({ chunk: "look" });
    progress({ chunk: "ing".repeat(200) });
    return "rain";
  },
});
const script: readonly ScriptedReply[] = [
  { reasoning: "Look it up.", text: "One moment.", calls: [{ name: "weather", input: { city: "Oslo" } }], deltas: 3 },
  { text: "Take an umbrella.", deltas: 4 },
];

async function runOf(
  replies: readonly ScriptedReply[],
): Promise<{ run: Run; all: readonly Envelope[]; stored: readonly Envelope[] }> {
  const guide = agent({ name: "guide", model: scriptedModel(replies), instructions: "Be brief.", tools: [weather] });
  await using runtime = await testRuntime({ agents: [guide] });
  const run = await runtime.send(guide, "Umbrella?");
  const all = await eventsOf(run);
  const stored: Envelope[] = [];
  for await (const envelope of run.events({ live: false })) stored.push(envelope);
  return { run, all, stored };
}

/** What the parts say, without what differs between live and stored: ids and rests of streaming. */
function saidBy(message: UIMessage | undefined): unknown {
  return message?.parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return [part.type, part.text, part.state];
    if (part.type === "dynamic-tool") return [part.toolName, part.state, part.input, part.output];
    return part.type;
  });
}

const EXPECTED = [
  "step-start",
  ["reasoning", "Look it up.", "done"],
  ["text", "One moment.", "done"],
  ["weather", "output-available", { city: "Oslo" }, "rain"],
  "step-start",
  ["text", "Take an umbrella.", "done"],
];
const withoutData = (message: UIMessage | undefined): unknown =>
  (saidBy(message) as readonly unknown[]).filter((part) => !String(part).startsWith("data-"));

describe("uiStream", () => {
  it("STREAM-04 gives the reader of ai 7 the message, from live events and from stored ones alike", async () => {
    const { run, all, stored } = await runOf(script);
    const live = await rebuilt(chunksOf(run, all));
    expect(withoutData(live)).toEqual(EXPECTED);
    expect(live?.id).toBe(run.id);
    expect(live?.metadata).toMatchObject({ reason: "end-turn", turns: 2 });
    expect(withoutData(await rebuilt(chunksOf(run, stored)))).toEqual(EXPECTED);
  });

  it("STREAM-04 gives the whole message whichever live events a reader missed", async () => {
    const { run, all } = await runOf(script);
    const live = all.filter(({ event }) => "eph" in event).length;
    expect(live).toBeGreaterThan(15);
    for (let lost = 0; lost < live; lost++) {
      for (const upTo of [lost + 1, lost + 3, live]) {
        let at = 0;
        const left = all.filter(({ event }) => !("eph" in event) || at < lost || ++at > upTo || (at++, false));
        expect(withoutData(await rebuilt(chunksOf(run, left)))).toEqual(EXPECTED);
      }
    }
  });

  it("STREAM-04 drops what a cut answer said with reset-step", async () => {
    const guide = agent({
      name: "guide",
      instructions: "Be brief.",
      model: scriptedModel([
        (_request, attempt) => (attempt === 1 ? { text: "Half of an ans", cutAfter: 1 } : { text: "Whole." }),
      ]),
    });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "?");
    const stream = uiStream({ runId: run.id, inputId: run.inputId });
    const chunks: UiChunk[] = [];
    for await (const envelope of run.events()) {
      chunks.push(...stream.push(envelope));
      if (envelope.event.type === "turn.reset") void runtime.clock.advance(60_000);
      if (envelope.event.type === "notice") void runtime.clock.advance(60_000);
    }
    expect(chunks.map(({ type }) => type)).toContain("reset-step");
    expect(withoutData(await rebuilt(chunks))).toEqual(["step-start", ["text", "Whole.", "done"]]);
  });

  it("STREAM-04 asks for approval, and goes on with the same message after it", async () => {
    const pay = tool({ name: "pay", description: "Pays.", input: anything, permission: "ask", execute: () => "paid" });
    const model = scriptedModel([{ calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "Done." }]);
    const clerk = agent({ name: "clerk", model, instructions: "Pay.", tools: [pay] });
    await using runtime = await testRuntime({ agents: [clerk], permission: { mode: "ask" } });
    const run = await runtime.send(clerk, "Pay");
    const first = uiStream({ runId: run.id, inputId: run.inputId });
    const chunks: UiChunk[] = [];
    for await (const envelope of run.events()) {
      chunks.push(...first.push(envelope));
      if (envelope.event.type === "run.suspended") break;
    }
    const [requestId = ""] = first.openRequests;
    chunks.push(...first.wait());
    expect(first.ended).toBe(true);
    expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" });
    const asked = await rebuilt(chunks);
    const call = asked?.parts.find(({ type }) => type === "dynamic-tool");
    expect(call).toMatchObject({ state: "approval-requested", approval: { id: requestId } });

    const { head } = await run.session.state();
    await run.session.respond(requestId, { type: "permission", allow: true });
    const callId = (call as { readonly toolCallId: string }).toolCallId;
    const second = uiStream({ runId: run.id, inputId: run.inputId, knownCalls: [callId] });
    const more: UiChunk[] = [];
    for await (const envelope of run.session.events({ after: String(head) })) {
      more.push(...second.push(envelope));
      if (second.ended) break;
    }
    const whole = await rebuilt(more, asked);
    expect(whole?.id).toBe(run.id);
    expect(withoutData(whole)).toEqual([
      "step-start",
      ["pay", "output-available", { cents: 5 }, "paid"],
      "step-start",
      ["text", "Done.", "done"],
    ]);
    // and as a whole, for somebody who reloads the page
    expect(withoutData(await rebuilt(chunksOf(run, await eventsOf(run))))).toEqual(withoutData(whole));
  });

  it("ends an interrupted run with abort and without the marker that is for the model", async () => {
    const hold = new Promise<never>(() => undefined);
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "Long story", hold }]), instructions: "Talk." });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Tell");
    const stream = uiStream({ runId: run.id, inputId: run.inputId });
    const chunks: UiChunk[] = [];
    for await (const envelope of run.events()) {
      chunks.push(...stream.push(envelope));
      if (envelope.event.type === "text.delta") void run.session.interrupt(run.id);
    }
    expect(chunks.at(-1)).toEqual({ type: "abort", reason: "interrupted" });
    expect(withoutData(await rebuilt(chunks))).toEqual(["step-start", ["text", "Long ", "done"]]);
  });

  it("says why a run failed", async () => {
    const model = scriptedModel([{ error: new Error("no such model") }]);
    const guide = agent({ name: "guide", model, instructions: "Talk." });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Tell");
    const chunks = chunksOf(run, await eventsOf(run));
    expect(chunks.at(-2)).toEqual({ type: "error", errorText: "no such model" });
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "error" });
  });

  it("shows of a tool that writes without end a bounded part, in few pieces", () => {
    const stream = uiStream({ runId: "run", knownCalls: ["call"] });
    let sent = 0;
    let pieces = 0;
    for (let eph = 1; eph <= 20_000; eph++) {
      const event = { type: "tool.progress", callId: "call", chunk: "x".repeat(100), seq: 1, eph, at: 0 } as const;
      for (const chunk of stream.push({ sessionId: "s", agent: "a", event })) {
        if (chunk.type !== "tool-output-available") continue;
        pieces += 1;
        sent += String(chunk.output).length;
      }
    }
    expect(pieces).toBeLessThan(30);
    expect(sent).toBeLessThan(PROGRESS_CHARS * 4);
  });
});
