import { CapstanError, type Json, type Message, type ModelEvent, type ModelRequest, type Part } from "@capstan/core";
import { type ContractReply, modelContract } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { fetchTransport } from "./fetch-transport.ts";
import { openaiFrom, type OpenAIOptions } from "./openai.ts";
import {
  collectEvents,
  deltasOf,
  encryptedOf,
  modelRequest,
  openaiError,
  type OpenAIReply,
  type OpenAIServer,
  openaiServer,
  partsOf,
  type ResponseItem,
  type WireEvent,
  wireEvent,
} from "./testing/index.ts";

const KEY = "sk-proj-0123456789-secret";
const MODEL = "gpt-6.1-sol";

function modelOf(server: OpenAIServer, options: OpenAIOptions = {}, modelId = MODEL) {
  return openaiFrom({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url }, modelId, options);
}

function user(text: string): Message {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}

async function ask(
  reply: OpenAIReply,
  more: Partial<ModelRequest> = {},
  options?: OpenAIOptions,
  modelId?: string,
): Promise<ModelEvent[]> {
  await using server = await openaiServer([reply]);
  try {
    return await collectEvents(modelOf(server, options, modelId), modelRequest([user("Hello")], more));
  } finally {
    expect(server.violations).toEqual([]);
  }
}

async function refusalOf(reply: OpenAIReply, options?: OpenAIOptions): Promise<CapstanError> {
  const error: unknown = await ask(reply, {}, options).catch((caught: unknown) => caught);
  if (!CapstanError.is(error)) throw new Error(`no CapstanError: ${String(error)}`);
  return error;
}

/** The members of the body that a request with these settings makes. */
async function bodyOf(more: Partial<ModelRequest>, options?: OpenAIOptions, modelId?: string) {
  await using server = await openaiServer([{ items: [{ type: "text", text: "ok" }] }]);
  await collectEvents(modelOf(server, options, modelId), modelRequest([user("Hello")], more));
  expect(server.violations).toEqual([]);
  const [request] = server.requests;
  if (request === undefined) throw new Error("no request came");
  return { ...request.body, headers: request.headers };
}

const WEATHER = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } };
const HELLO: ResponseItem = { type: "text", text: "Hello" };

