import {
  CapstanError,
  type Json,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type ModelSettings,
  type Part,
} from "@capstan/core";
import { describe, expect, it } from "vitest";
import { fetchTransport } from "./fetch-transport.ts";
import { geminiFrom, type GeminiOptions } from "./gemini.ts";
import {
  collectEvents,
  deltasOf,
  type GeminiChunk,
  geminiError,
  type GeminiReply,
  type GeminiServer,
  geminiServer,
  modelRequest,
  partsOf,
} from "./testing/index.ts";
import type { Transport } from "./transport.ts";

const KEY = "AIzaSyA0123456789-secret-key-of-a-test";
const MODEL = "gemini-3.8-flash";

function modelOf(server: GeminiServer, options: GeminiOptions = {}, modelId = MODEL) {
  return geminiFrom({ GEMINI_API_KEY: KEY, GEMINI_BASE_URL: server.url }, modelId, options);
}

function user(text: string): Message {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}

async function ask(
  reply: GeminiReply,
  more: Partial<ModelRequest> = {},
  options?: GeminiOptions,
): Promise<ModelEvent[]> {
  await using server = await geminiServer([reply]);
  try {
    return await collectEvents(modelOf(server, options), modelRequest([user("Hello")], more));
  } finally {
    expect(server.violations).toEqual([]);
  }
}

async function refusalOf(reply: GeminiReply, options?: GeminiOptions): Promise<CapstanError> {
  const error: unknown = await ask(reply, {}, options).catch((caught: unknown) => caught);
  if (!CapstanError.is(error)) throw new Error(`no CapstanError: ${String(error)}`);
  return error;
}

/** The members of the body that a request with these settings makes, and its headers and path. */
async function bodyOf(more: Partial<ModelRequest>, options?: GeminiOptions, modelId?: string) {
  await using server = await geminiServer([{ parts: [{ text: "ok" }] }]);
  await collectEvents(modelOf(server, options, modelId), modelRequest([user("Hello")], more));
  expect(server.violations).toEqual([]);
  const [request] = server.requests;
  if (request === undefined) throw new Error("no request came");
  return { ...request.body, headers: request.headers, path: request.path };
}

const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };

function seal(data: { readonly [name: string]: Json }) {
  return { provider: "gemini", data: { ...data, model: MODEL } };
}

