import { CapstanError, type Json, type Message, type ModelEvent, type ModelRequest, type Part } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { anthropicFrom, type AnthropicOptions } from "./anthropic.ts";
import { fetchTransport } from "./fetch-transport.ts";
import type { Transport } from "./transport.ts";
import {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  collectEvents,
  deltasOf,
  errorBody,
  modelRequest,
  partsOf,
  signatureOf,
  wireBytes,
  type WireEvent,
  wireEvent,
} from "./testing/index.ts";

const KEY = "sk-ant-api03-0123456789-secret";

function modelOf(server: AnthropicServer, options: AnthropicOptions = {}, modelId = "claude-opus-4-6") {
  return anthropicFrom({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url }, modelId, options);
}

function user(text: string): Message {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}

async function ask(
  reply: AnthropicReply,
  more: Partial<ModelRequest> = {},
  options?: AnthropicOptions,
): Promise<ModelEvent[]> {
  await using server = await anthropicServer([reply]);
  try {
    return await collectEvents(modelOf(server, options), modelRequest([user("Hello")], more));
  } finally {
    expect(server.violations).toEqual([]);
  }
}

async function refusalOf(reply: AnthropicReply, options?: AnthropicOptions): Promise<CapstanError> {
  const error: unknown = await ask(reply, {}, options).catch((caught: unknown) => caught);
  if (!CapstanError.is(error)) throw new Error(`no CapstanError: ${String(error)}`);
  return error;
}

/** The members of the body that a request with these settings makes. */
async function bodyOf(more: Partial<ModelRequest>, options?: AnthropicOptions, modelId?: string) {
  await using server = await anthropicServer([{ content: [{ type: "text", text: "ok" }] }]);
  await collectEvents(modelOf(server, options, modelId), modelRequest([user("Hello")], more));
  expect(server.violations).toEqual([]);
  const [request] = server.requests;
  if (request === undefined) throw new Error("no request came");
  return { ...request.body, headers: request.headers };
}

const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };

