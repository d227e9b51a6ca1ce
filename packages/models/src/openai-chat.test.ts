import { CapstanError, type Json, type Message, type ModelEvent, type ModelRequest } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { fetchTransport } from "./fetch-transport.ts";
import { chatPresetFrom, type ChatPresetName, openaiChatFrom, type OpenAIChatOptions } from "./openai-chat.ts";
import { resolveModel } from "./resolve-model.ts";
import type { Transport } from "./transport.ts";
import {
  chatBytes,
  type ChatChunk,
  chatChunk,
  chatErrorBody,
  collectEvents,
  deltasOf,
  modelRequest,
  type OpenAIChatReply,
  type OpenAIChatServer,
  openaiChatServer,
  type OpenAIChatServerOptions,
  partsOf,
} from "./testing/index.ts";

const KEY = "sk-proj-0123456789-secret";
const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };
const HEAD = { id: "chatcmpl-0", model: "m", reasoning: "reasoning" } as const;

function user(text: string): Message {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}

function modelOf(server: OpenAIChatServer, options: OpenAIChatOptions = {}, modelId = "acme/large") {
  return openaiChatFrom({}, modelId, { name: "acme", baseUrl: `${server.url}/v1`, apiKey: KEY, ...options });
}

async function ask(
  reply: OpenAIChatReply,
  more: Partial<ModelRequest> = {},
  options?: OpenAIChatOptions,
  rules?: OpenAIChatServerOptions,
): Promise<ModelEvent[]> {
  await using server = await openaiChatServer([reply], rules);
  try {
    return await collectEvents(modelOf(server, options), modelRequest([user("Hello")], more));
  } finally {
    expect(server.violations).toEqual([]);
  }
}

async function refusalOf(reply: OpenAIChatReply, options?: OpenAIChatOptions): Promise<CapstanError> {
  const error: unknown = await ask(reply, {}, options).catch((caught: unknown) => caught);
  if (!CapstanError.is(error)) throw new Error(`no CapstanError: ${String(error)}`);
  return error;
}

/** What a server of this kind receives for a request with these settings. */
async function sentTo(
  name: ChatPresetName | "own",
  more: Partial<ModelRequest>,
  rules: OpenAIChatServerOptions = {},
  options: OpenAIChatOptions = {},
): Promise<{ readonly [name: string]: unknown }> {
  const members = ["reasoning", "thinking", "disable_reasoning", "chat_template_kwargs", "provider"];
  await using server = await openaiChatServer([{ text: "ok" }], { members, ...rules });
  const given = { apiKey: KEY, baseUrl: `${server.url}/v1`, ...options };
  const model = name === "own" ? openaiChatFrom({}, "acme/large", given) : chatPresetFrom(name, {}, "m", given);
  await collectEvents(model, modelRequest([user("Hello")], more));
  expect(server.violations).toEqual([]);
  const [request] = server.requests;
  return { ...request?.body, headers: request?.headers };
}