describe("gemini", () => {
  it("MODEL-02 streams text with its usage and reason", async () => {
    expect(await ask({ parts: [{ text: "Hi", deltas: ["H", "i"] }] }, {}, { price: { input: 1, output: 2 } })).toEqual([
      { type: "start", model: MODEL, responseId: "resp_0" },
      { type: "block-start", index: 0, block: { type: "text" } },
      { type: "block-delta", index: 0, delta: "Hi" },
      { type: "block-end", index: 0, part: { type: "text", text: "Hi" } },
      {
        type: "finish",
        reason: "stop",
        rawReason: "STOP",
        usage: { inputTokens: 20, outputTokens: 10, cacheReadTokens: 0, costMicroUsd: 40 },
      },
    ]);
  });

  it("COST-04 counts cached tokens apart, and thoughts as part of the output", async () => {
    const usage = {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 900,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 1_055,
    };
    const events = await ask({ parts: [{ text: "a", deltas: ["a", "b", "c"] }], usage });
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 105, outputTokens: 50, cacheReadTokens: 900, reasoningTokens: 30 },
    });
  });

  it("MODEL-16 keeps every signature with the piece it came with", async () => {
    const parts = partsOf(
      await ask({
        parts: [
          { text: "Think.", deltas: ["Th", "ink."], thought: true, thoughtSignature: "s1" },
          { text: "Let me look.", deltas: ["Let me", " look."], thoughtSignature: "s2" },
          { text: " More." },
          { functionCall: { id: "fc1", name: "weather", args: { city: "Köln" } }, thoughtSignature: "s3" },
          { functionCall: { name: "weather" } },
          { text: "", thoughtSignature: "s4" },
        ],
      }),
    );
    const call = { type: "tool-call", name: "weather", by: "capstan" };
    expect(parts).toEqual([
      { type: "reasoning", text: "Think.", seal: seal({ signature: "s1", tail: 4 }) },
      { type: "text", text: "Let me look." },
      { type: "opaque", seal: seal({ signature: "s2", tail: 6 }) },
      { type: "text", text: " More." },
      { ...call, callId: "fc1", input: { city: "Köln" }, seal: seal({ id: "fc1", signature: "s3" }) },
      { ...call, callId: "call_1", input: {}, seal: seal({}) },
      { type: "opaque", seal: seal({ signature: "s4", tail: 0 }) },
    ]);
  });

  it("MODEL-16 sends an answer back part by part as it came", async () => {
    const first: GeminiReply = {
      parts: [
        { text: "Think.", deltas: ["Th", "ink."], thought: true, thoughtSignature: "s1" },
        { text: "Unsigned.", thought: true },
        { text: "Let me look.", deltas: ["Let me", " look."], thoughtSignature: "s2" },
        { raw: { executableCode: { language: "PYTHON", code: "1+1" }, thoughtSignature: "s3" } },
        { raw: { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2" } } },
        { raw: { inlineData: { mimeType: "image/png", data: "aGk=" }, thoughtSignature: "s4" } },
        { functionCall: { id: "fc1", name: "weather", args: { a: 1 } }, thoughtSignature: "s5" },
        { functionCall: { id: "fc2", name: "weather", args: {} } },
        { text: "", thoughtSignature: "s6" },
      ],
    };
    await using server = await geminiServer([first, { parts: [{ text: "ok" }] }]);
    const model = modelOf(server);
    const parts = partsOf(await collectEvents(model, modelRequest([user("Hello")]))).map((part, index): Part =>
      part.type === "tool-call" ? { ...part, callId: `run/1/${index}` } : part,
    );
    const results = parts.flatMap((part): Part[] =>
      part.type === "tool-call"
        ? [
            {
              type: "tool-result",
              callId: part.callId,
              name: part.name,
              output: { content: [{ type: "text", text: "x" }] },
            },
          ]
        : [],
    );
    const history: Message[] = [
      user("Hello"),
      { id: "a", role: "assistant", parts },
      { id: "r", role: "user", parts: results },
    ];
    await collectEvents(model, modelRequest(history));
    expect(server.violations).toEqual([]);
    const response = (id: string): object => ({ functionResponse: { id, name: "weather", response: { output: "x" } } });
    expect(server.requests[1]?.body["contents"]).toEqual([
      { role: "user", parts: [{ text: "Hello" }] },
      {
        role: "model",
        parts: [
          { text: "Th", thought: true },
          { text: "ink.", thought: true, thoughtSignature: "s1" },
          { text: "Let me" },
          { text: " look.", thoughtSignature: "s2" },
          { executableCode: { language: "PYTHON", code: "1+1" }, thoughtSignature: "s3" },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2" } },
          { inlineData: { mimeType: "image/png", data: "aGk=" }, thoughtSignature: "s4" },
          { functionCall: { id: "fc1", name: "weather", args: { a: 1 } }, thoughtSignature: "s5" },
          { functionCall: { id: "fc2", name: "weather", args: {} } },
          { text: "", thoughtSignature: "s6" },
        ],
      },
      { role: "user", parts: [response("fc1"), response("fc2")] },
    ]);
  });

  for (const [finishReason, reason] of [
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["IMAGE_SAFETY", "content-filter"],
    ["IMAGE_RECITATION", "content-filter"],
    ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
    ["PROHIBITED_CONTENT", "refusal"],
    ["SPII", "refusal"],
    ["BLOCKLIST", "refusal"],
    ["CONTINUATION", "paused"],
    ["LANGUAGE", "other"],
    ["OTHER", "other"],
    ["FINISH_REASON_UNSPECIFIED", "other"],
    ["NO_IMAGE", "other"],
    ["SOMETHING_NEW", "other"],
    ["toString", "other"],
  ]) {
    it(`LOOP-19 calls the finish reason ${finishReason} ${reason}`, async () => {
      const events = await ask({ parts: [{ text: "x" }], finishReason: finishReason ?? "" });
      expect(events.at(-1)).toMatchObject({ type: "finish", reason, rawReason: finishReason });
    });
  }

  for (const finishReason of [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
  ]) {
    it(`LOOP-19 LOOP-29 throws what may be tried again for ${finishReason}`, async () => {
      const candidate = { finishMessage: "Malformed function call: secret_argument" };
      const error = await refusalOf({ parts: [{ text: "x" }], finishReason, candidate });
      expect(error).toMatchObject({ code: "model-failed", retryable: true, provider: "gemini" });
      expect(error.message).toBe(`Gemini could not finish its answer (${finishReason}). Try again.`);
    });
  }

  it("LOOP-19 keeps a limit that was reached apart from calls", async () => {
    const events = await ask({ parts: [{ functionCall: { name: "weather" } }], finishReason: "MAX_TOKENS" });
    expect(events.at(-1)).toMatchObject({ reason: "length" });
  });

  it("LOOP-19 calls a blocked prompt a refusal", async () => {
    const reply: GeminiReply = {
      parts: [],
      edit: () => [
        {
          promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
          usageMetadata: { promptTokenCount: 7 },
          modelVersion: MODEL,
        },
      ],
    };
    const events = await ask(reply, {}, { price: { input: 1, output: 1 } });
    expect(events).toEqual([
      { type: "start", model: MODEL },
      {
        type: "finish",
        reason: "refusal",
        rawReason: "PROHIBITED_CONTENT",
        usage: { inputTokens: 7, outputTokens: 0, cacheReadTokens: 0, costMicroUsd: 7 },
      },
    ]);
  });

  it("LOOP-20 continues a broken answer with its token and the request that it answered", async () => {
    const reply = (text: string, token: string): GeminiReply => ({
      parts: [{ text }],
      finishReason: "CONTINUATION",
      candidate: { continuationToken: token },
    });
    await using server = await geminiServer([
      reply("A", "t1"),
      reply("B", "t2"),
      { parts: [{ text: "C" }] },
      { parts: [] },
    ]);
    const model = modelOf(server);
    const history = [user("Hello")];
    for (const id of ["a", "b", "c"]) {
      const parts = partsOf(await collectEvents(model, modelRequest([...history])));
      history.push({ id, role: "assistant", parts });
    }
    await collectEvents(model, modelRequest([...history, user("More")]));
    expect(server.violations).toEqual([]);
    const sent = server.requests.map(({ body }) => [body["continuationToken"], body["contents"]]);
    const hello = { role: "user", parts: [{ text: "Hello" }] };
    expect(sent).toEqual([
      [undefined, [hello]],
      ["t1", [hello]],
      ["t2", [hello]],
      [
        undefined,
        [
          hello,
          { role: "model", parts: [{ text: "A" }, { text: "B" }, { text: "C" }] },
          { role: "user", parts: [{ text: "More" }] },
        ],
      ],
    ]);
  });

  it("G25 finishes an answer without content", async () => {
    expect((await ask({ parts: [] })).map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  it("reads an answer the same at every size of its pieces", async () => {
    const parts: GeminiReply = {
      parts: [
        { text: "Grüße \u{1F600}", deltas: ["Grü", "ße ", "\u{1F600}"], thought: true },
        { text: 'Zeile "zwei" \u{1F680}\n.', deltas: ["Zeile", ' "zwei" ', "\u{1F680}", "\n", "."] },
        { functionCall: { name: "weather", args: { city: "東京", nested: [1, { a: null }] } } },
      ],
    };
    const whole = await ask(parts);
    expect(partsOf(whole)).toMatchObject([
      { text: "Grüße \u{1F600}" },
      { text: 'Zeile "zwei" \u{1F680}\n.' },
      { input: { city: "東京", nested: [1, { a: null }] } },
    ]);
    for (const chunkBytes of [1, 7, 100]) {
      const events = await ask({ ...parts, delivery: { chunkBytes } });
      expect(partsOf(events)).toEqual(partsOf(whole));
      expect([0, 1, 2].map((index) => deltasOf(events, index))).toEqual(
        [0, 1, 2].map((index) => deltasOf(whole, index)),
      );
      expect(events.at(-1)).toEqual(whole.at(-1));
    }
  });

  it("reads huge deltas and inputs", async () => {
    const long = "0123456789äöü\\\n".repeat(40_000);
    const events = await ask({ parts: [{ text: long }, { functionCall: { name: "weather", args: { long } } }] });
    expect(partsOf(events)).toMatchObject([{ text: long }, { input: { long } }]);
  });

  it("skips keep-alives, other candidates, and fields and chunks that it does not know", async () => {
    const events = await ask({
      parts: [{ text: "Hi", deltas: ["H", "i"] }],
      edit: (all) => [
        ": keep-alive\r\n\r\n",
        'event: brand_new\ndata: {"x":1}\n\n',
        ...all.flatMap((chunk): (GeminiChunk | string)[] => [
          { ...chunk, createTime: "now", sideBand: { error: "no" } },
          { candidates: [{ index: 1, content: { parts: [{ text: "other" }] }, finishReason: "STOP" }] },
        ]),
        "data: [DONE]\n\n",
      ],
    });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hi" }]);
    expect(events.at(-1)).toMatchObject({ reason: "stop" });
  });

  it("takes the last word of a server that repeats the finish reason", async () => {
    const stop = (chunk: GeminiChunk): GeminiChunk => {
      const [candidate] = chunk["candidates"] as readonly object[]; // the server made it
      return { ...chunk, candidates: [{ ...candidate, finishReason: "STOP" }] };
    };
    const events = await ask({ parts: [{ text: "abc", deltas: ["a", "b", "c"] }], edit: (all) => all.map(stop) });
    expect(partsOf(events)).toEqual([{ type: "text", text: "abc" }]);
    expect(events.at(-1)).toMatchObject({ type: "finish", usage: { outputTokens: 10 } });
  });

  it("G25 hands on an input that is no object, so that the call is refused", async () => {
    for (const args of ["text", [1], 5]) {
      expect(partsOf(await ask({ parts: [{ functionCall: { name: "weather", args } }] }))).toMatchObject([
        { input: args },
      ]);
    }
  });

  it("G25 refuses a call that comes in pieces", async () => {
    const call = { functionCall: { name: "weather", willContinue: true, partialArgs: [] } };
    expect(await refusalOf({ parts: [{ raw: call }] })).toMatchObject({ code: "model-protocol", retryable: false });
  });

  it("G25 ends without finish when the stream ends early", async () => {
    for (let kept = 1; kept <= 4; kept++) {
      const events = await ask({
        parts: [{ text: "abc", deltas: ["a", "b"] }, { functionCall: { name: "weather" } }, { text: "d" }],
        edit: (all) => all.slice(0, kept),
      });
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 throws and never finishes wherever the connection breaks", async () => {
    const parts = [{ text: "Hello" }, { functionCall: { name: "weather", args: { city: "Rome" } } }] as const;
    for (let cutAfterBytes = 0; cutAfterBytes < 650; cutAfterBytes += 50) {
      const events: ModelEvent[] = [];
      await using server = await geminiServer([{ parts, delivery: { cutAfterBytes } }]);
      const reading = (async () => {
        for await (const batch of modelOf(server).stream(modelRequest([user("Hello")]))) events.push(...batch);
      })();
      await expect(reading).rejects.toMatchObject({ code: "model-network", retryable: true });
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 LOOP-29 throws the typed error of an error inside of a stream, framed or bare", async () => {
    for (const [status, code] of [
      [503, "model-overloaded"],
      [429, "model-rate-limited"],
      [500, "model-failed"],
      [400, "model-invalid-request"],
    ] as const) {
      const bare = JSON.stringify(geminiError(status, "It broke"), undefined, 2);
      for (const last of [geminiError(status, "It broke") as GeminiChunk, bare, `[${bare}]\n`]) {
        for (const chunkBytes of [1, 10_000]) {
          const error = await refusalOf({
            parts: [{ text: "Hello" }, { text: "x" }],
            edit: (all) => [...all.slice(0, 2), last],
            delivery: { chunkBytes },
          });
          expect(error.code).toBe(code);
          expect(error.message).toMatch(/^Gemini broke off the answer: It broke\. /);
        }
      }
    }
  });

  it("G25 refuses a chunk that is not JSON", async () => {
    const edit = (all: readonly GeminiChunk[]): (GeminiChunk | string)[] => ['data: {"candidates":[{"con\n\n', ...all];
    expect(await refusalOf({ parts: [{ text: "x" }], edit })).toMatchObject({
      code: "model-protocol",
      retryable: true,
    });
  });

  it("refuses what is no event stream", async () => {
    const cases: readonly (readonly [GeminiReply, object])[] = [
      [
        { status: 200, headers: { "content-type": "text/html" }, body: "<html>Welcome</html>" },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: '[{"candidates":[]}]' },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: "" },
        { code: "model-protocol", retryable: true },
      ],
      [
        { status: 200, body: [geminiError(503, "Busy")] },
        { code: "model-overloaded", retryable: true },
      ],
      [
        { parts: [], edit: () => [] },
        { code: "model-protocol", retryable: true },
      ],
    ];
    for (const [reply, expected] of cases) expect(await refusalOf(reply)).toMatchObject(expected);
  });

  for (const [status, message, code, retryable] of [
    [400, "API key not valid. Please pass a valid API key.", "model-auth", false],
    [
      400,
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      "model-context-exceeded",
      false,
    ],
    [400, "Please use a valid role: user, model.", "model-invalid-request", false],
    [403, "Permission denied", "model-auth", false],
    [404, "models/gemini-9 is not found for API version v1beta", "model-not-found", false],
    [429, "Resource has been exhausted (e.g. check quota).", "model-rate-limited", true],
    [500, "An internal error has occurred.", "model-failed", true],
    [503, "The model is overloaded. Please try again later.", "model-overloaded", true],
    [504, "Deadline expired before operation could complete.", "model-failed", true],
  ] as const) {
    it(`LOOP-29 types status ${status} "${message.slice(0, 30)}" as ${code}`, async () => {
      const error = await refusalOf({ status, body: geminiError(status, message) });
      expect(error).toMatchObject({ code, retryable, status, provider: "gemini" });
    });
  }

  it("LOOP-29 waits for a quota that says when it fills up again", async () => {
    const said = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.4s.";
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }];
    expect(await refusalOf({ status: 429, body: geminiError(429, said, details) })).toMatchObject({
      code: "model-rate-limited",
      retryable: true,
      retryAfterMs: 34_400,
    });
    expect(await refusalOf({ status: 429, body: geminiError(429, said) })).toMatchObject({ code: "model-billing" });
  });

  it("MODEL-12 stops at once when aborted in the middle, and throws the reason", async () => {
    const release = Promise.withResolvers<void>();
    const controller = new AbortController();
    await using server = await geminiServer([
      { parts: [{ text: "Hello" }, { text: "x" }], delivery: { stall: { afterBytes: 250, until: release.promise } } },
    ]);
    const reading = (async () => {
      for await (const batch of modelOf(server).stream(modelRequest([user("Hello")], { signal: controller.signal })))
        if (batch.length > 0) controller.abort(new Error("stop"));
    })();
    await expect(reading).rejects.toThrow("stop");
    release.resolve();
  });

  it("MODEL-06 works over fetch too", async () => {
    const events = await ask({ parts: [{ text: "Hi" }] }, {}, { transport: fetchTransport() });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hi" }]);
  });

  it("gives its connection back after every answer", async () => {
    await using server = await geminiServer(() => ({ parts: [{ text: "ok" }] }));
    const model = modelOf(server);
    for (let turn = 0; turn < 3; turn++) {
      for await (const batch of model.stream(modelRequest([user("Hello")]))) if (batch.at(-1)?.type === "finish") break;
    }
    expect(server.connections).toBe(1);
  });

  it("closes the answer when the reader stops in the middle", async () => {
    let closed = false;
    const bytes = Buffer.from('data: {"candidates":[{"content":{"parts":[{"text":"x"}]}}]}\n\n');
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield bytes;
      } finally {
        closed = true;
      }
    }
    const transport: Transport = async () => ({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      chunks: chunks(),
    });
    const model = geminiFrom({ GEMINI_API_KEY: KEY }, MODEL, { transport });
    for await (const _batch of model.stream(modelRequest([user("Hello")]))) break;
    expect(closed).toBe(true);
  });
});

