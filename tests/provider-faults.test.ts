import { CapstanError, type Message, type ModelEvent } from "@capstan/core";
import type { TransportResponse } from "@capstan/models";
import { aiSdk } from "@capstan/models/ai-sdk";
import { modelRequest, partsOf } from "@capstan/models/testing";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { strictAiModel } from "./harness/strict-ai-model.ts";
import { type Said, WIRE_FORMATS, type WireFormat } from "./harness/wire-formats.ts";

const SAID: Said = {
  reasoning: "First I look.",
  text: "Ich schaue nach \u{1f30d}.",
  calls: [
    { name: "weather", input: { city: "Oslo", nested: { list: [1, "zwei", null] } } },
    { name: "weather", input: {} },
  ],
};
const QUESTION: Message = { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella?" }] };
const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };

/** An error and an event of no known kind, as each provider would frame them inside a stream that began well. */
const FRAMES: Readonly<Record<string, { readonly error: string; readonly unknown: string }>> = {
  Anthropic: {
    error: frame({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error"),
    unknown: frame({ type: "something_new", index: 7 }, "something_new"),
  },
  "OpenAI Responses": {
    error: frame({ type: "error", code: "server_error", message: "Overloaded", param: null }, "error"),
    unknown: frame({ type: "response.something_new.delta", output_index: 70, delta: "x" }),
  },
  "OpenAI Chat": {
    error: frame({ error: { message: "Overloaded", type: "server_error", code: 503 } }),
    unknown: frame({ object: "something.new", choices: [], more: { x: 1 } }),
  },
  OpenRouter: {
    error: frame({ id: "x", error: { message: "Overloaded", code: 503 }, choices: [] }),
    unknown: ": OPENROUTER PROCESSING\n\n",
  },
  Gemini: {
    error: frame({ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }),
    unknown: frame({ somethingNew: { x: 1 } }),
  },
};
const HTTP_FORMATS = WIRE_FORMATS.filter(({ name }) => name in FRAMES);

function frame(data: object, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The end of an answer is cut at every byte, the rest of it now and then. */
const TAIL_BYTES = 150;
const STEP_BYTES = 37;

type Outcome = { readonly events: readonly ModelEvent[]; readonly error: unknown };

/** What a model makes of an answer that the network or the provider changed on its way. */
async function outcomeOf(
  format: WireFormat,
  edit: (bytes: Buffer) => readonly Uint8Array[],
  head: Partial<TransportResponse> = {},
): Promise<Outcome> {
  const wire = (response: TransportResponse): TransportResponse => {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      const whole: Uint8Array[] = [];
      for await (const chunk of response.chunks) whole.push(chunk);
      yield* edit(Buffer.concat(whole));
    };
    return { ...response, ...head, chunks: chunks() };
  };
  await using played = format.play(() => SAID, { wire });
  const events: ModelEvent[] = [];
  try {
    const request = modelRequest([QUESTION], { tools: [WEATHER], settings: { reasoning: "high" } });
    for await (const batch of played.model.stream(request)) events.push(...batch);
  } catch (error) {
    return { events, error };
  }
  expect(played.violations).toEqual([]);
  return { events, error: undefined };
}

function isFinished({ events }: Outcome): boolean {
  return events.some(({ type }) => type === "finish");
}

/** A typed fault of the model, never a finished turn. */
function expectFault(outcome: Outcome, retryable: boolean): void {
  expect(isFinished(outcome)).toBe(false);
  const { error } = outcome;
  if (!CapstanError.is(error)) throw new Error(`no typed error: ${String(error)}`);
  expect(error.code).toMatch(/^model-/);
  expect(error.retryable).toBe(retryable);
}

for (const format of HTTP_FORMATS) {
  describe(`a faulty answer of ${format.name}`, () => {
    const whole = (): Promise<Outcome> => outcomeOf(format, (bytes) => [bytes]);
    const { error: errorFrame = "", unknown = "" } = FRAMES[format.name] ?? {};
    /** Behind the first event. */
    const inserted = (bytes: Buffer, text: string): readonly Uint8Array[] => {
      const at = /\r?\n\r?\n/.exec(bytes.toString("latin1"));
      const end = (at?.index ?? 0) + (at?.[0].length ?? 0);
      return [bytes.subarray(0, end), Buffer.from(text), bytes.subarray(end)];
    };

    it("LOOP-29 G25 cut after any byte is never a finished turn before all of it was said, and breaks with nothing but a typed error", async () => {
      const { events } = await whole();
      let length = 0;
      await outcomeOf(format, (bytes) => ((length = bytes.length), [bytes]));
      expect(length).toBeGreaterThan(500);
      let finishedAt = Infinity;
      for (let at = 0; at < length; at += at > length - TAIL_BYTES ? 1 : STEP_BYTES) {
        const outcome = await outcomeOf(format, (bytes) => [bytes.subarray(0, at)]);
        const { error } = outcome;
        if (error !== undefined) {
          if (!CapstanError.is(error)) throw error;
          expect([error.code.startsWith("model-"), error.retryable]).toEqual([true, true]);
        }
        if (isFinished(outcome)) {
          finishedAt = Math.min(finishedAt, at);
          expect(partsOf(outcome.events)).toEqual(partsOf(events));
        } else expect(at).toBeLessThan(finishedAt);
      }
      expect(finishedAt).toBeGreaterThan(length - 600); // the provider's mark of the end, and no sooner
    });

    it("G25 dribbled one byte at a time is the same answer", async () => {
      const dribbled = await outcomeOf(format, (bytes) => Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1)));
      const { events } = await whole();
      expect(partsOf(dribbled.events)).toEqual(partsOf(events));
      expect(dribbled.events.at(-1)).toEqual(events.at(-1));
    });

    it("LOOP-29 G25 with an error inside a 200 ends in that error, not in a finished turn", async () => {
      const outcome = await outcomeOf(format, (bytes) => inserted(bytes, errorFrame));
      expectFault(outcome, true);
      expect(String(outcome.error)).toContain("Overloaded");
    });

    it("G25 with events of no known kind is the same answer", async () => {
      const outcome = await outcomeOf(format, (bytes) => inserted(bytes, `${unknown}: comment\n\n${unknown}`));
      expect(outcome.error).toBeUndefined();
      expect(partsOf(outcome.events)).toEqual(partsOf((await whole()).events));
    });

    it("LOOP-29 G25 that is empty, of another type, or an error with status 200 ends in a typed error", async () => {
      expectFault(await outcomeOf(format, () => []), true);
      const html = { headers: { "content-type": "text/html" } };
      expectFault(await outcomeOf(format, () => [Buffer.from("<h1>Please log in</h1>")], html), false);
      const json = { headers: { "content-type": "application/json" } };
      const refused = await outcomeOf(format, () => [Buffer.from('{"error":{"message":"No such model"}}')], json);
      expect(isFinished(refused)).toBe(false);
      expect(CapstanError.is(refused.error)).toBe(true);
      expect(String(refused.error)).toContain("No such model");
    });
  });
}

