import {
  CapstanError,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type Part,
  type TurnReason,
} from "@capstan/core";
import { type ContractReply, modelContract } from "@capstan/core/testing";
import {
  APICallError,
  LoadAPIKeyError,
  type LanguageModelV2,
  type LanguageModelV3,
  type LanguageModelV4,
} from "@ai-sdk/provider";
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { describe, expect, it } from "vitest";
import { type AiLanguageModel, aiSdk, type AiSdkOptions } from "./ai-sdk.ts";
import { modelFacts } from "./anthropic/model-table.ts";
import { type AiReply, collectEvents, modelRequest, partsOf, scriptedAiModel } from "./testing/index.ts";

const USAGE = {
  inputTokens: { total: 20, noCache: 12, cacheRead: 6, cacheWrite: 2 },
  outputTokens: { total: 7, text: 4, reasoning: 3 },
};
const STOP = { type: "finish", usage: USAGE, finishReason: { unified: "stop", raw: "end_turn" } };
const CALLED = { ...STOP, finishReason: { unified: "tool-calls", raw: "tool_use" } };
const IMAGE = "iVBORw0KGgoAAAANSUhEUg==";

function user(...parts: readonly Part[]): Message {
  return { id: "u", role: "user", parts: parts.length === 0 ? [{ type: "text", text: "Hello" }] : parts };
}

function textParts(text: string): readonly object[] {
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
  ];
}

async function ask(
  parts: readonly object[],
  options: AiSdkOptions & {
    readonly version?: AiLanguageModel["specificationVersion"];
    readonly provider?: string;
  } = {},
): Promise<ModelEvent[]> {
  const { version = "v4", provider, ...rest } = options;
  const model = scriptedAiModel(version, [{ parts }], provider === undefined ? {} : { provider });
  return collectEvents(aiSdk(model, rest), modelRequest([user()]));
}

/** What `doStream` was given for this request. */
async function asked(
  more: Partial<ModelRequest>,
  options: AiSdkOptions & {
    readonly version?: AiLanguageModel["specificationVersion"];
    readonly provider?: string;
  } = {},
) {
  const { version = "v4", provider, ...rest } = options;
  const source = scriptedAiModel(version, [{ parts: [STOP] }], provider === undefined ? {} : { provider });
  await collectEvents(aiSdk(source, rest), modelRequest(more.messages ?? [user()], more));
  const [call] = source.calls;
  if (call === undefined) throw new Error("it was not asked");
  return call;
}

async function errorOf(work: Promise<unknown>): Promise<CapstanError> {
  const error: unknown = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!CapstanError.is(error)) throw new Error(`no CapstanError: ${String(error)}`);
  return error;
}

const REASONS: readonly TurnReason[] = [
  "stop",
  "tool-calls",
  "length",
  "content-filter",
  "error",
  "other",
  "refusal",
  "paused",
  "context-exceeded",
];
const RAW: Readonly<Partial<Record<TurnReason, string>>> = {
  refusal: "refusal",
  paused: "pause_turn",
  "context-exceeded": "model_context_window_exceeded",
};

function replyParts(version: "v2" | "v3" | "v4", reply: ContractReply, at: number): readonly object[] {
  const parts: object[] = [{ type: "stream-start", warnings: [] }];
  const block = (kind: string, id: string, text: string, end: object): void => {
    parts.push({ type: `${kind}-start`, id });
    for (let from = 0; from < text.length; from += 7)
      parts.push({ type: `${kind}-delta`, id, delta: text.slice(from, from + 7) });
    parts.push({ type: `${kind}-end`, id, ...end });
  };
  parts.push({ type: "response-metadata", id: `resp_${at}`, modelId: "acme-1-2026" });
  if (reply.reasoning !== undefined)
    block("reasoning", "0", reply.reasoning, { providerMetadata: { acme: { signature: `signed ${at}` } } });
  if (reply.text !== undefined) block("text", "0", reply.text, {});
  for (const [index, { name, input }] of (reply.calls ?? []).entries()) {
    const id = `call_${at}_${index}`;
    const json = JSON.stringify(input);
    parts.push({ type: "tool-input-start", id, toolName: name });
    parts.push({ type: "tool-input-delta", id, delta: json.slice(0, 5) });
    if (json.length > 5) parts.push({ type: "tool-input-delta", id, delta: json.slice(5) });
    parts.push({ type: "tool-input-end", id }, { type: "tool-call", toolCallId: id, toolName: name, input: json });
  }
  const raw = RAW[reply.reason];
  const unified = raw === undefined ? reply.reason : "other";
  const finishReason = version === "v2" ? unified : { unified, raw };
  const usage = version === "v2" ? { inputTokens: 20, outputTokens: 7, totalTokens: 27 } : USAGE;
  return [...parts, { type: "finish", usage, finishReason }];
}