describe("openaiChat", () => {
  it("MODEL-04 streams text with its usage and reason", async () => {
    expect(await ask({ text: "Hi" })).toEqual([
      { type: "start", model: "acme/large", responseId: "chatcmpl-0" },
      { type: "block-start", index: 0, block: { type: "text" } },
      { type: "block-delta", index: 0, delta: "Hi" },
      { type: "block-end", index: 0, part: { type: "text", text: "Hi" } },
      {
        type: "finish",
        reason: "stop",
        rawReason: "stop",
        usage: { inputTokens: 21, outputTokens: 6, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
      },
    ]);
  });

  it("streams parallel calls with their ids and parsed inputs", async () => {
    const events = await ask({
      text: "Let me see.",
      calls: [
        { name: "weather", input: { city: "Köln" }, id: "call_a" },
        { name: "weather", id: "call_b" },
      ],
    });
    const call = { type: "tool-call", name: "weather", by: "capstan" };
    expect(partsOf(events).slice(1)).toEqual([
      { ...call, callId: "call_a", input: { city: "Köln" }, seal: { provider: "acme", data: { id: "call_a" } } },
      { ...call, callId: "call_b", input: {}, seal: { provider: "acme", data: { id: "call_b" } } },
    ]);
    expect(deltasOf(events, 1)).toBe('{"city":"Köln"}');
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls", rawReason: "tool_calls" });
  });

  for (const [finishReason, reason] of [
    ["stop", "stop"],
    ["tool_calls", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["error", "error"],
    ["insufficient_system_resource", "error"],
    ["something_new", "other"],
    ["toString", "other"],
  ] as const) {
    it(`LOOP-19 calls the finish reason ${finishReason} of a text ${reason}`, async () => {
      const events = await ask({ text: "x", finishReason });
      expect(events.at(-1)).toMatchObject({ type: "finish", reason, rawReason: finishReason });
    });
  }

  it("LOOP-19 says tool-calls wherever calls came, and keeps a length what it is", async () => {
    const calls = [{ name: "weather" }];
    for (const [finishReason, reason] of [
      ["stop", "tool-calls"],
      ["function_call", "tool-calls"],
      ["length", "length"],
      ["content_filter", "content-filter"],
    ] as const) {
      expect((await ask({ calls, finishReason })).at(-1)).toMatchObject({ reason });
    }
  });

  it("LOOP-19 shows a refusal as text and says refusal", async () => {
    const events = await ask({ refusal: "I cannot help with that." });
    expect(partsOf(events)).toEqual([{ type: "text", text: "I cannot help with that." }]);
    expect(events.at(-1)).toMatchObject({ reason: "refusal", rawReason: "stop" });
  });

  it("G25 hands out the raw text of an input that is not JSON", async () => {
    for (const json of ['{"city": "Kö', "nonsense", '{"a":1}}']) {
      expect(partsOf(await ask({ calls: [{ name: "weather", json }] }))).toMatchObject([{ input: json }]);
    }
    expect(partsOf(await ask({ calls: [{ name: "weather", json: " " }] }))).toMatchObject([{ input: {} }]);
  });

  it("reads an answer the same at every size of its pieces", async () => {
    const reply = {
      reasoning: "Grüße \u{1F600} über alles",
      text: 'Zeile\n"zwei" \u{1F680}, und noch eine, damit es mehrere Stücke gibt',
      calls: [{ name: "weather", input: { city: "東京", nested: [1, { a: null }] } }],
    } as const;
    const whole = await ask(reply);
    for (const chunkBytes of [1, 7, 100]) {
      const events = await ask({ ...reply, delivery: { chunkBytes } });
      expect(partsOf(events)).toEqual(partsOf(whole));
      expect([0, 1, 2].map((index) => deltasOf(events, index))).toEqual([0, 1, 2].map((at) => deltasOf(whole, at)));
      expect(events.at(-1)).toEqual(whole.at(-1));
    }
  });

  it("reads huge deltas and tool inputs", async () => {
    const long = "0123456789äöü\\\n".repeat(20_000);
    const events = await ask({ text: "", deltas: [long, long], calls: [{ name: "weather", input: { long } }] });
    expect(partsOf(events)).toMatchObject([{ text: long + long }, { input: { long } }]);
  });

  it("skips comments, and chunks and members that it does not know", async () => {
    const edit = (all: readonly ChatChunk[]): readonly ChatChunk[] =>
      all.flatMap((chunk) => [": OPENROUTER PROCESSING", { type: "brand_new", delta: { content: "no" } }, "7", chunk]);
    expect(partsOf(await ask({ text: "Hi there", edit }))).toEqual([{ type: "text", text: "Hi there" }]);
  });

  it("G25 finishes with a finish reason and the end of the body alone, and counts usage that comes in between", async () => {
    const edit = (all: readonly ChatChunk[]): readonly ChatChunk[] => all.filter((chunk) => chunk !== "[DONE]");
    const events = await ask({ text: "Hi", edit });
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "stop", usage: { outputTokens: 6 } });
  });

  it("G25 ends without finish when no finish reason came, also after [DONE]", async () => {
    const finishes = (chunk: ChatChunk): boolean => JSON.stringify(chunk).includes('"finish_reason":"stop"');
    for (const end of [["[DONE]"], []]) {
      const edit = (all: readonly ChatChunk[]): readonly ChatChunk[] => [
        ...all.slice(0, all.findIndex(finishes)),
        ...end,
      ];
      const events = await ask({ text: "Hello", edit });
      expect(deltasOf(events, 0)).toBe("Hello");
      expect(events.some(({ type }) => type === "finish" || type === "block-end")).toBe(false);
    }
  });

  it("G25 never finishes a broken connection, and never gives its calls", async () => {
    const calls = [{ name: "weather", input: { city: "Rome" } }];
    for (let cutAfterBytes = 0; cutAfterBytes < 1_000; cutAfterBytes += 100) {
      const events: ModelEvent[] = [];
      await using server = await openaiChatServer([{ calls, delivery: { cutAfterBytes } }]);
      const reading = (async () => {
        for await (const batch of modelOf(server).stream(modelRequest([user("Hello")]))) events.push(...batch);
      })();
      await expect(reading).rejects.toMatchObject({ code: "model-network", retryable: true });
      expect(events.some(({ type }) => type === "finish" || type === "block-end")).toBe(false);
    }
  });

  it("G25 refuses what breaks the protocol", async () => {
    const edits: ((all: readonly ChatChunk[]) => readonly ChatChunk[])[] = [
      (all) => [...all.slice(0, 2), '{"choices":[{"del', ...all.slice(2)],
      () => [],
      () => ["[DONE]"],
      (all) => all.map((chunk) => JSON.parse(JSON.stringify(chunk).replaceAll('"name":"weather",', "")) as ChatChunk),
    ];
    for (const edit of edits) {
      const error = await refusalOf({ calls: [{ name: "weather" }], edit });
      expect(error).toMatchObject({ code: "model-protocol", retryable: true, provider: "acme" });
    }
  });

  it("LOOP-29 throws the typed error of an error inside the stream", async () => {
    const choice = { index: 0, delta: { content: "" }, finish_reason: "error" };
    for (const [chunk, code, retryable] of [
      [{ error: { code: 429, message: "Busy" } }, "model-rate-limited", true],
      [{ id: "gen-1", error: { code: 502, message: "Busy" }, choices: [choice] }, "model-failed", true],
      [{ choices: [{ ...choice, error: { code: 402, message: "Busy" } }] }, "model-billing", false],
      [chatErrorBody("Busy", "server_error"), "model-failed", true],
      [{ error: "Busy" }, "model-failed", true],
      [{ object: "error", message: "Busy", type: "BadRequestError", code: 400 }, "model-invalid-request", false],
    ] as readonly (readonly [ChatChunk, string, boolean])[]) {
      const error = await refusalOf({ text: "Hello", edit: (all) => [...all.slice(0, 2), chunk, ...all.slice(2)] });
      expect(error).toMatchObject({ code, retryable, provider: "acme" });
      expect(error.message).toMatch(/^acme broke off the answer: Busy\. /);
    }
  });

  it("LOOP-29 types refusals and what is no event stream", async () => {
    const tooLong = chatErrorBody("Too long", "invalid_request_error", "context_length_exceeded");
    const noQuota = chatErrorBody("No", "insufficient_quota", "insufficient_quota");
    const noModel = chatErrorBody("The model x does not exist", "invalid_request_error", "model_not_found");
    const cases: readonly (readonly [OpenAIChatReply, object])[] = [
      [{ status: 400, body: tooLong }, { code: "model-context-exceeded" }],
      [{ status: 401 }, { code: "model-auth" }],
      [{ status: 404, body: noModel }, { code: "model-not-found" }],
      [
        { status: 429, body: noQuota },
        { code: "model-billing", retryable: false },
      ],
      [
        { status: 429, headers: { "retry-after": "2" } },
        { code: "model-rate-limited", retryAfterMs: 2000 },
      ],
      [{ status: 503 }, { code: "model-overloaded", retryable: true }],
      [
        { status: 200, body: { error: { code: 502, message: "no" } } },
        { code: "model-failed", retryable: true },
      ],
      [
        { status: 200, body: "" },
        { code: "model-protocol", retryable: true },
      ],
      [{ status: 200, headers: { "content-type": "text/html" }, body: "<html>" }, { code: "model-protocol" }],
      [
        { status: 200, body: { choices: [] } },
        { code: "model-protocol", retryable: false },
      ],
    ];
    for (const [reply, expected] of cases) expect(await refusalOf(reply)).toMatchObject(expected);
  });

  it("stops at once when aborted in the middle, and throws the reason", async () => {
    const release = Promise.withResolvers<void>();
    const controller = new AbortController();
    const delivery = { stall: { afterBytes: 500, until: release.promise } };
    await using server = await openaiChatServer([{ text: "Hello world, how are you?", delivery }]);
    const reading = (async () => {
      const request = modelRequest([user("Hello")], { signal: controller.signal });
      for await (const _batch of modelOf(server).stream(request)) controller.abort(new Error("stop"));
    })();
    await expect(reading).rejects.toThrow("stop");
    release.resolve();
  });

  it("MODEL-06 works over fetch too, and gives its connection back after every answer", async () => {
    expect(partsOf(await ask({ text: "Hi" }, {}, { transport: fetchTransport() }))).toHaveLength(1);
    await using server = await openaiChatServer(() => ({ text: "ok" }));
    const model = modelOf(server);
    for (let turn = 0; turn < 3; turn++) {
      for await (const batch of model.stream(modelRequest([user("Hello")]))) if (batch.at(-1)?.type === "finish") break;
    }
    expect(server.connections).toBe(1);
  });

  it("ends with [DONE] when the connection stays open after it", async () => {
    const whole = chatBytes([chatChunk(HEAD, { content: "Hi" }), chatChunk(HEAD, {}, "stop"), "[DONE]"]);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield whole;
      await new Promise(() => {});
    }
    const transport: Transport = async () => ({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      chunks: chunks(),
    });
    const model = openaiChatFrom({}, "m", { baseUrl: "http://127.0.0.1:1/v1", transport });
    expect((await collectEvents(model, modelRequest([user("Hello")]))).at(-1)).toMatchObject({ type: "finish" });
  });
});