describe("gemini's key", () => {
  it("MODEL-06 names the variables when there is none", () => {
    expect(() => geminiFrom({})).toThrow(
      expect.objectContaining({
        code: "model-key-missing",
        message: expect.stringContaining("GEMINI_API_KEY or GOOGLE_API_KEY"),
      }),
    );
  });

  it("MODEL-06 is taken from either variable, and from neither beside an authorization", async () => {
    await using server = await geminiServer(() => ({ parts: [{ text: "ok" }] }));
    const env = { GEMINI_BASE_URL: server.url };
    await collectEvents(geminiFrom({ ...env, GOOGLE_API_KEY: "key-two" }, MODEL), modelRequest([user("a")]));
    const headers = { Authorization: "Bearer token-1" };
    await collectEvents(
      geminiFrom({ ...env, GEMINI_API_KEY: "key-one" }, MODEL, { headers }),
      modelRequest([user("a")]),
    );
    expect(
      server.requests.map((request) => [request.headers["x-goog-api-key"], request.headers["authorization"]]),
    ).toEqual([
      ["key-two", undefined],
      [undefined, "Bearer token-1"],
    ]);
  });

  it("MODEL-09 is asked for before every call and once more after a 401", async () => {
    await using server = await geminiServer(({ headers }) =>
      headers["x-goog-api-key"] === "fresh-key" ? { parts: [{ text: "ok" }] } : { status: 401 },
    );
    const model = modelOf(server, { apiKey: ({ rejected }) => (rejected ? "fresh-key" : "stale-key") });
    expect(partsOf(await collectEvents(model, modelRequest([user("Hello")])))).toHaveLength(1);
  });

  it("G23 is in no error, also when the provider repeats it", async () => {
    for (const status of [400, 401, 403, 500]) {
      for (const said of [`bad key ${KEY}`, encodeURIComponent(KEY), `x-goog-api-key: ${KEY}`]) {
        const error = await refusalOf({ status, body: geminiError(status, said) });
        expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain("secret-key");
      }
    }
    const error = await refusalOf({ parts: [], edit: () => [geminiError(500, KEY) as GeminiChunk] });
    expect(error.message).not.toContain("secret-key");
  });
});