for (const version of ["v2", "v3", "v4"] as const) {
  describe(`aiSdk over a language model of specification ${version}`, () => {
    const cases = modelContract({
      reasons: version === "v2" ? REASONS.slice(0, 6) : REASONS,
      reasoning: true,
      seals: true,
      model(replies) {
        const script = replies.map((reply, at): AiReply => {
          const parts = replyParts(version, reply, at);
          return reply.fault === undefined ? { parts } : { parts, fault: reply.fault, before: 4 };
        });
        const source = scriptedAiModel(version, script);
        return { model: aiSdk(source), sent: () => source.calls.map(({ prompt }) => prompt) };
      },
    });
    for (const { name, run } of cases) it(`MODEL-11 LOOP-19 ${name}`, run);
  });
}

describe("aiSdk takes the models of the AI SDK", () => {
  it("MODEL-11 LOOP-19 streams a MockLanguageModelV4 and a MockLanguageModelV3 of ai/test", async () => {
    const parts = [
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "r1", modelId: "real-1" },
      ...textParts("Hi"),
      STOP,
    ];
    const chunks = parts as never[]; // the same parts in both versions
    const models = [
      new MockLanguageModelV4({
        provider: "mock",
        modelId: "m",
        doStream: { stream: simulateReadableStream({ chunks }) },
      }),
      new MockLanguageModelV3({
        provider: "mock",
        modelId: "m",
        doStream: { stream: simulateReadableStream({ chunks }) },
      }),
    ];
    for (const source of models) {
      const model = aiSdk(source);
      expect(model.id).toBe("ai-sdk/mock/m");
      expect(await collectEvents(model, modelRequest([user()]))).toEqual([
        { type: "start", model: "real-1", responseId: "r1" },
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-delta", index: 0, delta: "Hi" },
        { type: "block-end", index: 0, part: { type: "text", text: "Hi" } },
        {
          type: "finish",
          reason: "stop",
          rawReason: "end_turn",
          usage: { inputTokens: 12, outputTokens: 7, cacheReadTokens: 6, cacheWriteTokens: 2, reasoningTokens: 3 },
        },
      ]);
      expect(source.doStreamCalls[0]?.prompt.map(({ role }) => role)).toEqual(["system", "user"]);
    }
  });

  it("MODEL-11 takes every version by its type and refuses what is none", () => {
    const typed = (_model: AiLanguageModel): void => {};
    const check = (two: LanguageModelV2, three: LanguageModelV3, four: LanguageModelV4): void =>
      [two, three, four].forEach((model) => typed(model));
    expect(check).toBeTypeOf("function");
    const old = { ...scriptedAiModel("v4", []), specificationVersion: "v1" };
    for (const [wrong, why] of [
      [old, "version v1"],
      ["openai/gpt-5", "import its provider"],
      [{}, "without version"],
      [null, "object"],
    ] as const) {
      expect(() => aiSdk(wrong as unknown as AiLanguageModel)).toThrow(why);
    }
  });

  it("MODEL-11 makes a model given as a function once, at the first call, and again after a failure", async () => {
    let made = 0;
    const model = aiSdk(
      async () => {
        made++;
        if (made === 1) throw new LoadAPIKeyError({ message: "ACME_KEY is not set" });
        return Promise.resolve(scriptedAiModel("v4", [{ parts: [STOP] }, { parts: [STOP] }]));
      },
      { id: "acme/late" },
    );
    expect([made, model.id]).toEqual([0, "ai-sdk/acme/late"]);
    expect((await errorOf(collectEvents(model, modelRequest([user()])))).code).toBe("model-key-missing");
    await Promise.all([1, 2].map(() => collectEvents(model, modelRequest([user()]))));
    expect(made).toBe(2);
    expect(() => aiSdk(() => scriptedAiModel("v4", []))).toThrow("needs an id");
  });

  it("COST-04 knows the published price of the makers' own services, and takes a given one", async () => {
    const of = (provider: string, modelId: string, options: AiSdkOptions = {}) =>
      aiSdk(scriptedAiModel("v4", [], { provider, modelId }), options).price?.();
    expect(await of("anthropic.messages", "claude-sonnet-5-5")).toEqual(modelFacts("claude-sonnet-5-5").price);
    expect(await of("anthropic.messages", "claude-3-haiku-20240307")).toMatchObject({ input: 0.25, output: 1.25 });
    expect(await of("openai.responses", "gpt-5")).toMatchObject({ input: 1.25, output: 10 });
    expect(await of("acme.chat", "claude-sonnet-4-5")).toBeUndefined();
    expect(await of("acme.chat", "x", { price: { input: 1, output: 2 } })).toEqual({ input: 1, output: 2 });
  });

  it("reads what comes together as one batch and merges its deltas", async () => {
    const deltas = ["a", "b", "c"].map((delta) => ({ type: "text-delta", id: "0", delta }));
    const model = aiSdk(
      scriptedAiModel("v4", [
        { parts: [{ type: "text-start", id: "0" }, ...deltas, { type: "text-end", id: "0" }, STOP] },
      ]),
    );
    const batches: (readonly ModelEvent[])[] = [];
    for await (const batch of model.stream(modelRequest([user()]))) batches.push(batch);
    expect(batches.flat().filter(({ type }) => type === "block-delta")).toEqual([
      { type: "block-delta", index: 0, delta: "abc" },
    ]);
    expect(batches).toHaveLength(1);
  });

  it("cancels the stream when its reader leaves", async () => {
    const source = scriptedAiModel("v4", [{ parts: textParts("Hi"), fault: "hang" }]);
    for await (const _batch of aiSdk(source).stream(modelRequest([user()]))) break;
    expect(source.cancelled).toBe(1);
  });
});