describe("openaiChat's endpoint and key", () => {
  it("MODEL-04 sends the key under the given header and scheme", async () => {
    for (const [authHeader, name, value] of [
      [undefined, "authorization", `Bearer ${KEY}`],
      [{ name: "Authorization", scheme: "Token" }, "authorization", `Token ${KEY}`],
      [{ name: "api-key" }, "api-key", KEY],
      [{ name: "X-Auth", scheme: "Key" }, "x-auth", `Key ${KEY}`],
    ] as const) {
      const { headers } = await sentTo("own", {}, { auth: "none" }, authHeader === undefined ? {} : { authHeader });
      expect(Object(headers)[name]).toBe(value);
      if (name !== "authorization") expect(Object(headers)["authorization"]).toBeUndefined();
    }
    for (const authHeader of [{ name: "" }, { name: "a b" }, { name: "x", scheme: "a b" }, { name: "x\r\ny" }]) {
      const make = (): unknown => openaiChatFrom({}, "m", { baseUrl: "http://x/v1", apiKey: KEY, authHeader });
      expect(make).toThrow(expect.objectContaining({ code: "config-invalid" }));
    }
  });

  it("MODEL-04 MODEL-17 sends own headers, and an extra body last", async () => {
    const body = await sentTo(
      "own",
      { settings: { extraBody: { top_p: 0.5, provider: { only: ["b"] } } } },
      {},
      { headers: { "X-Own": "1" }, extraBody: { provider: { only: ["a"] }, user: "u", stream: false } },
    );
    expect(body).toMatchObject({
      model: "acme/large",
      stream: true,
      top_p: 0.5,
      user: "u",
      provider: { only: ["b"] },
      headers: { "x-own": "1" },
    });
  });

  it("MODEL-06 asks OpenAI when nothing else is named, with the variables of the environment", () => {
    const env = { OPENAI_API_KEY: KEY, OPENAI_MODEL: "gpt-6-astra" };
    expect(openaiChatFrom(env).id).toBe("openai-chat/gpt-6-astra");
    expect(openaiChatFrom(env, "gpt-x").capabilities).toMatchObject({ images: true, structured: true });
    expect(() => openaiChatFrom({}, "gpt-x")).toThrow(
      expect.objectContaining({ code: "model-key-missing", message: expect.stringContaining("OPENAI_API_KEY") }),
    );
    expect(() => openaiChatFrom({ OPENAI_API_KEY: KEY })).toThrow(
      expect.objectContaining({ code: "config-invalid", message: expect.stringContaining("OPENAI_MODEL") }),
    );
    for (const options of [{ baseUrl: "nonsense" }, { name: "a/b", baseUrl: "http://x/v1" }]) {
      expect(() => openaiChatFrom({}, "m", options)).toThrow(expect.objectContaining({ code: "config-invalid" }));
    }
  });

  it("MODEL-06 speaks OpenAI's own dialect at its address only", async () => {
    const bodyAt = async (baseUrl: string, modelId = "gpt-5.5"): Promise<{ readonly [name: string]: unknown }> => {
      let sent: unknown;
      const transport: Transport = async ({ body, url }) => {
        sent = { ...JSON.parse([body].flat().join("")), url };
        throw new Error("enough");
      };
      const model = openaiChatFrom({ OPENAI_BASE_URL: baseUrl }, modelId, { apiKey: KEY, transport });
      const settings = { maxOutputTokens: 9, temperature: 0.5 };
      await expect(collectEvents(model, modelRequest([user("Hello")], { settings }))).rejects.toThrow("enough");
      return Object(sent);
    };
    const own = await bodyAt("https://eu.api.openai.com/v1");
    expect(own).toMatchObject({ url: "https://eu.api.openai.com/v1/chat/completions", max_completion_tokens: 9 });
    expect([own["messages"], own["temperature"]]).toMatchObject([[{ role: "developer" }, {}], undefined]);
    expect(await bodyAt("https://api.openai.com/v1", "gpt-4o")).toMatchObject({ temperature: 0.5 });
    const other = await bodyAt("https://api.openai.com.evil.example/v1");
    expect(other).toMatchObject({ max_tokens: 9, temperature: 0.5, messages: [{ role: "system" }, {}] });
  });

  it("G23 never sends the environment's key to an endpoint of the caller's own", async () => {
    await using server = await openaiChatServer([{ text: "ok" }], { auth: "none" });
    const model = openaiChatFrom({ OPENAI_API_KEY: KEY }, "m", { baseUrl: `${server.url}/v1` });
    await collectEvents(model, modelRequest([user("Hello")]));
    expect(JSON.stringify(server.requests[0]?.headers)).not.toContain(KEY);
  });

  it("MODEL-09 asks for the key before every call and once more after a 401", async () => {
    const asked: boolean[] = [];
    await using server = await openaiChatServer(({ headers }) =>
      headers["authorization"] === "Bearer fresh-key" ? { text: "ok" } : { status: 401 },
    );
    const apiKey = async ({ rejected }: { readonly rejected: boolean }): Promise<string> => {
      asked.push(rejected);
      return rejected ? "fresh-key" : "stale-key";
    };
    expect(partsOf(await collectEvents(modelOf(server, { apiKey }), modelRequest([user("Hello")])))).toHaveLength(1);
    expect(asked).toEqual([false, true]);
  });

  it("G23 has the key in no error, wherever it came from and also when the server repeats it", async () => {
    const opaque = "opaquetoken123";
    const given: readonly OpenAIChatOptions[] = [
      { apiKey: opaque },
      { apiKey: opaque, authHeader: { name: "api-key" } },
      { headers: { authorization: `Bearer ${opaque}` } },
      { headers: { "Api-Key": opaque }, authHeader: { name: "api-key" } },
    ];
    for (const options of given) {
      for (const said of [`bad key ${opaque}`, `Authorization: Bearer ${opaque}`]) {
        const body = chatErrorBody(said, "invalid_request_error");
        await using server = await openaiChatServer(
          (_request, index) =>
            index === 0
              ? { status: 403, headers: { "x-echo": opaque }, body }
              : { text: "x", edit: ([first = ""]) => [first, Object(body)] },
          { auth: "none" },
        );
        const model = modelOf(server, options);
        for (let call = 0; call < 2; call++) {
          const error: unknown = await collectEvents(model, modelRequest([user("Hello")])).catch((e: unknown) => e);
          expect(CapstanError.is(error)).toBe(true);
          expect(JSON.stringify([error, String(error), String(Object(error).cause)])).not.toContain(opaque);
        }
      }
    }
  });
});