describe("gemini's request", () => {
  it("MODEL-06 takes model and base URL from the environment", async () => {
    const env = { GEMINI_API_KEY: KEY };
    expect(geminiFrom({ ...env, GEMINI_MODEL: "gemini-x" }).id).toBe("gemini/gemini-x");
    expect(geminiFrom(env).id).toBe(`gemini/${MODEL}`);
    expect(geminiFrom(env, "models/gemini-2.5-pro").id).toBe("gemini/gemini-2.5-pro");
    for (const GEMINI_BASE_URL of ["nonsense", "ftp://x", "https://x.example/?key=1"])
      expect(() => geminiFrom({ ...env, GEMINI_BASE_URL })).toThrow(
        expect.objectContaining({ code: "config-invalid" }),
      );
  });

  it("asks for the version that the base URL, the option or nobody names", async () => {
    await using server = await geminiServer(() => ({ parts: [{ text: "ok" }] }));
    for (const options of [
      {},
      { baseUrl: `${server.url}/` },
      { baseUrl: `${server.url}/v1beta/` },
      { baseUrl: `${server.url}/v1` },
      { apiVersion: "v1alpha" },
    ])
      await collectEvents(modelOf(server, options), modelRequest([user("Hello")]));
    expect(server.violations).toEqual([]);
    expect(server.requests.map(({ path }) => path.slice(0, path.indexOf("/models")))).toEqual([
      "/v1beta",
      "/v1beta",
      "/v1beta",
      "/v1",
      "/v1alpha",
    ]);
  });

  it("MODEL-17 sends own headers and extra body", async () => {
    const tools = [WEATHER];
    const settings = { extraBody: { generationConfig: { topP: 0.5, seed: 2 }, tools: [{ googleSearch: {} }] } };
    const extraBody = { safetySettings: [], generationConfig: { seed: 1 } };
    const body = await bodyOf(
      { tools, settings: { ...settings, temperature: 0.1 } },
      { headers: { "X-Own": "1" }, extraBody },
    );
    expect(body).toMatchObject({
      safetySettings: [],
      generationConfig: { temperature: 0.1, topP: 0.5, seed: 2, thinkingConfig: { includeThoughts: true } },
      tools: [
        {
          functionDeclarations: [
            { name: "weather", description: "Tells the weather.", parametersJsonSchema: { type: "object" } },
          ],
        },
        { googleSearch: {} },
      ],
      systemInstruction: { parts: [{ text: "You are helpful." }] },
      headers: { "x-own": "1", "x-goog-api-key": KEY },
      path: `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
    });
  });

  it("MODEL-18 sends the tool choice", async () => {
    const choice = async (settings: ModelRequest["settings"], tools = [WEATHER]): Promise<unknown> =>
      Object(await bodyOf({ tools, settings }))["toolConfig"];
    expect(await choice({})).toBeUndefined();
    expect(await choice({ parallel: false })).toBeUndefined();
    expect(await choice({ toolChoice: "required" })).toEqual({ functionCallingConfig: { mode: "ANY" } });
    expect(await choice({ toolChoice: { tool: "weather" } })).toEqual({
      functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["weather"] },
    });
    expect(await choice({ toolChoice: "required" }, [])).toBeUndefined();
  });

  it("sends an output schema, limits and temperature", async () => {
    const outputSchema: Json = { type: "object", properties: {} };
    const body = await bodyOf({ settings: { outputSchema, maxOutputTokens: 5, temperature: 0.5 } });
    expect(body).toMatchObject({
      generationConfig: {
        maxOutputTokens: 5,
        temperature: 0.5,
        responseMimeType: "application/json",
        responseJsonSchema: outputSchema,
      },
    });
  });

  type Reasoning = NonNullable<ModelRequest["settings"]["reasoning"]>;
  const shown = { includeThoughts: true };
  const cases: readonly (readonly [model: string, reasoning: Reasoning | undefined, thinking: unknown])[] = [
    ["gemini-2.5-flash", undefined, shown],
    ["gemini-2.5-flash", "off", { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "low", { ...shown, thinkingBudget: 2_048 }],
    ["gemini-2.5-flash", "adaptive", { ...shown, thinkingBudget: -1 }],
    ["gemini-2.5-flash", { budgetTokens: 100_000 }, { ...shown, thinkingBudget: 24_576 }],
    ["gemini-2.5-flash-lite", undefined, undefined],
    ["gemini-2.5-flash-lite", { budgetTokens: 5 }, { ...shown, thinkingBudget: 512 }],
    ["gemini-2.5-pro", "off", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", { budgetTokens: 30_000 }, { ...shown, thinkingBudget: 30_000 }],
    ["gemini-2.0-flash", "high", undefined],
    ["gemini-2.5-flash-image", "high", undefined],
    ["gemini-3-pro-image", "high", undefined],
    ["gemini-3.8-flash", undefined, shown],
    ["gemini-3.8-flash", "off", { thinkingLevel: "MINIMAL" }],
    ["gemini-3.8-flash", "medium", { ...shown, thinkingLevel: "MEDIUM" }],
    ["gemini-3.8-flash", "adaptive", shown],
    ["gemini-3.1-pro-preview", "off", { thinkingLevel: "LOW" }],
    ["gemini-3.1-pro-preview", { budgetTokens: 20_000 }, { ...shown, thinkingLevel: "HIGH" }],
    ["gemini-4-carbon", { budgetTokens: 1_000 }, { ...shown, thinkingLevel: "LOW" }],
    ["gateway-model", undefined, undefined],
    ["gateway-model", "high", { ...shown, thinkingLevel: "HIGH" }],
  ];
  for (const [model, reasoning, thinking] of cases) {
    it(`MODEL-14 asks ${model} for reasoning ${JSON.stringify(reasoning) ?? "by default"}`, async () => {
      const body = Object(await bodyOf({ settings: reasoning === undefined ? {} : { reasoning } }, {}, model)) as {
        readonly generationConfig?: { readonly thinkingConfig?: unknown };
      };
      expect(body.generationConfig?.thinkingConfig).toEqual(thinking);
    });
  }

  it("MODEL-14 EDGE-08 fits a thinking budget into the limit of the settings, and the limit of the options around it", async () => {
    const reasoning = { budgetTokens: 4_000 };
    const configOf = async (settings: ModelSettings, options: Partial<GeminiOptions> = {}) =>
      Object(await bodyOf({ settings: { ...settings, reasoning } }, options, "gemini-2.5-pro")).generationConfig;
    const budget = (thinkingBudget: number) => ({ thinkingConfig: { thinkingBudget } });
    expect(await configOf({ maxOutputTokens: 4_000 })).toMatchObject({ maxOutputTokens: 4_000, ...budget(3_000) });
    expect(await configOf({ maxOutputTokens: 100 })).toMatchObject({ maxOutputTokens: 100, ...budget(128) });
    expect(await configOf({}, { maxOutputTokens: 500 })).toMatchObject({ maxOutputTokens: 4_500, ...budget(4_000) });
  });

  it("refuses a conversation with nothing to say", async () => {
    await using server = await geminiServer([]);
    const reading = collectEvents(modelOf(server), modelRequest([user(" \n ")]));
    await expect(reading).rejects.toMatchObject({ code: "model-invalid-request" });
    expect(server.requests).toEqual([]);
  });
});