describe("aiSdk asks", () => {
  const tools = [{ name: "weather", description: "Tells the weather.", inputSchema: { type: "object" } }];

  it("OUT-03 with settings, tools and the output's schema together", async () => {
    const controller = new AbortController();
    const schema = { type: "object", properties: { degrees: { type: "number" } } };
    const call = await asked(
      {
        tools,
        signal: controller.signal,
        settings: {
          maxOutputTokens: 9,
          temperature: 0.5,
          toolChoice: { tool: "weather" },
          reasoning: "high",
          outputSchema: schema,
          extraBody: { acme: { b: 2 } },
        },
      },
      { providerOptions: { acme: { a: 1 }, other: { c: 3 } }, headers: { "x-team": "one" } },
    );
    expect(call).toEqual({
      prompt: [
        { role: "system", content: "You are helpful." },
        { role: "user", content: [{ type: "text", text: "Hello" }] },
      ],
      abortSignal: controller.signal,
      maxOutputTokens: 9,
      temperature: 0.5,
      tools: [{ type: "function", ...tools[0] }],
      toolChoice: { type: "tool", toolName: "weather" },
      responseFormat: { type: "json", name: "output", schema },
      reasoning: "high",
      headers: { "x-team": "one" },
      providerOptions: { acme: { a: 1, b: 2 }, other: { c: 3 } },
    });
    for (const [reasoning, word] of [
      ["off", "none"],
      ["adaptive", undefined],
      [{ budgetTokens: 2000 }, "low"],
      [{ budgetTokens: 10_000 }, "medium"],
      [{ budgetTokens: 60_000 }, "high"],
    ] as const) {
      expect((await asked({ settings: { reasoning } }))["reasoning"]).toBe(word);
    }
    expect((await asked({ tools, settings: { toolChoice: "required" } }))["toolChoice"]).toEqual({ type: "required" });
  });

  it("says once which settings and features have no effect", async () => {
    const warnings = [{ type: "unsupported-setting", setting: "temperature" }];
    const source = scriptedAiModel(
      "v3",
      [0, 1].map(() => ({ parts: [{ type: "stream-start", warnings }, STOP] })),
    );
    const model = aiSdk(source);
    const notices = async (): Promise<readonly string[]> =>
      (await collectEvents(model, modelRequest([user()], { settings: { reasoning: "low" } }))).flatMap((event) =>
        event.type === "notice" ? [event.title] : [],
      );
    expect(await notices()).toEqual([
      "acme.chat warns: the setting reasoning has no effect here; use providerOptions",
      "acme.chat warns: unsupported-setting: temperature",
    ]);
    expect(await notices()).toEqual([]);
    expect(source.calls[0]?.["reasoning"]).toBeUndefined();
  });

  it("TOOL-43 with files as each version writes them, addresses only where the model reads them itself", async () => {
    const image: Part = {
      type: "file",
      mediaType: "image/png",
      name: "a.png",
      data: { type: "base64", base64: IMAGE },
    };
    const url = (address: string): Part => ({
      type: "file",
      mediaType: "image/png",
      data: { type: "url", url: address },
    });
    const notes: Part = {
      type: "file",
      mediaType: "text/plain",
      name: "n.txt",
      data: { type: "base64", base64: Buffer.from("five").toString("base64") },
    };
    const messages = [
      user(image, url("https://images.example.com/b.png"), url("https://inside.example.com/c.png"), notes),
    ];
    const texts = [
      { type: "text", text: "[File image/png: https://inside.example.com/c.png]" },
      { type: "text", text: "[File n.txt (text/plain): its text]\nfive" },
    ];
    const link = new URL("https://images.example.com/b.png");
    for (const version of ["v2", "v3"] as const) {
      expect((await asked({ messages }, { version })).prompt[1]?.content).toEqual([
        { type: "file", mediaType: "image/png", filename: "a.png", data: IMAGE },
        { type: "file", mediaType: "image/png", data: link },
        ...texts,
      ]);
    }
    expect((await asked({ messages })).prompt[1]?.content).toEqual([
      { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: IMAGE } },
      { type: "file", mediaType: "image/png", data: { type: "url", url: link } },
      ...texts,
    ]);
    expect((await asked({ messages: [user(image)] }, { capabilities: { images: false } })).prompt[1]?.content).toEqual([
      { type: "text", text: "[File a.png (image/png): this model cannot read it]" },
    ]);
  });

  it("loads a blob once while its message stands", async () => {
    const source = scriptedAiModel("v4", [{ parts: [STOP] }, { parts: [STOP] }]);
    const messages = [user({ type: "file", mediaType: "image/png", data: { type: "blob", hash: "h", size: 4 } })];
    let loads = 0;
    const blob = async (): Promise<Uint8Array> => Promise.resolve(Buffer.from([++loads, 2, 3]));
    const model = aiSdk(source);
    for (let turn = 0; turn < 2; turn++) await collectEvents(model, modelRequest(messages, { blob }));
    expect(loads).toBe(1);
    expect(source.calls[1]?.prompt).toEqual(source.calls[0]?.prompt);
  });

  it("TOOL-04 TOOL-43 with results of every kind, images inside where the provider takes them, else below", async () => {
    const call: Part = { type: "tool-call", callId: "run/1/0", name: "shot", input: {}, by: "capstan" };
    const image = { type: "file", mediaType: "image/png", data: { type: "base64", base64: IMAGE } } as const;
    const result = (output: object): Part => ({
      type: "tool-result",
      callId: "run/1/0",
      name: "shot",
      output: { content: [], ...output },
    });
    const promptOf = async (output: object, options: Parameters<typeof asked>[1] = {}) => {
      const answer: Message = { id: "a", role: "assistant", parts: [call] };
      return (await asked({ messages: [user(), answer, user(result(output))] }, options)).prompt.slice(3);
    };
    const outputOf = async (output: object, options?: Parameters<typeof asked>[1]): Promise<unknown> => {
      const [tool] = await promptOf(output, options);
      expect(tool?.role).toBe("tool");
      return (tool?.content as unknown as readonly { readonly output: unknown }[] | undefined)?.[0]?.output;
    };
    const said = { type: "text", text: "ok" } as const;
    expect(await outputOf({ content: [said, { type: "diff", path: "a", before: "1", after: "2" }] })).toEqual({
      type: "text",
      value: "ok\na @@ -1,1 +1,1 @@\n-1\n+2",
    });
    expect(await outputOf({ content: [said], isError: true })).toEqual({ type: "error-text", value: "ok" });
    expect(await outputOf({ output: { a: 1 } })).toEqual({ type: "json", value: { a: 1 } });
    const inside = { provider: "anthropic.messages" };
    expect(await outputOf({ content: [said, image] }, { ...inside, version: "v2" })).toEqual({
      type: "content",
      value: [said, { type: "media", data: IMAGE, mediaType: "image/png" }],
    });
    expect(await outputOf({ content: [said, image] }, { ...inside, version: "v3" })).toEqual({
      type: "content",
      value: [said, { type: "image-data", data: IMAGE, mediaType: "image/png" }],
    });
    expect(await outputOf({ content: [said, image] }, inside)).toEqual({
      type: "content",
      value: [said, { type: "file", data: { type: "data", data: IMAGE }, mediaType: "image/png" }],
    });
    const below = await promptOf({ content: [said, image] });
    expect(below.map(({ role }) => role)).toEqual(["tool", "user"]);
    expect(below[0]?.content).toMatchObject([
      { output: { type: "text", value: "ok\n[File image/png: see the message below]" } },
    ]);
    expect(below[1]?.content).toEqual([{ type: "file", mediaType: "image/png", data: { type: "data", data: IMAGE } }]);
    // a failed call keeps its picture too
    expect((await promptOf({ content: [said, image], isError: true }, inside)).map(({ role }) => role)).toEqual([
      "tool",
      "user",
    ]);
  });

  it("marks the cache places of Claude, and of nobody else", async () => {
    const messages = [user(), { ...user(), id: "u2" }];
    const marked = (await asked({ messages, cache: [-1, 1] }, { provider: "anthropic.messages" })).prompt.map(
      ({ providerOptions }) => providerOptions,
    );
    const marker = { anthropic: { cacheControl: { type: "ephemeral" } } };
    expect(marked).toEqual([marker, undefined, marker]);
    const both = ["one", "two"].map((name) => ({ name, description: "Looks.", inputSchema: { type: "object" } }));
    const toolsWith = async (cache: readonly number[], provider: string): Promise<unknown> =>
      (await asked({ messages, tools: both, cache }, { provider }))["tools"];
    const [one, two] = both.map((tool) => ({ type: "function", ...tool }));
    expect(await toolsWith([-1, 1], "anthropic.messages")).toEqual([one, { ...two, providerOptions: marker }]);
    expect(await toolsWith([-1, 0, 1, 2], "anthropic.messages")).toEqual([one, two]); // four markers are all there may be
    expect(await toolsWith([-1, 1], "acme.chat")).toEqual([one, two]);
    expect(
      (await asked({ messages, cache: [-1, 1] })).prompt.some(({ providerOptions }) => providerOptions !== undefined),
    ).toBe(false);
  });

  it("MODEL-14 sends the state of each part back with it, to the same model only", async () => {
    const state = (value: string): object => ({ providerMetadata: { acme: { value } } });
    const parts = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "reasoning-end", id: "r", ...state("thought") },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Hi" },
      { type: "text-end", id: "t", ...state("text") },
      {
        type: "tool-call",
        toolCallId: "p1",
        toolName: "search",
        input: '{"q":1}',
        providerExecuted: true,
        ...state("search"),
      },
      { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 1 }, preliminary: true },
      { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 2 }, ...state("found") },
      { type: "custom", kind: "acme.block", ...state("custom") },
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
      { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]), ...state("picture") },
      { type: "source", sourceType: "url", id: "s1", url: "https://example.com/", title: "E" },
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Oslo"}', ...state("call") },
      CALLED,
    ];
    const events = await ask(parts);
    const answer: Message = {
      id: "a",
      role: "assistant",
      parts: partsOf(events).map((part) =>
        part.type === "tool-call" && part.by === "capstan" ? { ...part, callId: "run/1/0" } : part,
      ),
    };
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" });
    expect(answer.parts.find(({ type }) => type === "source")).toEqual({
      type: "source",
      id: "s1",
      url: "https://example.com/",
      title: "E",
    });
    const messages = [
      user(),
      answer,
      user({
        type: "tool-result",
        callId: "run/1/0",
        name: "weather",
        output: { content: [{ type: "text", text: "rain" }] },
      }),
    ];
    const options = (value: string): object => ({ providerOptions: { acme: { value } } });
    const { prompt } = await asked({ messages });
    expect(prompt[2]?.content).toEqual([
      { type: "reasoning", text: "hm", ...options("thought") },
      { type: "text", text: "Hi", ...options("text") },
      {
        type: "tool-call",
        toolCallId: "p1",
        toolName: "search",
        input: { q: 1 },
        providerExecuted: true,
        ...options("search"),
      },
      {
        type: "tool-result",
        toolCallId: "p1",
        toolName: "search",
        output: { type: "json", value: { hits: 2 } },
        ...options("found"),
      },
      { type: "custom", kind: "acme.block", ...options("custom") },
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AQI=" } },
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AQI=" }, ...options("picture") },
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Oslo" }, ...options("call") },
    ]);
    expect(prompt[3]?.content).toMatchObject([{ type: "tool-result", toolCallId: "c1" }]);
    const other = (await asked({ messages }, { provider: "else.chat" })).prompt;
    expect(JSON.stringify(other)).not.toMatch(/acme|thought|p1|c1/);
    expect(other[2]?.content).toMatchObject([
      { type: "text", text: "Hi" },
      { type: "file" },
      { type: "tool-call", toolName: "weather" },
    ]);
    const [sent, answered] = [other[2]?.content.at(-1), other[3]?.content[0]] as unknown as readonly {
      readonly toolCallId: string;
    }[];
    expect(answered?.toolCallId).toBe(sent?.toolCallId);
  });
});