describe("openaiChat's request", () => {
  it("MODEL-18 sends the tool choice", async () => {
    const choice = async (settings: ModelRequest["settings"], tools = [WEATHER]): Promise<unknown> => {
      const { tool_choice: sent, parallel_tool_calls: parallel } = await sentTo("own", { tools, settings });
      return [sent, parallel];
    };
    expect(await choice({})).toEqual([undefined, undefined]);
    expect(await choice({ toolChoice: "required" })).toEqual(["required", undefined]);
    const named = { type: "function", function: { name: "weather" } };
    expect(await choice({ toolChoice: { tool: "weather" } })).toEqual([named, undefined]);
    expect(await choice({ parallel: false })).toEqual([undefined, false]);
    expect(await choice({ toolChoice: "required", parallel: false }, [])).toEqual([undefined, undefined]);
  });

  it("OUT-01 sends an output schema, strict where schema and server allow it", async () => {
    const closed: Json = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const open: Json = { type: "object", properties: { a: { type: "string" } } };
    const formatOf = async (name: ChatPresetName, outputSchema: Json): Promise<unknown> =>
      (await sentTo(name, { settings: { outputSchema } }))["response_format"];
    const json_schema = { name: "output", schema: closed };
    expect(await formatOf("cerebras", closed)).toEqual({
      type: "json_schema",
      json_schema: { ...json_schema, strict: true },
    });
    expect(await formatOf("cerebras", open)).toEqual({
      type: "json_schema",
      json_schema: { ...json_schema, schema: open },
    });
    expect(await formatOf("groq", closed)).toEqual({ type: "json_schema", json_schema });
    expect(await formatOf("deepseek", closed)).toBeUndefined();
    const structured = (name: ChatPresetName): unknown =>
      chatPresetFrom(name, {}, "m", { apiKey: KEY }).capabilities.structured;
    expect([structured("deepseek"), structured("vllm")]).toEqual([false, undefined]); // not known of every model there
  });

  it("MODEL-06 sends limits under the server's own name, and asks for usage where that is known", async () => {
    for (const [name, member, usage] of [
      ["own", "max_tokens", true],
      ["openrouter", "max_tokens", false],
      ["cerebras", "max_completion_tokens", true],
      ["groq", "max_completion_tokens", true],
      ["vllm", "max_tokens", true],
    ] as const) {
      const body = await sentTo(name, {}, {}, { maxOutputTokens: 77 });
      expect([body[member], body["stream_options"]]).toEqual([77, usage ? { include_usage: true } : undefined]);
      expect(await sentTo(name, { settings: { maxOutputTokens: 5 } }, {}, { maxOutputTokens: 77 })).toMatchObject({
        [member]: 5,
      });
    }
  });

  const wishes: readonly (readonly [
    ChatPresetName | "own",
    NonNullable<ModelRequest["settings"]["reasoning"]>,
    object,
  ])[] = [
    ["own", "off", { reasoning_effort: "none" }],
    ["own", "medium", { reasoning_effort: "medium" }],
    ["own", "adaptive", {}],
    ["own", { budgetTokens: 30_000 }, { reasoning_effort: "high" }],
    ["openrouter", "off", { reasoning: { effort: "none" } }],
    ["openrouter", "high", { reasoning: { effort: "high" } }],
    ["openrouter", "adaptive", { reasoning: { enabled: true } }],
    ["openrouter", { budgetTokens: 2_000 }, { reasoning: { max_tokens: 2_000 } }],
    ["cerebras", "off", { disable_reasoning: true }],
    ["cerebras", "low", { reasoning_effort: "low" }],
    ["deepseek", "off", { thinking: { type: "disabled" } }],
    ["deepseek", "high", { thinking: { type: "enabled" }, reasoning_effort: "high" }],
    ["vllm", "off", { chat_template_kwargs: { enable_thinking: false, thinking: false } }],
    [
      "vllm",
      { budgetTokens: 100 },
      { chat_template_kwargs: { enable_thinking: true, thinking: true }, reasoning_effort: "low" },
    ],
    ["ollama", "off", { reasoning_effort: "none" }],
  ];
  for (const [name, reasoning, expected] of wishes) {
    it(`MODEL-14 asks ${name} for reasoning ${JSON.stringify(reasoning)}`, async () => {
      const {
        model: _model,
        stream: _stream,
        stream_options: _options,
        messages: _messages,
        headers: _headers,
        ...sent
      } = await sentTo(name, { settings: { reasoning } });
      expect(sent).toEqual(expected);
    });
  }

  it("refuses a conversation with nothing to say", async () => {
    await using server = await openaiChatServer([]);
    const reading = collectEvents(modelOf(server), modelRequest([user(" \n ")]));
    await expect(reading).rejects.toMatchObject({ code: "model-invalid-request" });
    expect(server.requests).toEqual([]);
  });
});