describe("a faulty answer of an AI SDK model", () => {
  it("LOOP-29 G25 cut after any part is never a finished turn before all of it was said", async () => {
    const request = modelRequest([QUESTION], { tools: [WEATHER], settings: { reasoning: "high" } });
    const answerOf = async (parts: number): Promise<Outcome> => {
      const source = strictAiModel(() => SAID);
      const cut = async (options: object): Promise<{ readonly stream: ReadableStream<unknown> }> => {
        const { stream } = await source.doStream(options);
        return { stream: ReadableStream.from(Readable.from(stream).take(parts)) };
      };
      const events: ModelEvent[] = [];
      try {
        for await (const batch of aiSdk({ ...source, doStream: cut }).stream(request)) events.push(...batch);
      } catch (error) {
        return { events, error };
      }
      return { events, error: undefined };
    };
    const whole = await answerOf(Infinity);
    expect(whole.error).toBeUndefined();
    expect(partsOf(whole.events)).toHaveLength(4);
    const finished: number[] = [];
    const last = 19; // parts of this answer
    for (let parts = 0; parts <= last; parts++) {
      const outcome = await answerOf(parts);
      expect(outcome.error === undefined || CapstanError.is(outcome.error)).toBe(true);
      if (isFinished(outcome)) finished.push(parts);
    }
    expect(finished).toEqual([last]);
  });
});