describe("anthropic", () => {
  it("MODEL-01 streams text with its usage and reason", async () => {
    expect(await ask({ content: [{ type: "text", text: "Hi", deltas: ["H", "i"] }] })).toEqual([
      { type: "start", model: "claude-opus-4-6", responseId: "msg_0" },
      { type: "block-start", index: 0, block: { type: "text" } },
      { type: "block-delta", index: 0, delta: "Hi" },
      { type: "block-end", index: 0, part: { type: "text", text: "Hi" } },
      {
        type: "finish",
        reason: "stop",
        rawReason: "end_turn",
        usage: { inputTokens: 19, outputTokens: 12, cacheReadTokens: 0, cacheWriteTokens: 0, costMicroUsd: 395 },
      },
    ]);
  });

  it("MODEL-16 streams thinking with the seal that takes it back", async () => {
    const events = await ask({
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "redacted_thinking", data: "opaque" },
        { type: "text", text: "Yes." },
      ],
    });
    const model = "claude-opus-4-6";
    expect(partsOf(events)).toEqual([
      {
        type: "reasoning",
        text: "Hm.",
        seal: { provider: "anthropic", data: { signature: signatureOf("Hm."), model } },
      },
      { type: "reasoning", text: "", seal: { provider: "anthropic", data: { redacted: "opaque", model } } },
      { type: "text", text: "Yes." },
    ]);
    expect(deltasOf(events, 0)).toBe("Hm.");
  });

  it("streams parallel calls with their ids and parsed inputs", async () => {
    const events = await ask({
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool_use", name: "weather", input: { city: "Köln" } },
        { type: "tool_use", name: "weather", input: {}, id: "toolu_x" },
      ],
    });
    const call = { type: "tool-call", name: "weather", by: "capstan" };
    expect(partsOf(events).slice(1)).toEqual([
      {
        ...call,
        callId: "toolu_0_1",
        input: { city: "Köln" },
        seal: { provider: "anthropic", data: { id: "toolu_0_1" } },
      },
      { ...call, callId: "toolu_x", input: {}, seal: { provider: "anthropic", data: { id: "toolu_x" } } },
    ]);
    expect(deltasOf(events, 1)).toBe('{"city":"Köln"}');
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls", rawReason: "tool_use" });
  });

  it("keeps the blocks of server tools whole, so that they go back as they came", async () => {
    const result = {
      type: "web_search_tool_result",
      tool_use_id: "srv_1",
      content: [{ type: "web_search_result", url: "u" }],
    };
    const reply: AnthropicReply = {
      content: [
        {
          type: "raw",
          block: { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} },
          deltas: [
            { type: "input_json_delta", partial_json: '{"query":' },
            { type: "input_json_delta", partial_json: '"x"}' },
          ],
        },
        { type: "raw", block: result },
        { type: "text", text: "Found." },
      ],
    };
    await using server = await anthropicServer([reply, { content: [{ type: "text", text: "ok" }] }]);
    const model = modelOf(server);
    const parts = partsOf(await collectEvents(model, modelRequest([user("Hello")])));
    await collectEvents(model, modelRequest([user("Hello"), { id: "a", role: "assistant", parts }, user("More")]));
    expect(server.violations).toEqual([]);
    expect(server.requests[1]?.body["messages"]).toMatchObject([
      {},
      {
        content: [
          { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "x" } },
          result,
          { type: "text", text: "Found." },
        ],
      },
      {},
    ]);
  });

  for (const [stopReason, reason] of [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["tool_use", "tool-calls"],
    ["max_tokens", "length"],
    ["pause_turn", "paused"],
    ["compaction", "paused"],
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "context-exceeded"],
    ["something_new", "other"],
    ["toString", "other"],
  ]) {
    it(`LOOP-19 LOOP-20 calls the stop reason ${stopReason} ${reason}`, async () => {
      const events = await ask({ content: [{ type: "text", text: "x" }], stopReason: stopReason ?? "" });
      expect(events.at(-1)).toMatchObject({ type: "finish", reason, rawReason: stopReason });
    });
  }

  it("G25 finishes an answer without content", async () => {
    const events = await ask({ content: [] });
    expect(events.map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  it("reads an answer the same at every size of its pieces", async () => {
    const content = [
      { type: "thinking", thinking: "Grüße \u{1F600} über alles" },
      { type: "text", text: 'Zeile\n"zwei" \u{1F680}', deltas: ["Zeile\n", '"zwei" \u{1F680}'] },
      { type: "tool_use", name: "weather", input: { city: "東京", nested: [1, { a: null }] } },
    ] as const;
    const whole = await ask({ content });
    for (const chunkBytes of [1, 7, 100]) {
      const events = await ask({ content, delivery: { chunkBytes } });
      expect(partsOf(events)).toEqual(partsOf(whole));
      expect([0, 1, 2].map((index) => deltasOf(events, index))).toEqual(
        [0, 1, 2].map((index) => deltasOf(whole, index)),
      );
      expect(events.at(-1)).toEqual(whole.at(-1));
    }
  });

  it("reads huge deltas and tool inputs", async () => {
    const long = "0123456789äöü\\\n".repeat(40_000);
    const events = await ask({
      content: [
        { type: "text", text: long },
        { type: "tool_use", name: "weather", input: { long } },
      ],
    });
    expect(partsOf(events)).toMatchObject([{ text: long }, { input: { long } }]);
  });

  it("skips pings and events and deltas that it does not know", async () => {
    const events = await ask({
      content: [{ type: "text", text: "Hi" }],
      edit: (all) => [
        wireEvent({ type: "ping" }),
        ...all.flatMap((event) => [
          event,
          wireEvent({ type: "brand_new", index: 0, delta: { type: "text_delta", text: "no" } }),
          ...(event.event === "content_block_start"
            ? [wireEvent({ type: "content_block_delta", index: 0, delta: { type: "new_delta", x: 1 } })]
            : []),
        ]),
      ],
    });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hi" }]);
  });

  it("reads interleaved blocks", async () => {
    const delta = (index: number, text: string): WireEvent =>
      wireEvent({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
    const block = (type: string, index: number): WireEvent =>
      wireEvent({ type, index, ...(type === "content_block_start" && { content_block: { type: "text", text: "" } }) });
    const events = await ask({
      content: [],
      edit: ([start, , ...rest]) => [
        ...(start === undefined ? [] : [start]),
        block("content_block_start", 0),
        block("content_block_start", 1),
        delta(0, "a"),
        delta(1, "x"),
        delta(0, "b"),
        block("content_block_stop", 1),
        delta(0, "c"),
        block("content_block_stop", 0),
        ...rest,
      ],
    });
    expect(partsOf(events)).toEqual([
      { type: "text", text: "abc" },
      { type: "text", text: "x" },
    ]);
  });

  it("G25 hands out the raw text of an input that is not JSON", async () => {
    for (const json of ['{"city": "Kö', "nonsense", '{"a":1}}']) {
      const parts = partsOf(await ask({ content: [{ type: "tool_use", name: "weather", json }] }));
      expect(parts).toMatchObject([{ type: "tool-call", input: json }]);
    }
    const empty = partsOf(await ask({ content: [{ type: "tool_use", name: "weather", json: " " }] }));
    expect(empty).toMatchObject([{ type: "tool-call", input: {} }]);
  });

  it("G25 ends without finish when the stream ends early", async () => {
    const content = [{ type: "text", text: "Hello" }] as const;
    for (const last of ["message_start", "content_block_delta", "content_block_stop", "message_delta"]) {
      const edit = (all: readonly WireEvent[]): readonly WireEvent[] =>
        all.slice(0, all.findIndex(({ event }) => event === last) + 1);
      const events = await ask({ content, edit });
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 throws and never finishes wherever the connection breaks", async () => {
    const content = [{ type: "tool_use", name: "weather", input: { city: "Rome" } }] as const;
    for (let cutAfterBytes = 0; cutAfterBytes < 900; cutAfterBytes += 90) {
      const events: ModelEvent[] = [];
      await using server = await anthropicServer([{ content, delivery: { cutAfterBytes } }]);
      const reading = (async () => {
        for await (const batch of modelOf(server).stream(modelRequest([user("Hello")]))) events.push(...batch);
      })();
      await expect(reading).rejects.toMatchObject({ code: "model-network", retryable: true });
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 refuses a stream that breaks the protocol", async () => {
    const content = [{ type: "text", text: "Hello" }] as const;
    const edits: ((all: readonly WireEvent[]) => readonly WireEvent[])[] = [
      (all) => all.filter(({ event }) => event !== "content_block_start"),
      (all) => all.filter(({ event }) => event !== "content_block_stop"),
      (all) => all.filter(({ event }) => event !== "message_start"),
      (all) => [...all.slice(0, 1), ...all],
      (all) => [...all.slice(0, 3), ...all.slice(2)],
      (all) => [...all.slice(0, 3), { event: "content_block_delta", data: '{"type":"content_bl' }, ...all.slice(3)],
      () => [],
    ];
    for (const edit of edits) {
      expect(await refusalOf({ content, edit })).toMatchObject({
        code: "model-protocol",
        retryable: true,
        provider: "anthropic",
      });
    }
  });

  it("G25 throws the typed error of an error event after HTTP 200", async () => {
    for (const [type, code] of [
      ["overloaded_error", "model-overloaded"],
      ["rate_limit_error", "model-rate-limited"],
      ["api_error", "model-failed"],
      ["invalid_request_error", "model-invalid-request"],
      ["brand_new_error", "model-failed"],
    ] as const) {
      const edit = (all: readonly WireEvent[]): readonly WireEvent[] => [
        ...all.slice(0, 4),
        { event: "error", data: errorBody(type, "It broke") },
      ];
      const error = await refusalOf({ content: [{ type: "text", text: "Hello" }], edit });
      expect(error.code).toBe(code);
      expect(error.message).toMatch(/^Anthropic broke off the answer: It broke\. /);
    }
  });

  it("refuses what is no event stream", async () => {
    const cases: readonly (readonly [AnthropicReply, object])[] = [
      [
        { status: 200, headers: { "content-type": "text/html" }, body: "<html>Welcome</html>" },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: '{"id":"msg_1"}' },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: "" },
        { code: "model-protocol", retryable: true },
      ],
      [
        { status: 200, body: errorBody("overloaded_error", "Busy") },
        { code: "model-overloaded", retryable: true },
      ],
      [
        { status: 302, headers: { location: "https://x.example" }, body: "" },
        { code: "model-protocol", retryable: false },
      ],
    ];
    for (const [reply, expected] of cases) expect(await refusalOf(reply)).toMatchObject(expected);
  });

  it("MODEL-12 stops at once when aborted in the middle, and throws the reason", async () => {
    const release = Promise.withResolvers<void>();
    const controller = new AbortController();
    const content = [{ type: "text", text: "Hello world" }] as const;
    await using server = await anthropicServer([
      { content, delivery: { stall: { afterBytes: 500, until: release.promise } } },
    ]);
    const events: ModelEvent[] = [];
    const reading = (async () => {
      for await (const batch of modelOf(server).stream(modelRequest([user("Hello")], { signal: controller.signal }))) {
        events.push(...batch);
        controller.abort(new Error("stop"));
      }
    })();
    await expect(reading).rejects.toThrow("stop");
    expect(events[0]?.type).toBe("start");
    release.resolve();
  });

  it("MODEL-06 works over fetch too", async () => {
    const events = await ask({ content: [{ type: "text", text: "Hi" }] }, {}, { transport: fetchTransport() });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hi" }]);
  });

  it("gives its connection back after every answer", async () => {
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "ok" }] }));
    const model = modelOf(server);
    for (let turn = 0; turn < 3; turn++) {
      // The loop stops reading at `finish`.
      for await (const batch of model.stream(modelRequest([user("Hello")]))) if (batch.at(-1)?.type === "finish") break;
    }
    expect(server.connections).toBe(1);
  });
});