describe("the presets", () => {
  it("MODEL-05 have their names, addresses and variables", async () => {
    const addresses: [string, string][] = [];
    for (const name of ["openrouter", "cerebras", "groq", "deepseek", "ollama", "vllm"] as const) {
      const upper = name.toUpperCase();
      const transport: Transport = async ({ url, headers }) => {
        addresses.push([url, headers["authorization"] ?? ""]);
        throw new Error("enough");
      };
      const env = { [`${upper}_API_KEY`]: `${name}-key`, [`${upper}_MODEL`]: "from-env" };
      const model = chatPresetFrom(name, env, undefined, { transport });
      expect(model.id).toBe(`${name}/from-env`);
      await expect(collectEvents(model, modelRequest([user("Hello")]))).rejects.toThrow("enough");
      expect(() => chatPresetFrom(name, { [`${upper}_API_KEY`]: "k" })).toThrow(
        expect.objectContaining({ code: "config-invalid", message: expect.stringContaining(`${upper}_MODEL`) }),
      );
      if (name === "ollama" || name === "vllm") continue;
      expect(() => chatPresetFrom(name, {}, "m")).toThrow(
        expect.objectContaining({ code: "model-key-missing", message: expect.stringContaining(`${upper}_API_KEY`) }),
      );
    }
    expect(addresses).toEqual([
      ["https://openrouter.ai/api/v1/chat/completions", "Bearer openrouter-key"],
      ["https://api.cerebras.ai/v1/chat/completions", "Bearer cerebras-key"],
      ["https://api.groq.com/openai/v1/chat/completions", "Bearer groq-key"],
      ["https://api.deepseek.com/chat/completions", "Bearer deepseek-key"],
      ["http://127.0.0.1:11434/v1/chat/completions", ""],
      ["http://127.0.0.1:8000/v1/chat/completions", "Bearer vllm-key"],
    ]);
  });

  it("MODEL-05 MODEL-06 take model and address from their own variables", async () => {
    for (const name of ["openrouter", "cerebras", "groq", "deepseek", "ollama", "vllm"] as const) {
      await using server = await openaiChatServer([{ text: "ok" }], { auth: "none" });
      const upper = name.toUpperCase();
      const env = {
        [`${upper}_API_KEY`]: "test-key-1",
        [`${upper}_BASE_URL`]: `${server.url}/v1`,
        [`${upper}_MODEL`]: "own/model",
      };
      const model = chatPresetFrom(name, env);
      await collectEvents(model, modelRequest([user("Hello")]));
      expect([model.id, server.requests[0]?.body["model"]]).toEqual([`${name}/own/model`, "own/model"]);
    }
  });

  it("MODEL-05 are found by the first part of a model's name", async () => {
    const env = { OPENROUTER_API_KEY: "k", OPENAI_API_KEY: "k" };
    const names = ["openrouter/anthropic/claude-sonnet-5-5", "openai-chat/gpt-x", "ollama/qwen3:8b", "vllm/org/model"];
    for (const name of names) expect((await resolveModel(name, env)).id).toBe(name);
    await expect(resolveModel("cerebras/x", env)).rejects.toMatchObject({ code: "model-key-missing" });
  });
});