describe("openai", () => {
  it("MODEL-03 COST-04 streams text with its usage and reason", async () => {
    const usage = {
      input_tokens: 110,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 40 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
    };
    const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };
    const reply = { items: [{ type: "text", text: "Hi", deltas: ["H", "i"] }], usage } as const;
    expect(await ask(reply, {}, { price })).toEqual([
      { type: "start", model: MODEL, responseId: "resp_0" },
      { type: "block-start", index: 0, block: { type: "text" } },
      { type: "block-delta", index: 0, delta: "Hi" },
      { type: "block-end", index: 0, part: { type: "text", text: "Hi" } },
      {
        type: "finish",
        reason: "stop",
        rawReason: "completed",
        usage: {
          inputTokens: 10,
          outputTokens: 7,
          cacheReadTokens: 60,
          cacheWriteTokens: 40,
          reasoningTokens: 3,
          costMicroUsd: 202,
        },
      },
    ]);
  });

  it("MODEL-16 streams reasoning in pieces, with the whole item as its seal", async () => {
    const events = await ask({ items: [{ type: "reasoning", summary: ["First.", "Then."] }, HELLO] });
    const [thought] = partsOf(events);
    expect(thought).toEqual({
      type: "reasoning",
      text: "First.\n\nThen.",
      seal: {
        provider: "openai",
        data: {
          model: MODEL,
          item: {
            id: "rs_0_0",
            type: "reasoning",
            summary: [
              { type: "summary_text", text: "First." },
              { type: "summary_text", text: "Then." },
            ],
            encrypted_content: encryptedOf("rs_0_0"),
          },
        },
      },
    });
    expect(deltasOf(events, 0)).toBe("First.\n\nThen.");
  });

  it("MODEL-16 shows reasoning that comes in the open and seals what has no summary", async () => {
    const open = await ask({ items: [{ type: "reasoning", summary: [], raw: "Hm." }, HELLO] });
    expect(partsOf(open)[0]).toMatchObject({
      type: "reasoning",
      text: "Hm.",
      seal: { data: { item: { id: "rs_0_0" } } },
    });
    const closed = await ask({ items: [{ type: "reasoning", summary: [] }, HELLO] });
    expect(partsOf(closed)[0]).toMatchObject({ type: "reasoning", text: "", seal: { data: { model: MODEL } } });
  });

  it("streams parallel calls with their ids and parsed inputs", async () => {
    const events = await ask({
      items: [
        { type: "text", text: "Let me see." },
        { type: "call", name: "weather", input: { city: "Köln" } },
        { type: "call", name: "weather", input: {}, callId: "call_x", extra: { namespace: "maps" } },
      ],
    });
    const call = { type: "tool-call", name: "weather", by: "capstan" };
    const seal = (data: object) => ({ provider: "openai", data });
    expect(partsOf(events).slice(1)).toEqual([
      { ...call, callId: "call_fc_0_1", input: { city: "Köln" }, seal: seal({ id: "call_fc_0_1", item: "fc_0_1" }) },
      {
        ...call,
        callId: "call_x",
        input: {},
        seal: seal({ id: "call_x", item: "fc_0_2", extra: { namespace: "maps" } }),
      },
    ]);
    expect(deltasOf(events, 1)).toBe('{"city":"Köln"}');
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls", rawReason: "completed" });
  });

  it("reads interleaved calls", async () => {
    const call = { id: "fc", type: "function_call", name: "weather", arguments: "" };
    const added = (at: number) =>
      wireEvent({ type: "response.output_item.added", output_index: at, item: { ...call, call_id: `c${at}` } });
    const delta = (at: number, text: string) =>
      wireEvent({ type: "response.function_call_arguments.delta", output_index: at, delta: text });
    const done = (at: number, json: string) =>
      wireEvent({
        type: "response.output_item.done",
        output_index: at,
        item: { ...call, call_id: `c${at}`, arguments: json },
      });
    const middle = [added(0), added(1), delta(1, '{"b'), delta(0, '{"a":'), delta(1, '":2}'), delta(0, "1}")];
    const edit = (all: readonly WireEvent[]) => [
      ...all.slice(0, 2),
      ...middle,
      done(1, '{"b":2}'),
      done(0, '{"a":1}'),
      ...all.slice(-1),
    ];
    const parts = partsOf(await ask({ items: [], edit }));
    expect(parts).toMatchObject([
      { callId: "c0", input: { a: 1 } },
      { callId: "c1", input: { b: 2 } },
    ]);
  });

  for (const [end, reason, rawReason] of [
    [{}, "stop", "completed"],
    [{ incomplete: "max_output_tokens" }, "length", "max_output_tokens"],
    [{ incomplete: "content_filter" }, "content-filter", "content_filter"],
    [{ incomplete: "steered" }, "paused", "steered"],
    [{ incomplete: "max_messages" }, "other", "max_messages"],
    [{ incomplete: "toString" }, "other", "toString"],
  ] as const) {
    it(`LOOP-19 calls the end ${rawReason} ${reason}`, async () => {
      const events = await ask({ items: [HELLO], ...end });
      expect(events.at(-1)).toMatchObject({ type: "finish", reason, rawReason });
    });
  }

  it("LOOP-19 calls an answer that refuses refusal, and shows what it says", async () => {
    const events = await ask({ items: [{ type: "refusal", refusal: "I cannot do that." }] });
    expect(partsOf(events)).toEqual([{ type: "text", text: "I cannot do that." }]);
    expect(deltasOf(events, 0)).toBe("I cannot do that.");
    expect(events.at(-1)).toMatchObject({ reason: "refusal" });
  });

  it("LOOP-19 keeps what came of an answer that ends inside an item, and asks for no call then", async () => {
    const edit = (all: readonly WireEvent[]) => [
      ...all.filter(({ event }) => event !== "response.output_item.done").slice(0, -1),
      wireEvent({
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      }),
    ];
    const events = await ask({ items: [HELLO, { type: "call", name: "weather", json: '{"city": "K' }], edit });
    expect(partsOf(events)).toMatchObject([{ text: "Hello" }, { type: "tool-call", input: '{"city": "K' }]);
    expect(events.at(-1)).toMatchObject({ reason: "length" });
  });

  it("G25 finishes an answer without content", async () => {
    expect((await ask({ items: [] })).map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  it("reads an answer the same at every size of its pieces", async () => {
    const items: readonly ResponseItem[] = [
      { type: "reasoning", summary: ["Grüße \u{1F600}", "über alles"] },
      { type: "text", text: 'Zeile\n"zwei" \u{1F680}', deltas: ["Zeile\n", '"zwei" \u{1F680}'], phase: "commentary" },
      { type: "call", name: "weather", input: { city: "東京", nested: [1, { a: null }] } },
    ];
    const whole = await ask({ items });
    for (const chunkBytes of [1, 7, 100]) {
      const events = await ask({ items, delivery: { chunkBytes } });
      expect(partsOf(events)).toEqual(partsOf(whole));
      expect([0, 1, 3].map((index) => deltasOf(events, index))).toEqual(
        [0, 1, 3].map((index) => deltasOf(whole, index)),
      );
      expect(events.at(-1)).toEqual(whole.at(-1));
    }
  });

  it("reads huge deltas and arguments", async () => {
    const long = "0123456789äöü\\\n".repeat(40_000);
    const events = await ask({
      items: [
        { type: "text", text: long },
        { type: "call", name: "weather", input: { long } },
      ],
    });
    expect(partsOf(events)).toMatchObject([{ text: long }, { input: { long } }]);
  });

  it("skips events that it does not know, comments and the end mark of the older protocol", async () => {
    const events = await ask({
      items: [HELLO],
      edit: (all) => [
        ...all.flatMap((event) => [
          event,
          wireEvent({ type: "response.brand_new.delta", output_index: 0, delta: "no" }),
          wireEvent({ type: "keepalive" }),
        ]),
        { event: "done", data: "[DONE]" },
      ],
    });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hello" }]);
  });

  it("reads items from servers that send no deltas, or no beginnings", async () => {
    const items: readonly ResponseItem[] = [
      { type: "reasoning", summary: ["Hm."] },
      HELLO,
      { type: "call", name: "weather", input: { city: "Rome" } },
    ];
    const whole = await ask({ items });
    for (const dropped of [/delta$/, /delta$|item\.added$|part\.added$/, /created$|in_progress$/]) {
      const events = await ask({ items, edit: (all) => all.filter(({ event }) => !dropped.test(event)) });
      expect(partsOf(events)).toEqual(partsOf(whole));
      expect(deltasOf(events, 2)).toBe('{"city":"Rome"}');
      expect(events.at(-1)).toEqual(whole.at(-1));
    }
  });

  it("G25 hands out the raw text of arguments that are not JSON", async () => {
    for (const json of ['{"city": "Kö', "nonsense", '{"a":1}}']) {
      const parts = partsOf(await ask({ items: [{ type: "call", name: "weather", json }] }));
      expect(parts).toMatchObject([{ type: "tool-call", input: json }]);
    }
    const empty = partsOf(await ask({ items: [{ type: "call", name: "weather", json: " " }] }));
    expect(empty).toMatchObject([{ type: "tool-call", input: {} }]);
  });

  it("G25 ends without finish when the stream ends early", async () => {
    for (const last of ["response.created", "response.output_text.delta", "response.output_item.done"]) {
      const edit = (all: readonly WireEvent[]) => all.slice(0, all.findIndex(({ event }) => event === last) + 1);
      const events = await ask({ items: [HELLO], edit });
      expect(events[0]?.type).toBe("start");
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 throws and never finishes wherever the connection breaks", async () => {
    const items: readonly ResponseItem[] = [{ type: "call", name: "weather", input: { city: "Rome" } }];
    for (let cutAfterBytes = 0; cutAfterBytes < 1500; cutAfterBytes += 150) {
      const events: ModelEvent[] = [];
      await using server = await openaiServer([{ items, delivery: { cutAfterBytes } }]);
      const reading = (async () => {
        for await (const batch of modelOf(server).stream(modelRequest([user("Hello")]))) events.push(...batch);
      })();
      await expect(reading).rejects.toMatchObject({ code: "model-network", retryable: true });
      expect(events.some(({ type }) => type === "finish")).toBe(false);
    }
  });

  it("G25 refuses a stream that breaks the protocol", async () => {
    const edits: ((all: readonly WireEvent[]) => readonly WireEvent[])[] = [
      (all) => all.filter(({ event }) => event !== "response.output_item.added"),
      (all) => all.filter(({ event }) => event !== "response.output_item.done"),
      (all) => all.flatMap((event) => (event.event === "response.output_item.added" ? [event, event] : [event])),
      (all) => [...all.slice(0, 3), { event: "response.output_text.delta", data: '{"type":"resp' }, ...all.slice(3)],
      () => [],
    ];
    for (const edit of edits) {
      expect(await refusalOf({ items: [HELLO], edit })).toMatchObject({
        code: "model-protocol",
        retryable: true,
        provider: "openai",
      });
    }
  });

  it("LOOP-29 G25 throws the typed error of a failed response and of an error event after HTTP 200", async () => {
    for (const [code, expected, retryable] of [
      ["server_error", "model-failed", true],
      ["rate_limit_exceeded", "model-rate-limited", true],
      ["insufficient_quota", "model-billing", false],
      ["invalid_prompt", "model-invalid-request", false],
      ["context_length_exceeded", "model-context-exceeded", false],
      ["server_is_overloaded", "model-overloaded", true],
      ["brand_new_code", "model-failed", true],
    ] as const) {
      const error = { code, message: "It broke" };
      const failed = { type: "response.failed", response: { status: "failed", error } };
      for (const event of [failed, { type: "error", ...error, param: null }, { type: "error", error }]) {
        const edit = (all: readonly WireEvent[]) => [...all.slice(0, 4), wireEvent(event)];
        const thrown = await refusalOf({ items: [HELLO], edit });
        expect(thrown).toMatchObject({ code: expected, retryable });
        expect(thrown.message).toMatch(/^OpenAI broke off the answer: It broke\. /);
      }
    }
  });

  it("MODEL-12 reads the wait that a limit's text tells", async () => {
    const message = "Rate limit reached for gpt-6.1-sol. Please try again in 1.5s. Visit the console.";
    const error = { code: "rate_limit_exceeded", message };
    const edit = (all: readonly WireEvent[]) => [
      ...all.slice(0, 2),
      wireEvent({ type: "response.failed", response: { error } }),
    ];
    expect(await refusalOf({ items: [], edit })).toMatchObject({ retryAfterMs: 1500, retryable: true });
    const later = openaiError("rate_limit_exceeded", "Please try again in 20ms.");
    expect(await refusalOf({ status: 429, body: later })).toMatchObject({ retryAfterMs: 20 });
    expect(await refusalOf({ status: 429, headers: { "retry-after": "3" }, body: later })).toMatchObject({
      retryAfterMs: 3000,
    });
  });

  it("LOOP-29 refuses what is no event stream", async () => {
    const answer = { id: "resp_1", object: "response", error: null, output: [] };
    const cases: readonly (readonly [OpenAIReply, object])[] = [
      [
        { status: 200, headers: { "content-type": "text/html" }, body: "<html>Welcome</html>" },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: answer },
        { code: "model-protocol", retryable: false },
      ],
      [
        { status: 200, body: "" },
        { code: "model-protocol", retryable: true },
      ],
      [
        { status: 200, body: openaiError("server_error", "Busy") },
        { code: "model-failed", retryable: true },
      ],
      [
        { status: 400, body: openaiError("context_length_exceeded", "Your input exceeds the context window.") },
        { code: "model-context-exceeded", retryable: false },
      ],
      [{ status: 404 }, { code: "model-not-found" }],
      [
        { status: 429, body: openaiError("insufficient_quota", "You exceeded your current quota") },
        { code: "model-billing", retryable: false },
      ],
    ];
    for (const [reply, expected] of cases) expect(await refusalOf(reply)).toMatchObject(expected);
  });

  it("MODEL-03 works over fetch too", async () => {
    const events = await ask({ items: [HELLO] }, {}, { transport: fetchTransport() });
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hello" }]);
  });

  it("gives its connection back after every answer", async () => {
    await using server = await openaiServer(() => ({ items: [HELLO] }));
    const model = modelOf(server);
    for (let turn = 0; turn < 3; turn++) {
      for await (const batch of model.stream(modelRequest([user("Hello")]))) if (batch.at(-1)?.type === "finish") break;
    }
    expect(server.connections).toBe(1);
  });
});

/** The contract's reply as the items and the end of an answer. */
function toReply({ reasoning, text, calls = [], reason, fault }: ContractReply): OpenAIReply {
  const half = text === undefined ? 0 : Math.floor(text.length / 2);
  const items: readonly ResponseItem[] = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", summary: [reasoning] } as const]),
    ...(text === undefined
      ? []
      : reason === "refusal"
        ? [{ type: "refusal", refusal: text } as const]
        : [{ type: "text", text, deltas: [text.slice(0, half), text.slice(half)] } as const]),
    ...calls.map((call) => ({ type: "call", ...call }) as const),
  ];
  const INCOMPLETE: Readonly<Record<string, string>> = {
    length: "max_output_tokens",
    "content-filter": "content_filter",
    paused: "steered",
  };
  const incomplete = INCOMPLETE[reason];
  const afterBytes = 1_150; // inside the first item, behind its first delta
  return {
    items,
    ...(incomplete !== undefined && { incomplete }),
    ...(fault === "cut" && { delivery: { cutAfterBytes: afterBytes } }),
    ...(fault === "hang" && { delivery: { stall: { afterBytes, until: new Promise(() => {}) } } }),
  };
}

describe("openai's contract", () => {
  const cases = modelContract({
    reasons: ["stop", "tool-calls", "length", "content-filter", "refusal", "paused"],
    reasoning: true,
    seals: true,
    async model(replies) {
      const server = await openaiServer(replies.map(toReply));
      return {
        model: modelOf(server),
        sent: () => server.requests.map(({ body }) => body),
        async close() {
          await server.close();
          expect(server.violations).toEqual([]);
        },
      };
    },
  });
  for (const { name, run } of cases) it(`MODEL-03 ${name}`, run);
});

describe("openai's key", () => {
  it("MODEL-09 names the variable when there is none", () => {
    for (const env of [{}, { OPENAI_API_KEY: " " }]) {
      expect(() => openaiFrom(env)).toThrow(
        expect.objectContaining({ code: "model-key-missing", message: expect.stringContaining("OPENAI_API_KEY") }),
      );
    }
  });

  it("is not needed beside an authorization of the caller's own, and then not sent", async () => {
    const { headers } = await bodyOf({}, { headers: { Authorization: "Bearer token-1" } });
    expect(headers["authorization"]).toBe("Bearer token-1");
  });

  it("MODEL-09 is asked for before every call and once more after a 401, with the refused key", async () => {
    const asked: object[] = [];
    await using server = await openaiServer(({ headers }) =>
      headers["authorization"] === "Bearer fresh-key" ? { items: [HELLO] } : { status: 401 },
    );
    const model = modelOf(server, {
      apiKey: (state) => {
        asked.push(state);
        return state.rejected ? "fresh-key" : "stale-key";
      },
    });
    expect(partsOf(await collectEvents(model, modelRequest([user("Hello")])))).toHaveLength(1);
    expect(asked).toEqual([{ rejected: false }, { rejected: true, key: "stale-key" }]);
  });

  it("G23 is in no error, also when the provider repeats it", async () => {
    for (const status of [400, 401, 403, 500]) {
      for (const said of [`bad key ${KEY}`, `"${encodeURIComponent(KEY)}"`, `Authorization: Bearer ${KEY}`]) {
        const body = openaiError("invalid_value", said);
        const error = await refusalOf({ status, headers: { "x-echo": KEY }, body });
        expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain("0123456789-secret");
      }
    }
    const own = { headers: { "api-key": "opaquetoken123" } };
    const repeated = await refusalOf({ status: 403, body: openaiError("x", "not opaquetoken123") }, own);
    expect(repeated.message).toContain("not [key]");
    const edit = (all: readonly WireEvent[]) => [
      ...all.slice(0, 3),
      wireEvent({ type: "response.failed", response: { error: { code: "server_error", message: `key ${KEY}` } } }),
    ];
    expect((await refusalOf({ items: [HELLO], edit })).message).not.toContain("0123456789-secret");
  });
});

describe("openai's request", () => {
  it("takes model and base URL from the environment", () => {
    const model = openaiFrom({ OPENAI_API_KEY: KEY, OPENAI_MODEL: "gpt-x" });
    expect([model.id, openaiFrom({ OPENAI_API_KEY: KEY }).id]).toEqual(["openai/gpt-x", `openai/${MODEL}`]);
    expect(() => openaiFrom({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: "nonsense" })).toThrow(
      expect.objectContaining({ code: "config-invalid" }),
    );
  });

  it("adds /v1 to a bare host and takes an address with a path as it is", async () => {
    await using server = await openaiServer(() => ({ items: [HELLO] }));
    for (const path of ["", "/", "/v1", "/v1/"]) {
      await collectEvents(modelOf(server, { baseUrl: `${server.url}${path}` }), modelRequest([user("Hello")]));
    }
    expect(server.violations).toEqual([]);
    const codex = modelOf(server, { baseUrl: `${server.url}/backend-api/codex` });
    await collectEvents(codex, modelRequest([user("Hello")])).catch(() => {});
    expect(server.requests.at(-1)?.path).toBe("/backend-api/codex/responses");
  });

  it("stores nothing at the provider, asks for encrypted reasoning and names the session for the cache", async () => {
    const body = await bodyOf({ sessionId: "ses_secret_name" });
    expect(body).toMatchObject({
      model: MODEL,
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      instructions: "You are helpful.",
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(JSON.stringify(body)).not.toContain("ses_secret_name");
    const same = await bodyOf({ sessionId: "ses_secret_name" });
    const other = await bodyOf({ sessionId: "ses_other" });
    const keyOf = (made: object): unknown => Object(made)["prompt_cache_key"];
    expect([keyOf(same) === keyOf(body), keyOf(other) === keyOf(body)]).toEqual([true, false]);
  });

  it("MODEL-17 merges the extra body: members win, objects are joined, include and tools are added", async () => {
    const extraBody = {
      text: { verbosity: "low" },
      include: ["web_search_call.results"],
      tools: [{ type: "web_search" }],
    };
    const outputSchema: Json = { type: "object", properties: {}, required: [], additionalProperties: false };
    const settings = { outputSchema, extraBody: { service_tier: "flex", prompt_cache_key: "own" } };
    const body = await bodyOf({ settings, tools: [WEATHER] }, { extraBody, headers: { "X-Own": "1" } });
    expect(body).toMatchObject({
      text: { verbosity: "low", format: { type: "json_schema" } },
      include: ["reasoning.encrypted_content", "web_search_call.results"],
      tools: [{ type: "function", name: "weather", strict: false }, { type: "web_search" }],
      service_tier: "flex",
      prompt_cache_key: "own",
      headers: { "x-own": "1" },
    });
  });

  it("MODEL-18 sends the tool choice", async () => {
    const choice = async (settings: ModelRequest["settings"], tools = [WEATHER]): Promise<unknown> =>
      Object(await bodyOf({ tools, settings }))["tool_choice"];
    expect(await choice({})).toBeUndefined();
    expect(await choice({ toolChoice: "required" })).toBe("required");
    expect(await choice({ toolChoice: { tool: "weather" } })).toEqual({ type: "function", name: "weather" });
    expect(await choice({ toolChoice: "required" }, [])).toBeUndefined();
    expect(await bodyOf({ tools: [WEATHER], settings: { parallel: false } })).toMatchObject({
      parallel_tool_calls: false,
    });
  });

  it("OUT-01 enforces an output schema strictly where strict mode takes it, and sends it in any case", async () => {
    const city = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const strict: Json = { ...city, additionalProperties: false };
    const cases: readonly (readonly [Json, boolean])[] = [
      [strict, true],
      [city, false],
      [{ ...strict, required: [] }, false],
      [{ ...strict, properties: { name: { type: "array", items: city } } }, false],
      [{ ...strict, properties: { name: { anyOf: [{ type: "null" }, strict] } } }, true],
      [{ ...strict, properties: { name: { oneOf: [strict] } } }, false],
    ];
    for (const [outputSchema, isStrict] of cases) {
      expect(await bodyOf({ settings: { outputSchema } })).toMatchObject({
        text: { format: { type: "json_schema", name: "output", schema: outputSchema, strict: isStrict } },
      });
    }
  });

  type Reasoning = NonNullable<ModelRequest["settings"]["reasoning"]>;
  const auto = { summary: "auto" };
  const cases: readonly (readonly [model: string, reasoning: Reasoning | undefined, sent: unknown])[] = [
    [MODEL, undefined, undefined],
    [MODEL, "off", { effort: "low" }],
    [MODEL, "low", { effort: "low", ...auto }],
    [MODEL, "high", { effort: "high", ...auto }],
    [MODEL, "adaptive", auto],
    [MODEL, { budgetTokens: 2_000 }, { effort: "low", ...auto }],
    [MODEL, { budgetTokens: 8_000 }, { effort: "medium", ...auto }],
    [MODEL, { budgetTokens: 32_000 }, { effort: "high", ...auto }],
    ["gpt-6-luna", "off", { effort: "none" }],
    ["gpt-6.1-terra", "off", { effort: "none" }],
    ["gpt-5.6-sol", "medium", { effort: "medium", ...auto }],
    ["gpt-5-mini", "off", { effort: "minimal" }],
    ["gpt-5-pro", "low", { effort: "high", ...auto }],
    ["o3", "off", { effort: "low" }],
    ["gpt-4.1", "high", undefined],
    ["gpt-4o", undefined, undefined],
  ];
  for (const [model, reasoning, sent] of cases) {
    it(`MODEL-14 asks ${model} for reasoning ${JSON.stringify(reasoning) ?? "by default"}`, async () => {
      const body = await bodyOf({ settings: reasoning === undefined ? {} : { reasoning } }, {}, model);
      expect(Object(body)["reasoning"]).toEqual(sent);
    });
  }

  it("MODEL-14 asks another server's model for reasoning when its capabilities say so", async () => {
    const settings = { reasoning: "medium" } as const;
    const body = await bodyOf({ settings }, { capabilities: { reasoning: true } }, "acme/large");
    expect(body).toMatchObject({ reasoning: { effort: "medium" }, include: ["reasoning.encrypted_content"] });
    expect(Object(await bodyOf({ settings }, {}, "acme/large"))).not.toHaveProperty("reasoning");
  });

  it("sends limits, and a temperature where the model takes one", async () => {
    const settings = { maxOutputTokens: 500, temperature: 0.5 } as const;
    expect(Object(await bodyOf({ settings }))).not.toHaveProperty("temperature");
    expect(await bodyOf({ settings })).toMatchObject({ max_output_tokens: 500 });
    expect(await bodyOf({ settings }, {}, "gpt-4.1")).toMatchObject({ temperature: 0.5 });
    expect(await bodyOf({ settings: { ...settings, reasoning: "off" } }, {}, "gpt-6-luna")).toMatchObject({
      temperature: 0.5,
    });
    expect(await bodyOf({}, { maxOutputTokens: 100 })).toMatchObject({ max_output_tokens: 100 });
    expect(Object(await bodyOf({}))).not.toHaveProperty("max_output_tokens");
  });

  it("refuses a conversation with nothing to say", async () => {
    await using server = await openaiServer([]);
    const reading = collectEvents(modelOf(server), modelRequest([user(" \n ")]));
    await expect(reading).rejects.toMatchObject({ code: "model-invalid-request" });
    expect(server.requests).toEqual([]);
  });

  it("TOOL-43 sends images, documents and texts, inline, from blobs and by URL", async () => {
    const base64 = Buffer.from("hello").toString("base64");
    const parts: Part[] = [
      { type: "file", mediaType: "image/png", data: { type: "base64", base64 } },
      { type: "file", mediaType: "image/jpg", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "image/webp", data: { type: "url", url: "https://x.example/a.webp" } },
      { type: "file", mediaType: "application/pdf", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "application/pdf", data: { type: "url", url: "https://x.example/a.pdf" } },
      { type: "file", mediaType: "text/markdown", name: "a.md", data: { type: "base64", base64 } },
      { type: "file", mediaType: "audio/wav", name: "a.wav", data: { type: "base64", base64 } },
    ];
    const asked: string[] = [];
    const blob = async (hash: string): Promise<Uint8Array> => {
      asked.push(hash);
      return Buffer.from("hello");
    };
    await using server = await openaiServer(() => ({ items: [HELLO] }));
    const model = modelOf(server);
    const messages = [{ id: "1", role: "user", parts } as const];
    for (let turn = 0; turn < 2; turn++) await collectEvents(model, modelRequest(messages, { blob }));
    expect(server.violations).toEqual([]);
    expect(asked).toEqual(["h1"]);
    expect(server.requests[1]?.text).toBe(server.requests[0]?.text);
    expect(server.requests[0]?.body["input"]).toEqual([
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_image", image_url: `data:image/png;base64,${base64}`, detail: "auto" },
          { type: "input_image", image_url: `data:image/jpeg;base64,${base64}`, detail: "auto" },
          { type: "input_image", image_url: "https://x.example/a.webp", detail: "auto" },
          { type: "input_file", filename: "document.pdf", file_data: `data:application/pdf;base64,${base64}` },
          { type: "input_file", file_url: "https://x.example/a.pdf" },
          { type: "input_text", text: "[File a.md (text/markdown): its text follows]\nhello" },
          { type: "input_text", text: "[File a.wav (audio/wav): this model cannot read it]" },
        ],
      },
    ]);
  });

  it("TOOL-25 refuses an image that is too large before it is sent", async () => {
    await using server = await openaiServer([]);
    const base64 = "A".repeat(8 * 1024 * 1024);
    const part: Part = { type: "file", mediaType: "image/png", data: { type: "base64", base64 } };
    const reading = collectEvents(modelOf(server), modelRequest([{ id: "1", role: "user", parts: [part] }]));
    await expect(reading).rejects.toMatchObject({ code: "model-invalid-request", provider: "openai" });
    expect(server.requests).toEqual([]);
  });
});