describe("anthropic's transport", () => {
  function chunked(chunks: () => AsyncGenerator<Uint8Array>): Transport {
    return async () => ({ status: 200, headers: { "content-type": "text/event-stream" }, chunks: chunks() });
  }
  const whole = wireBytes([
    wireEvent({ type: "message_start", message: { id: "msg_1", model: "m" } }),
    wireEvent({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
    wireEvent({ type: "message_stop" }),
  ]);

  for (const after of ["stays open", "breaks", "goes on"]) {
    it(`ends with the message when the connection ${after} after it`, async () => {
      const closed = Promise.withResolvers<void>();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        try {
          yield whole;
          if (after === "breaks") throw new Error("reset");
          if (after === "stays open") await new Promise(() => {});
          for (;;) yield await new Promise<Buffer>((resolve) => setImmediate(() => resolve(Buffer.from(": more\n\n"))));
        } finally {
          closed.resolve();
        }
      }
      const model = anthropicFrom({ ANTHROPIC_API_KEY: KEY }, "m", { transport: chunked(chunks) });
      const events = await collectEvents(model, modelRequest([user("Hello")]));
      expect(events.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
      if (after !== "stays open") await closed.promise;
    });
  }

  it("closes the answer when the reader stops in the middle", async () => {
    let closed = false;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        for (const byte of whole) yield Uint8Array.of(byte);
      } finally {
        closed = true;
      }
    }
    const model = anthropicFrom({ ANTHROPIC_API_KEY: KEY }, "m", { transport: chunked(chunks) });
    for await (const _batch of model.stream(modelRequest([user("Hello")]))) break;
    expect(closed).toBe(true);
  });
});

