import type { Envelope, Run, RunResult } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { uiFrames } from "./ui-frames.ts";

const request = { type: "question", questions: [] };

function envelope(seq: number, event: object): Envelope {
  return { sessionId: "s", agent: "guide", event: { seq, key: String(seq), at: 1, runId: "r", ...event } } as never;
}

function waitingFor(requestId: string): RunResult<unknown> {
  return { status: "waiting", requests: [{ requestId }] } as unknown as RunResult<unknown>; // what the frames look at
}

describe("uiFrames", () => {
  it("ends where a person is asked a second time, although it looked when the first answer was not seen", async () => {
    const late = Promise.withResolvers<RunResult<unknown>>();
    const all = Promise.withResolvers<void>();
    async function* events(): AsyncGenerator<Envelope> {
      yield envelope(1, { type: "request.opened", requestId: "a", request });
      yield envelope(2, { type: "request.resolved", requestId: "a", answer: { type: "decline" }, by: { id: "ann" } });
      yield envelope(3, { type: "request.opened", requestId: "b", request });
      all.resolve();
      await new Promise<never>(() => undefined); // nothing more until somebody answers
    }
    const results = [late.promise, Promise.resolve(waitingFor("b"))];
    const run = { id: "r", inputId: "i", events: () => ({ [Symbol.asyncIterator]: () => ({ next: source.next }) }) };
    const given = events();
    const source = { next: () => given.next() };
    const options = { signal: new AbortController().signal, result: () => results.shift() ?? late.promise };
    void all.promise.then(() => late.resolve(waitingFor("a")));
    let text = "";
    for await (const frame of uiFrames(run as unknown as Run, options)) text += frame;
    expect(text).toContain('"finishReason":"tool-calls"');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
