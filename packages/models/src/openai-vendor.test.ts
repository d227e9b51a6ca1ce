import { readdirSync, readFileSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";
import { CapstanError, type Message, type ModelEvent, textOf } from "@capstan/core";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { openaiFrom } from "./openai.ts";
import { collectEvents, modelRequest, partsOf } from "./testing/index.ts";
import type { Transport } from "./transport.ts";

const FOLDER = new URL("openai/__fixtures__/", import.meta.url);
const MODEL = "gpt-6.1-sol";
const REQUEST = modelRequest([{ id: "u", role: "user", parts: [{ type: "text", text: "Umbrella?" }] }]);
const SIZES = [1, 7, 64, 100_000];

function bytesOf(name: string): Buffer {
  return readFileSync(new URL(`${name}.txt`, FOLDER));
}

function* pieces(bytes: Buffer, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** What we read of these bytes. */
async function read(name: string, size: number): Promise<{ readonly events: ModelEvent[]; readonly error?: unknown }> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* pieces(bytesOf(name), size);
  }
  const transport: Transport = async () => ({
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    chunks: chunks(),
  });
  const events: ModelEvent[] = [];
  try {
    for await (const batch of openaiFrom({ OPENAI_API_KEY: "test-key-0" }, MODEL, { transport }).stream(REQUEST))
      events.push(...batch);
  } catch (error) {
    return { events, error };
  }
  return { events };
}

/** What the vendor's own client reads of them. */
async function readByVendor(name: string, size: number) {
  const client = new OpenAI({
    apiKey: "test-key-0",
    maxRetries: 0,
    fetch: async () =>
      new Response(ReadableStream.from(pieces(bytesOf(name), size)), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  const stream = await client.responses.create({ model: MODEL, input: "Umbrella?", stream: true });
  let text = "";
  let last: OpenAI.Responses.Response | undefined;
  for await (const event of stream) {
    if (event.type === "response.output_text.delta" || event.type === "response.refusal.delta") text += event.delta;
    if (event.type === "response.completed" || event.type === "response.incomplete") last = event.response;
  }
  return { text, last };
}

describe("openai beside the vendor's own client", () => {
  for (const name of ["parallel-calls", "web-search", "refusal", "incomplete"]) {
    for (const size of SIZES) {
      it(`MODEL-03 reads the same answer from the bytes of ${name}, ${size} at a time`, async () => {
        const { events, error } = await read(name, size);
        const { text, last } = await readByVendor(name, size);
        expect(error).toBeUndefined();
        const parts = partsOf(events);
        expect(textOf(parts)).toBe(text);
        const output = last?.output ?? [];
        const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
        expect(
          parts.flatMap((part) => (part.type === "tool-call" ? [[part.callId, part.name, part.input]] : [])),
        ).toEqual(calls.map((call) => [call.call_id, call.name, JSON.parse(call.arguments) as unknown]));
        const thoughts = output.flatMap((item) => (item.type === "reasoning" ? [item] : []));
        expect(parts.flatMap((part) => (part.type === "reasoning" ? [[part.text, part.seal?.data]] : []))).toEqual(
          thoughts.map((item) => [item.summary.map((piece) => piece.text).join("\n\n"), { model: MODEL, item }]),
        );
        const finish = events.at(-1);
        if (finish?.type !== "finish") throw new Error("it did not finish");
        const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = finish.usage;
        expect([inputTokens + cacheReadTokens + cacheWriteTokens, outputTokens]).toEqual([
          last?.usage?.input_tokens,
          last?.usage?.output_tokens,
        ]);
      });
    }
  }

  it("LOOP-19 reads every recorded end", async () => {
    const ends: Record<string, unknown> = {};
    for (const file of readdirSync(FOLDER)) {
      const name = file.replace(".txt", "");
      const { events, error } = await read(name, 50);
      const finish = events.at(-1);
      ends[name] = finish?.type === "finish" ? finish.reason : CapstanError.is(error) ? error.code : "no finish";
    }
    expect(ends).toEqual({
      "parallel-calls": "tool-calls",
      "web-search": "stop",
      refusal: "refusal",
      incomplete: "length",
      failed: "model-failed",
      cut: "no finish",
    });
  });

  for (const name of ["parallel-calls", "web-search", "refusal", "incomplete", "failed", "cut"]) {
    it(`G25 reads ${name} the same at every size of its pieces`, async () => {
      const whole = await read(name, SIZES.at(-1) ?? 0);
      for (const size of SIZES) {
        const { events, error } = await read(name, size);
        expect(partsOf(events)).toEqual(partsOf(whole.events));
        expect(events.at(-1)?.type === "finish").toBe(whole.events.at(-1)?.type === "finish");
        expect(String(error)).toBe(String(whole.error));
      }
    });
  }
});

describe("openai against aimock", () => {
  it("MODEL-03 reads a text and a call, and sends the result back", async () => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage("Weather?", { toolCalls: [{ name: "weather", arguments: '{"city":"Oslo"}' }] });
    mock.onMessage("Hello", { content: "Hi there, from the mock." });
    await mock.start();
    try {
      const model = openaiFrom({ OPENAI_API_KEY: "mock", OPENAI_BASE_URL: `${mock.url}/v1` }, MODEL);
      const said = (text: string) => ({ id: text, role: "user", parts: [{ type: "text", text }] }) as const;
      const text = await collectEvents(model, modelRequest([said("Hello")]));
      expect(textOf(partsOf(text))).toBe("Hi there, from the mock.");
      expect(text.at(-1)).toMatchObject({ reason: "stop" });
      const tools = [{ name: "weather", description: "", inputSchema: { type: "object" } }];
      const call = await collectEvents(model, modelRequest([said("Weather?")], { tools }));
      const parts = partsOf(call);
      expect(parts).toMatchObject([
        { type: "reasoning", seal: { provider: "openai" } },
        { type: "tool-call", name: "weather", input: { city: "Oslo" } },
      ]);
      expect(call.at(-1)).toMatchObject({ reason: "tool-calls" });
      const callId = parts[1]?.type === "tool-call" ? parts[1].callId : "";
      mock.prependFixture({ match: { toolCallId: callId }, response: { content: "It rains." } });
      const output = { content: [{ type: "text", text: "rain" }] } as const;
      const result = { type: "tool-result", callId, name: "weather", output } as const;
      const history: Message[] = [
        said("Weather?"),
        { id: "a", role: "assistant", parts },
        { id: "r", role: "user", parts: [result] },
      ];
      expect(textOf(partsOf(await collectEvents(model, modelRequest(history, { tools }))))).toBe("It rains.");
    } finally {
      await mock.stop();
    }
  });
});