describe("anthropic's key", () => {
  it("MODEL-06 names the variable when there is none", () => {
    expect(() => anthropicFrom({})).toThrow(
      expect.objectContaining({ code: "model-key-missing", message: expect.stringContaining("ANTHROPIC_API_KEY") }),
    );
    expect(() => anthropicFrom({ ANTHROPIC_API_KEY: " " })).toThrow(
      expect.objectContaining({ code: "model-key-missing" }),
    );
  });

  it("is sent without the white space around it, and refused when a header cannot carry it", async () => {
    const { headers } = await bodyOf({}, { apiKey: `${KEY}\n` });
    expect(headers["x-api-key"]).toBe(KEY);
    expect(() => anthropicFrom({}, "m", { apiKey: "a b" })).toThrow(expect.objectContaining({ code: "model-auth" }));
  });

  it("is not needed beside an authorization of the caller's own, and then not sent", async () => {
    const { headers } = await bodyOf({}, { headers: { Authorization: "Bearer token-1" } });
    expect([headers["authorization"], headers["x-api-key"]]).toEqual(["Bearer token-1", undefined]);
  });

  it("MODEL-09 is asked for before every call and once more after a 401", async () => {
    const asked: boolean[] = [];
    await using server = await anthropicServer(({ headers }) =>
      headers["x-api-key"] === "fresh-key" ? { content: [{ type: "text", text: "ok" }] } : { status: 401 },
    );
    const apiKey = async ({ rejected }: { readonly rejected: boolean }): Promise<string> => {
      asked.push(rejected);
      return rejected ? "fresh-key" : "stale-key";
    };
    const model = modelOf(server, { apiKey });
    expect(partsOf(await collectEvents(model, modelRequest([user("Hello")])))).toHaveLength(1);
    expect(asked).toEqual([false, true]);
  });

  it("MODEL-09 gives up after the second 401", async () => {
    let asked = 0;
    await using server = await anthropicServer(() => ({ status: 401 }));
    const model = modelOf(server, { apiKey: () => `key-number-${asked++}` });
    await expect(collectEvents(model, modelRequest([user("Hello")]))).rejects.toMatchObject({
      code: "model-auth",
      status: 401,
    });
    expect([asked, server.requests.length]).toEqual([2, 2]);
  });

  it("G23 is in no error, also when the provider repeats it", async () => {
    for (const status of [400, 401, 403, 500]) {
      for (const said of [`bad key ${KEY}`, `"${encodeURIComponent(KEY)}"`, `Authorization: Bearer ${KEY}`]) {
        const error = await refusalOf({ status, body: errorBody("api_error", said) });
        expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain("0123456789-secret");
      }
      const error = await refusalOf({ status, body: `<html>${KEY}` });
      expect(error.message).not.toContain(KEY);
    }
    const opaque = "opaquetoken123";
    const error = await refusalOf(
      { status: 401, body: errorBody("x", opaque) },
      { headers: { authorization: `Bearer ${opaque}` } },
    );
    expect(error.message).not.toContain(opaque);
  });
});