describe("aiSdk keeps the state of a text without words", () => {
  it("MODEL-14 apart from the text before it", async () => {
    const state = { providerMetadata: { google: { thoughtSignature: "sig" } } };
    const empty = [
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1", ...state },
    ];
    const answer: Message = {
      id: "a",
      role: "assistant",
      parts: partsOf(await ask([...textParts("Hi"), ...empty, STOP])),
    };
    const content = async (provider?: string) =>
      (await asked({ messages: [user(), answer, user()] }, provider === undefined ? {} : { provider })).prompt[2]
        ?.content;
    expect(await content()).toEqual([
      { type: "text", text: "Hi" },
      { type: "text", text: "", providerOptions: state.providerMetadata },
    ]);
    expect(await content("else.chat")).toEqual([{ type: "text", text: "Hi" }]);
  });
});

describe("aiSdk reads the end of an answer", () => {
  it("LOOP-19 COST-04 counts the usage of all three shapes", async () => {
    const price = { input: 2, output: 10, cacheRead: 1 };
    const two = { inputTokens: 20, outputTokens: 7, totalTokens: 27, cachedInputTokens: 6, reasoningTokens: 3 };
    const usageOf = async (usage: object, version: "v2" | "v4", provider?: string): Promise<unknown> =>
      (
        await ask([{ type: "finish", usage, finishReason: "stop" }], {
          version,
          price,
          ...(provider !== undefined && { provider }),
        })
      ).at(-1);
    expect(await usageOf(two, "v2")).toMatchObject({
      usage: { inputTokens: 14, outputTokens: 7, cacheReadTokens: 6, reasoningTokens: 3, costMicroUsd: 104 },
    });
    expect(await usageOf(two, "v2", "anthropic.messages")).toMatchObject({
      usage: { inputTokens: 20, cacheReadTokens: 6 },
    });
    expect(await usageOf(USAGE, "v4")).toMatchObject({
      usage: {
        inputTokens: 12,
        outputTokens: 7,
        cacheReadTokens: 6,
        cacheWriteTokens: 2,
        reasoningTokens: 3,
        costMicroUsd: 104,
      },
    });
    const totals = { inputTokens: { total: 20, cacheRead: 6 }, outputTokens: { text: 4, reasoning: 3 } };
    expect(await usageOf(totals, "v4")).toMatchObject({ usage: { inputTokens: 14, outputTokens: 7 } });
    expect(await usageOf({}, "v4")).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0 } });
  });

  it("LOOP-19 takes calls that ended with stop as calls", async () => {
    const call = { type: "tool-call", toolCallId: "c", toolName: "x", input: "{}" };
    expect((await ask([call, STOP])).at(-1)).toMatchObject({ reason: "tool-calls", rawReason: "end_turn" });
    expect((await ask([{ ...call, providerExecuted: true }, STOP])).at(-1)).toMatchObject({ reason: "stop" });
  });

  it("gives input that is no JSON as the text it is", async () => {
    const [part] = partsOf(
      await ask([{ type: "tool-call", toolCallId: "c", toolName: "x", input: "{not json" }, CALLED]),
    );
    expect(part).toMatchObject({ type: "tool-call", input: "{not json" });
  });

  it("LOOP-29 ends in a typed error for everything else", async () => {
    const open = { type: "text-start", id: "0" };
    const cases: readonly (readonly [readonly object[], string, boolean])[] = [
      [[...textParts("Hi"), { ...STOP, finishReason: { unified: "interrupted" } }], "model-protocol", true],
      [[{ type: "text-delta", id: "0", delta: "Hi" }, STOP], "model-protocol", true],
      [[{ type: "text-end", id: "0" }, STOP], "model-protocol", true],
      [[open, open], "model-protocol", true],
      [[open, STOP], "model-protocol", true],
      [[{ type: "tool-input-start", id: "c", toolName: "x" }, CALLED], "model-protocol", true],
      [[...textParts("Hi"), { type: "reset-step" }, STOP], "model-protocol", true],
      [[{ type: "tool-approval-request", approvalId: "a", toolCallId: "c" }, STOP], "model-protocol", false],
      [[{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, STOP], "model-overloaded", true],
      [[{ type: "error", error: "the server fell over" }, STOP], "model-failed", true],
      [[{ type: "error", error: new TypeError("terminated") }, STOP], "model-network", true],
    ];
    for (const [parts, code, retryable] of cases) {
      const error = await errorOf(ask(parts));
      expect([error.code, error.retryable, JSON.stringify(parts)]).toEqual([code, retryable, JSON.stringify(parts)]);
    }
    const ignored = [
      null,
      7,
      {},
      { type: "ping" },
      { type: "raw", rawValue: { a: 10n } },
      { type: "tomorrow" },
    ] as object[];
    expect((await ask([...ignored, ...textParts("Hi"), ...ignored, STOP])).at(-1)).toMatchObject({ reason: "stop" });
  });

  it("LOOP-29 turns what a provider throws into the error that says what to do, without its key", async () => {
    const failing = (error: unknown, options: AiSdkOptions = {}) =>
      errorOf(
        collectEvents(
          aiSdk({ ...scriptedAiModel("v4", []), doStream: () => Promise.reject(error as Error) }, options),
          modelRequest([user()]),
        ),
      );
    const api = (statusCode: number | undefined, more: object = {}): Error =>
      new APICallError({
        message: "it failed",
        url: "https://api.example.com",
        requestBodyValues: { secret: "in-the-body" },
        ...(statusCode !== undefined && { statusCode }),
        ...more,
      });
    expect(await failing(api(429, { responseHeaders: { "Retry-After": "7" } }))).toMatchObject({
      code: "model-rate-limited",
      status: 429,
      retryable: true,
      retryAfterMs: 7000,
      provider: "acme.chat",
    });
    expect(await failing(api(401))).toMatchObject({ code: "model-auth", retryable: false });
    expect(
      await failing(api(400, { responseBody: '{"error":{"message":"maximum context length exceeded"}}' })),
    ).toMatchObject({ code: "model-context-exceeded" });
    expect(await failing(api(503))).toMatchObject({ code: "model-overloaded", retryable: true });
    expect(await failing(api(500, { isRetryable: false }))).toMatchObject({ code: "model-failed", retryable: false });
    expect(await failing(api(undefined, { isRetryable: true }))).toMatchObject({
      code: "model-network",
      retryable: true,
    });
    expect(
      await failing(Object.assign(new Error("3 attempts"), { name: "AI_RetryError", lastError: api(429) })),
    ).toMatchObject({ code: "model-rate-limited" });
    expect(await failing(Object.assign(new Error("no such"), { name: "AI_NoSuchModelError" }))).toMatchObject({
      code: "model-not-found",
    });
    expect(
      await failing(Object.assign(new Error("no files"), { name: "AI_UnsupportedFunctionalityError" })),
    ).toMatchObject({ code: "model-invalid-request" });
    expect(await failing(Object.assign(new Error("odd"), { name: "AI_TypeValidationError" }))).toMatchObject({
      code: "model-protocol",
      retryable: true,
    });
    expect(await failing(new Error("a bug"))).toMatchObject({ code: "model-failed", retryable: false });
    const secret = "acme-secret-0123456789";
    for (const error of [
      api(401, { responseBody: `{"error":{"message":"bad key ${secret}"}}` }),
      new Error(`key ${secret} is bad`),
    ]) {
      const shown = await failing(error, { headers: { Authorization: `Bearer ${secret}` } });
      expect(`${shown.message} ${JSON.stringify(shown)} ${String(shown.cause)}`).not.toMatch(/acme-secret|in-the-body/);
    }
  });
});
