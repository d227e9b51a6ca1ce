import { readFileSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";
import { type Message, textOf } from "@capstan/core";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { openaiChatFrom } from "./openai-chat.ts";
import { collectEvents, modelRequest, type OpenAIChatReply, openaiChatServer, partsOf } from "./testing/index.ts";
import { nodeTransport, type Transport } from "./transport.ts";

const QUESTION: Message = { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella?" }] };
const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };

const reply: OpenAIChatReply = {
  text: "Ich schaue nach: 𝔘mbrella?",
  calls: [
    { id: "call_a", name: "weather", input: { city: "Oslo", nested: { list: [1, 2, "drei"] } } },
    { id: "call_b", name: "weather", input: {} },
  ],
};

function client(baseURL: string): OpenAI {
  return new OpenAI({ apiKey: "test-key-0", baseURL, maxRetries: 0 });
}

const QUESTIONS: { model: string; messages: OpenAI.ChatCompletionMessageParam[] } = {
  model: "large",
  messages: [{ role: "user", content: "Umbrella?" }],
};

describe("openaiChat beside the vendor's own client", () => {
  for (const chunkBytes of [1, 7, 64, 100_000]) {
    it(`MODEL-04 reads the same message from the same bytes, ${chunkBytes} at a time`, async () => {
      await using server = await openaiChatServer(() => ({ ...reply, delivery: { chunkBytes } }));
      const baseUrl = `${server.url}/v1`;
      const theirs = await client(baseUrl).chat.completions.stream(QUESTIONS).finalChatCompletion();
      const model = openaiChatFrom({}, "large", { apiKey: "test-key-0", baseUrl });
      const events = await collectEvents(model, modelRequest([QUESTION]));
      const ours = partsOf(events);
      const message = theirs.choices[0]?.message;
      expect(textOf(ours)).toBe(message?.content);
      const calls = ours.flatMap((part) =>
        part.type === "tool-call" ? [{ id: part.callId, name: part.name, input: part.input }] : [],
      );
      const uses = message?.tool_calls?.flatMap((call) =>
        call.type === "function"
          ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
          : [],
      );
      expect(calls).toEqual(uses);
      expect(theirs.choices[0]?.finish_reason).toBe("tool_calls");
      expect(events.at(-1)).toMatchObject({ rawReason: "tool_calls" });
    });
  }

  for (const name of ["openai-parallel-calls", "openai-obfuscation", "openrouter-reasoning", "vllm-reasoning"]) {
    it(`MODEL-04 reads the text and calls of ${name} as the client does`, async () => {
      const bytes = readFileSync(new URL(`openai-chat/__fixtures__/${name}.txt`, import.meta.url));
      const response = (): Response => new Response(bytes, { headers: { "content-type": "text/event-stream" } });
      const theirs = new OpenAI({ apiKey: "test-key-0", fetch: async () => response() });
      let text = "";
      const inputs: string[] = [];
      for await (const chunk of await theirs.chat.completions.create({ ...QUESTIONS, stream: true })) {
        const delta = chunk.choices[0]?.delta;
        text += delta?.content ?? "";
        for (const call of delta?.tool_calls ?? [])
          inputs[call.index] = (inputs[call.index] ?? "") + (call.function?.arguments ?? "");
      }
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield bytes;
      }
      const transport: Transport = async () => ({
        status: 200,
        headers: { "content-type": "text/event-stream" },
        chunks: chunks(),
      });
      const model = openaiChatFrom({}, "large", { baseUrl: "http://127.0.0.1:1/v1", transport });
      const ours = partsOf(await collectEvents(model, modelRequest([QUESTION])));
      expect(textOf(ours.filter((part) => part.type === "text"))).toBe(text);
      expect(ours.flatMap((part) => (part.type === "tool-call" ? [part.input] : []))).toEqual(
        inputs.map((input) => JSON.parse(input) as unknown),
      );
    });
  }
});

describe("openaiChat against aimock", () => {
  it("MODEL-04 gets a text, a call, and the answer to the call's result", async () => {
    const mock = new LLMock({ port: 0 });
    mock.addFixture({ match: { hasToolResult: true }, response: { content: "Take one along." } });
    mock.addFixture({
      match: { userMessage: "Umbrella" },
      response: { toolCalls: [{ id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' }] },
    });
    mock.addFixture({ match: { userMessage: "Hello" }, response: { content: "Hi, how are you?" } });
    await mock.start();
    try {
      const model = openaiChatFrom({}, "gpt-4o", {
        apiKey: "mock-key",
        baseUrl: `${mock.url}/v1`,
        transport: nodeTransport,
      });
      const hello: Message = { id: "h", role: "user", parts: [{ type: "text", text: "Hello" }] };
      const text = await collectEvents(model, modelRequest([hello]));
      expect(partsOf(text)).toEqual([{ type: "text", text: "Hi, how are you?" }]);
      expect(text.at(-1)).toMatchObject({ type: "finish", reason: "stop" });

      const called = await collectEvents(model, modelRequest([QUESTION], { tools: [WEATHER] }));
      const [call] = partsOf(called);
      expect(call).toMatchObject({ type: "tool-call", name: "weather", input: { city: "Oslo" } });
      expect(called.at(-1)).toMatchObject({ reason: "tool-calls" });
      if (call?.type !== "tool-call") throw new Error("no call came");

      const callId = "run_1/1/0";
      const output = { content: [{ type: "text", text: "Rain" }] } as const;
      const history: readonly Message[] = [
        QUESTION,
        { id: "m2", role: "assistant", parts: [{ ...call, callId }] },
        { id: "m3", role: "user", parts: [{ type: "tool-result", callId, name: "weather", output }] },
      ];
      const done = await collectEvents(model, modelRequest(history, { tools: [WEATHER] }));
      expect(partsOf(done)).toEqual([{ type: "text", text: "Take one along." }]);
    } finally {
      await mock.stop();
    }
  });
});