describe("anthropic's request", () => {
  it("MODEL-06 takes model and base URL from the environment", async () => {
    const model = anthropicFrom({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_MODEL: "claude-x" });
    expect([model.id, anthropicFrom({ ANTHROPIC_API_KEY: KEY }).id]).toEqual([
      "anthropic/claude-x",
      "anthropic/claude-sonnet-5-5",
    ]);
    expect(() => anthropicFrom({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: "nonsense" })).toThrow(
      expect.objectContaining({ code: "config-invalid" }),
    );
  });

  it("takes a base URL with and without /v1", async () => {
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "ok" }] }));
    for (const baseUrl of [server.url, `${server.url}/`, `${server.url}/v1`, `${server.url}/v1/`]) {
      await collectEvents(modelOf(server, { baseUrl }), modelRequest([user("Hello")]));
    }
    expect(server.violations).toEqual([]);
  });

  it("MODEL-17 sends version, betas, own headers and extra body", async () => {
    const body = await bodyOf(
      { settings: { extraBody: { top_p: 0.5, metadata: { user_id: "u2" } } } },
      { betas: ["a-1", "b-2"], headers: { "X-Own": "1" }, extraBody: { metadata: { user_id: "u" }, stream: false } },
    );
    expect(body).toMatchObject({
      stream: true,
      top_p: 0.5,
      metadata: { user_id: "u2" },
      headers: { "anthropic-version": "2026-10-21", "anthropic-beta": "a-1,b-2", "x-own": "1" },
    });
  });

  it("MODEL-18 sends the tool choice", async () => {
    const tools = [WEATHER];
    const choice = async (settings: ModelRequest["settings"], with_ = tools): Promise<unknown> =>
      Object(await bodyOf({ tools: with_, settings }))["tool_choice"];
    expect(await choice({})).toBeUndefined();
    expect(await choice({ toolChoice: "required" })).toEqual({ type: "any" });
    expect(await choice({ toolChoice: { tool: "weather" } })).toEqual({ type: "tool", name: "weather" });
    expect(await choice({ parallel: false })).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(await choice({ toolChoice: "required" }, [])).toBeUndefined();
  });

  it("sends an output schema, limits and temperature", async () => {
    const outputSchema: Json = { type: "object", properties: {} };
    const body = await bodyOf({ settings: { outputSchema, maxOutputTokens: 5, temperature: 0.5 } });
    expect(body).toMatchObject({
      max_tokens: 5,
      temperature: 0.5,
      output_config: { format: { type: "json_schema", schema: outputSchema } },
    });
  });

  type Reasoning = NonNullable<ModelRequest["settings"]["reasoning"]>;
  const adaptive = { type: "adaptive", display: "summarized" };
  const cases: readonly (readonly [
    model: string,
    reasoning: Reasoning | undefined,
    thinking: unknown,
    effort?: string,
  ])[] = [
    ["claude-haiku-4-5", undefined, undefined],
    ["claude-haiku-4-5", "off", { type: "disabled" }],
    ["claude-haiku-4-5", "low", { type: "enabled", budget_tokens: 2048 }],
    ["claude-haiku-4-5", "adaptive", { type: "enabled", budget_tokens: 8192 }],
    ["claude-haiku-4-5", { budgetTokens: 5 }, { type: "enabled", budget_tokens: 1024 }],
    ["claude-haiku-4-5", { budgetTokens: 50_000 }, { type: "enabled", budget_tokens: 50_000 }],
    ["claude-opus-4-6", { budgetTokens: 5000 }, { type: "enabled", budget_tokens: 5000 }],
    ["claude-opus-4-6", "high", adaptive, "high"],
    ["claude-opus-4-8", undefined, undefined],
    ["claude-opus-4-8", "adaptive", adaptive],
    ["claude-opus-4-8", { budgetTokens: 5000 }, adaptive, "low"],
    ["claude-opus-5", undefined, adaptive],
    ["claude-opus-5", "off", { type: "disabled" }],
    ["claude-sonnet-5-5", "off", { type: "between_tools" }],
    ["claude-opus-5-5", "off", adaptive, "low"],
    ["claude-opus-5-5", "medium", adaptive, "medium"],
    ["some-gateway-model", undefined, undefined],
  ];
  for (const [model, reasoning, thinking, effort] of cases) {
    it(`MODEL-14 asks ${model} for reasoning ${JSON.stringify(reasoning) ?? "by default"}`, async () => {
      const body = await bodyOf({ settings: reasoning === undefined ? {} : { reasoning } }, {}, model);
      const { thinking: sent, output_config: config } = Object(body) as { [name: string]: unknown };
      expect([sent, config]).toEqual([thinking, effort === undefined ? undefined : { effort }]);
    });
  }

  it("MODEL-14 EDGE-08 fits a thinking budget into the limit of the settings, and the limit of the options around it", async () => {
    const reasoning = { budgetTokens: 4_000 };
    const limited = async (maxOutputTokens: number) =>
      bodyOf({ settings: { maxOutputTokens, reasoning } }, {}, "claude-haiku-4-5");
    expect(await limited(5_000)).toMatchObject({ max_tokens: 5_000, thinking: { budget_tokens: 4_000 } });
    expect(await limited(4_000)).toMatchObject({ max_tokens: 4_000, thinking: { budget_tokens: 3_000 } });
    expect(await limited(500)).toMatchObject({ max_tokens: 500, thinking: { type: "disabled" } });
    const roomy = await bodyOf({ settings: { reasoning } }, { maxOutputTokens: 500 }, "claude-haiku-4-5");
    expect(roomy).toMatchObject({ max_tokens: 4_500, thinking: { budget_tokens: 4_000 } });
  });

  it("MODEL-14 leaves thinking out where it forces a call", async () => {
    const settings = { toolChoice: "required", reasoning: "high" } as const;
    const body = await bodyOf({ tools: [WEATHER], settings }, {}, "claude-haiku-4-5");
    expect(body).toMatchObject({ thinking: { type: "disabled" }, tool_choice: { type: "any" } });
  });

  it("refuses a conversation with nothing to say", async () => {
    await using server = await anthropicServer([]);
    const reading = collectEvents(modelOf(server), modelRequest([user(" \n ")]));
    await expect(reading).rejects.toMatchObject({ code: "model-invalid-request" });
    expect(server.requests).toEqual([]);
  });

  it("sends images, documents and texts, inline, from blobs and by URL", async () => {
    const base64 = Buffer.from("hello").toString("base64");
    const parts: Part[] = [
      { type: "file", mediaType: "image/png", data: { type: "base64", base64 } },
      { type: "file", mediaType: "image/jpg", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "image/webp", data: { type: "url", url: "https://x.example/a.webp" } },
      { type: "file", mediaType: "application/pdf", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "text/markdown", name: "a.md", data: { type: "base64", base64 } },
      { type: "file", mediaType: "audio/wav", name: "a.wav", data: { type: "base64", base64 } },
    ];
    const asked: string[] = [];
    const blob = async (hash: string): Promise<Uint8Array> => {
      asked.push(hash);
      return Buffer.from("hello");
    };
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "ok" }] }));
    const model = modelOf(server);
    const messages = [{ id: "1", role: "user", parts } as const];
    for (let turn = 0; turn < 2; turn++) await collectEvents(model, modelRequest(messages, { blob }));
    expect(server.violations).toEqual([]);
    expect(asked).toEqual(["h1"]);
    expect(server.requests[1]?.text).toBe(server.requests[0]?.text);
    expect(server.requests[0]?.body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: base64 } },
          { type: "image", source: { type: "base64", media_type: "image/jpeg", data: base64 } },
          { type: "image", source: { type: "url", url: "https://x.example/a.webp" } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: base64 } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "hello" }, title: "a.md" },
          { type: "text", text: "[File a.wav (audio/wav): this model cannot read it]" },
        ],
      },
    ]);
  });
});