describe("openaiChat's usage", () => {
  async function usageOf(usage: object, options: OpenAIChatOptions = {}): Promise<unknown> {
    const edit = (all: readonly ChatChunk[]): readonly ChatChunk[] =>
      all.map((chunk) => (typeof chunk === "object" && "usage" in chunk ? { ...chunk, usage } : chunk));
    return Object((await ask({ text: "x", edit }, {}, options)).at(-1)).usage;
  }

  it("COST-04 counts cached tokens beside the input, whatever the server calls them", async () => {
    const details = { cached_tokens: 60, cache_write_tokens: 30 };
    const openai = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: details };
    const counts = { inputTokens: 10, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 30 };
    expect(await usageOf(openai)).toEqual(counts);
    expect(await usageOf({ ...openai, completion_tokens_details: { reasoning_tokens: 5 } })).toEqual({
      ...counts,
      reasoningTokens: 5,
    });
    const deepseek = { prompt_tokens: 100, completion_tokens: 7, prompt_cache_hit_tokens: 64 };
    expect(await usageOf(deepseek)).toEqual({ inputTokens: 36, outputTokens: 7, cacheReadTokens: 64 });
    const odd = { prompt_tokens: 5, completion_tokens: "many", prompt_tokens_details: { cached_tokens: 9 } };
    expect(await usageOf(odd)).toEqual({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 9 });
  });

  it("COST-06 takes the cost that OpenRouter says, rounded up, else the price", async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, cost: 0.0012345678, is_byok: false };
    const costOf = async (told: object, options: OpenAIChatOptions): Promise<unknown> =>
      Object(await usageOf(told, options)).costMicroUsd;
    const price = { input: 1, output: 4 };
    const dialect = { costInUsage: true };
    expect(await costOf(usage, { dialect, price })).toBe(1235);
    const own = { ...usage, is_byok: true, cost: 0.00005, cost_details: { upstream_inference_cost: 0.001 } };
    expect(await costOf(own, { dialect })).toBe(1050);
    expect(await costOf({ ...usage, cost: null }, { dialect, price })).toBe(140);
    expect(await costOf(usage, { price })).toBe(140);
    expect(await costOf(usage, {})).toBeUndefined();
  });

  it("COST-06 takes the cost over the whole way from OpenRouter", async () => {
    await using server = await openaiChatServer([{ text: "ok" }], { cost: 0.25 });
    const options = { apiKey: KEY, baseUrl: `${server.url}/v1` };
    const events = await collectEvents(chatPresetFrom("openrouter", {}, "m", options), modelRequest([user("Hello")]));
    expect(events.at(-1)).toMatchObject({ usage: { costMicroUsd: 250_000 } });
  });
});
