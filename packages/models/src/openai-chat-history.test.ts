import type { Message, ModelRequest, Part, Seal, ToolSpec } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { chatPresetFrom, openaiChatFrom, type OpenAIChatOptions } from "./openai-chat.ts";
import {
  type ChatChunk,
  chatCacheBlocks,
  collectEvents,
  billRatio,
  modelRequest,
  type OpenAIChatReply,
  type OpenAIChatServer,
  openaiChatServer,
  type OpenAIChatServerOptions,
  partsOf,
} from "./testing/index.ts";
import type { Transport } from "./transport.ts";

const MARKER = ',"cache_control":{"type":"ephemeral"}';
const base64 = Buffer.from("hello").toString("base64");
const IMAGE: Part = { type: "file", mediaType: "image/png", name: "a.png", data: { type: "base64", base64 } };
const PDF: Part = { type: "file", mediaType: "application/pdf", name: "a.pdf", data: { type: "base64", base64 } };

function message(role: Message["role"], ...parts: readonly (Part | string)[]): Message {
  const made = parts.map((part): Part => (typeof part === "string" ? { type: "text", text: part } : part));
  return { id: `${role}-${JSON.stringify(parts).length}`, role, parts: made };
}

function call(callId: string, seal?: Seal): Part {
  return { type: "tool-call", callId, name: "look", input: {}, by: "capstan", ...(seal !== undefined && { seal }) };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function result(callId: string, ...content: readonly (Part | string)[]): Part {
  const made = message("user", ...content).parts.filter((part) => part.type === "text" || part.type === "file");
  return { type: "tool-result", callId, name: "look", output: { content: made } };
}

type Sent = { readonly messages: readonly { readonly [name: string]: unknown }[]; readonly text: string };

/** What the server receives, after the system text. */
async function sent(
  messages: readonly Message[],
  options: OpenAIChatOptions = {},
  more: Partial<ModelRequest> = {},
  rules: OpenAIChatServerOptions = {},
): Promise<Sent> {
  await using server = await openaiChatServer([{ text: "ok" }], rules);
  const given = { name: "acme", apiKey: "test-key-1", baseUrl: `${server.url}/v1`, ...options };
  const model =
    rules.cacheControl === true || rules.reasoning === "reasoning_details"
      ? chatPresetFrom("openrouter", {}, "anthropic/claude-x", given)
      : openaiChatFrom({}, "large", given);
  await collectEvents(model, modelRequest(messages, more));
  expect(server.violations).toEqual([]);
  const [request] = server.requests;
  const list = request?.body["messages"] as Sent["messages"]; // the check has seen a list
  return { messages: list.slice(1), text: request?.text ?? "" };
}

describe("openaiChat's history", () => {
  it("says texts as one string, and skips empty ones and what is not for it", async () => {
    const { messages } = await sent([
      message("user", "Hello", " ", "again"),
      message("assistant", { type: "reasoning", text: "Hm." }, "One ", { type: "source", id: "s", url: "u" }, "Two \n"),
      message("assistant", { type: "opaque", seal: { provider: "acme", data: { x: 1 } } }),
      message("assistant", { type: "reasoning", text: "nothing else" }),
      message("user", " "),
      message("system", "Be brief."),
      message("assistant", "Cut off", "<system>User interrupted this message</system>"),
    ]);
    expect(messages).toEqual([
      { role: "user", content: "Hello\n\nagain" },
      { role: "assistant", content: "One \n\nTwo" },
      { role: "user", content: "<system>Be brief.</system>" },
      { role: "assistant", content: "Cut off\n\n<system>User interrupted this message</system>" },
    ]);
  });

  it("keeps the results of a turn together, right behind their calls", async () => {
    const { messages } = await sent([
      message("user", "Go"),
      message("assistant", "Looking", call("r/1/0"), call("r/1/1")),
      message("user", result("r/1/1", "two", IMAGE), "a steering word"),
      message("user", result("r/1/0", "one")),
      message("assistant", "Done."),
    ]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user", "assistant"]);
  });

  it("gives calls their own ids back, and others where there are none or they were used", async () => {
    const own = (id: string, provider = "acme"): Seal => ({ provider, data: { id } });
    const { messages } = await sent([
      message("user", "Go"),
      message("assistant", call("a", own("call_1")), call("b", own("functions.look:0")), call("c")),
      message("user", result("a", "1"), result("b", "2"), result("c", "3")),
      message("assistant", call("d", own("call_1")), call("e", own("other-1", "other"))),
      message("user", result("d", "4"), result("e", "5")),
    ]);
    const ids = messages.flatMap(({ tool_calls: calls }) =>
      Array.isArray(calls) ? calls.map((item) => Object(item).id) : [],
    );
    expect(ids[0]).toBe("call_1");
    expect(new Set(ids).size).toBe(5);
    expect(JSON.stringify(messages)).not.toContain("other-1");
  });

  it("sends inputs as the text of an object, whatever the model had written", async () => {
    const inputs = [{ a: 1 }, null, "not {json", [1], 7];
    const calls = inputs.map((input, at): Part => ({ ...call(`c${at}`), input }) as Part);
    const results = inputs.map((_input, at) => result(`c${at}`, "x"));
    const { messages } = await sent([
      message("user", "Go"),
      message("assistant", ...calls),
      message("user", ...results),
    ]);
    const texts = listOf(messages[1]?.["tool_calls"]).map((item) => String(Object(Object(item).function).arguments));
    expect(texts.map((text) => JSON.parse(text))).toEqual([
      { a: 1 },
      {},
      { input: "not {json" },
      { input: [1] },
      { input: 7 },
    ]);
  });

  it("says what failed, what is empty, what is structured and what changed", async () => {
    const outputs: readonly (Part & { readonly type: "tool-result" })["output"][] = [
      { content: [{ type: "text", text: "It broke" }], isError: true },
      { content: [] },
      { content: [], output: { a: 1 } },
      { content: [{ type: "diff", path: "a.txt", before: "x", after: "y" }] },
    ];
    const { messages } = await sent([
      message("user", "Go"),
      message("assistant", ...outputs.map((_output, at) => call(`c${at}`))),
      message(
        "user",
        ...outputs.map((output, at): Part => ({ type: "tool-result", callId: `c${at}`, name: "look", output })),
      ),
    ]);
    expect(messages.slice(2).map(({ content }) => content)).toEqual([
      "Error:\n\nIt broke",
      "(no output)",
      '{"a":1}',
      "a.txt @@ -1,1 +1,1 @@\n-x\n+y",
    ]);
  });

  it("TOOL-43 sends images, documents and texts, inline, from blobs and by URL", async () => {
    const parts: Part[] = [
      IMAGE,
      { type: "file", mediaType: "image/jpg", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "image/webp", data: { type: "url", url: "https://x.example/a.webp" } },
      PDF,
      { type: "file", mediaType: "application/pdf", data: { type: "url", url: "https://x.example/a.pdf" } },
      { type: "file", mediaType: "text/markdown", name: "a.md", data: { type: "base64", base64 } },
      { type: "file", mediaType: "text/plain", data: { type: "base64", base64: "" } },
      { type: "file", mediaType: "audio/wav", name: "a.wav", data: { type: "base64", base64 } },
    ];
    const capabilities = { files: ["application/pdf"] };
    const { messages } = await sent(
      [message("user", ...parts)],
      { capabilities },
      { blob: async () => Buffer.from("hello") },
    );
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } },
          { type: "image_url", image_url: { url: `data:image/jpeg;base64,${base64}` } },
          { type: "image_url", image_url: { url: "https://x.example/a.webp" } },
          { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${base64}` } },
          { type: "text", text: "[File application/pdf: https://x.example/a.pdf]" },
          { type: "text", text: "a.md:\nhello" },
          { type: "text", text: "[File text/plain: it is empty]" },
          { type: "text", text: "[File a.wav (audio/wav): this model cannot read it]" },
        ],
      },
    ]);
  });

  it("TOOL-43 puts a text in place of what the model cannot see", async () => {
    const { messages } = await sent([message("user", IMAGE, PDF)], { capabilities: { images: false } });
    const why = "this model cannot read it";
    expect(messages).toEqual([
      { role: "user", content: `[File a.png (image/png): ${why}]\n\n[File a.pdf (application/pdf): ${why}]` },
    ]);
  });

  it("TOOL-43 TOOL-25 shows the images of results in a message right behind them", async () => {
    const { messages } = await sent([
      message("user", "Go"),
      message("assistant", call("c0"), call("c1")),
      message("user", result("c0", "A chart:", IMAGE), result("c1", PDF)),
    ]);
    expect(messages.slice(2)).toEqual([
      {
        role: "tool",
        tool_call_id: expect.any(String),
        content: "A chart:\n\n[File a.png (image/png): see the message below]",
      },
      {
        role: "tool",
        tool_call_id: expect.any(String),
        content: "[File a.pdf (application/pdf): this model cannot read it]",
      },
      {
        role: "user",
        content: [
          { type: "text", text: "[File a.png (image/png): from the result of look]" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } },
        ],
      },
    ]);
  });

  it("TOOL-43 leaves images in the results of a server that takes them there", async () => {
    let body = "";
    const transport: Transport = async (request) => {
      body = [request.body].flat().join("");
      throw new Error("enough");
    };
    const options = { baseUrl: "http://127.0.0.1:1/v1", transport, capabilities: { imageInToolResult: true } };
    const history = [
      message("user", "Go"),
      message("assistant", call("c0")),
      message("user", result("c0", "A", IMAGE)),
    ];
    const reading = collectEvents(openaiChatFrom({}, "large", options), modelRequest(history));
    await expect(reading).rejects.toThrow("enough");
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } };
    const content = [{ type: "text", text: "A" }, image];
    expect(listOf(Object(JSON.parse(body)).messages).slice(3)).toEqual([
      { role: "tool", tool_call_id: expect.any(String), content },
    ]);
  });

  it("TOOL-25 refuses what is too large before it is sent", async () => {
    const large: Part = { ...IMAGE, data: { type: "base64", base64: "A".repeat(7_000_000) } } as Part;
    await expect(sent([message("user", large)])).rejects.toMatchObject({ code: "model-invalid-request" });
  });
});

describe("openaiChat's reasoning", () => {
  async function afterTurn(
    first: OpenAIChatReply,
    options: OpenAIChatOptions,
    rules: OpenAIChatServerOptions,
    change: (parts: readonly Part[]) => readonly Part[] = (parts) => parts,
    secondModel = "large",
  ): Promise<{ readonly [name: string]: unknown } | undefined> {
    await using server = await openaiChatServer([first, { text: "ok" }], rules);
    const given = { name: "acme", apiKey: "test-key-1", baseUrl: `${server.url}/v1`, ...options };
    const ask = [message("user", "Hello")];
    const parts = change(partsOf(await collectEvents(openaiChatFrom({}, "large", given), modelRequest(ask))));
    const next = openaiChatFrom({}, secondModel, given);
    await collectEvents(next, modelRequest([...ask, message("assistant", ...parts), message("user", "More")]));
    expect(server.violations).toEqual([]);
    const list = server.requests[1]?.body["messages"] as { readonly [name: string]: unknown }[]; // as checked
    return list.find(({ role }) => role === "assistant");
  }
  const reply = { reasoning: "Let me think about it for a while.", text: "Yes." };

  it("MODEL-16 goes back in the member that the server reads", async () => {
    for (const reasoning of ["reasoning", "reasoning_content"] as const) {
      const back = await afterTurn(reply, { dialect: { reasoningOut: reasoning } }, { reasoning });
      expect(back).toEqual({ role: "assistant", [reasoning]: reply.reasoning, content: "Yes." });
    }
    expect(await afterTurn(reply, {}, {})).toEqual({ role: "assistant", content: "Yes." });
  });

  it("MODEL-16 goes back as OpenRouter's details, whole and in order", async () => {
    const details = [
      { type: "reasoning.summary", summary: "Short", index: 0, id: "rs_1", format: "openai-responses-v1" },
      { type: "reasoning.encrypted", data: "b64==", index: 1, id: "rs_1", format: "openai-responses-v1" },
      { type: "reasoning.text", text: "Unsigned", index: 2, format: "google-gemini-v1" },
      { type: "reasoning.server_tool_call", index: 3, payload: { a: [1] } },
    ];
    const deltas = [
      { reasoning_details: [{ ...details[0], summary: "Sh" }] },
      { reasoning_details: [{ ...details[0], summary: "ort" }, details[1]] },
      { content: "Yes, " },
      { reasoning_details: [{ ...details[2], text: "Unsi" }] },
      { content: "no." },
      { reasoning_details: [{ ...details[2], text: "gned" }, details[3]] },
    ];
    const first: OpenAIChatReply = {
      text: "",
      edit: ([start = "", ...rest]) => [
        start,
        ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
        ...rest,
      ],
    };
    await using server = await openaiChatServer([first, { text: "ok" }], {});
    const given = { name: "acme", apiKey: "test-key-1", baseUrl: `${server.url}/v1` };
    const model = openaiChatFrom({}, "large", { ...given, dialect: { reasoningOut: "reasoning_details" } });
    const parts = partsOf(await collectEvents(model, modelRequest([message("user", "Hello")])));
    expect(parts.map((part) => [part.type, "text" in part ? part.text : ""])).toEqual([
      ["reasoning", "Short"],
      ["text", "Yes, "],
      ["reasoning", "Unsi"],
      ["text", "no."],
      ["reasoning", "gned"],
    ]);
    const history = [message("user", "Hello"), message("assistant", ...parts), message("user", "More")];
    await collectEvents(model, modelRequest(history)).catch(() => undefined); // the strict server knows no details here
    expect(server.requests[1]?.body["messages"]).toMatchObject([
      {},
      {},
      { role: "assistant", reasoning_details: details, content: "Yes, \n\nno." },
      {},
    ]);
  });

  it("MODEL-16 puts a signature that comes after the text began to its thinking", async () => {
    const isSigned = (chunk: unknown): boolean => JSON.stringify(chunk).includes('"signature"');
    const edit = (all: readonly ChatChunk[]): readonly ChatChunk[] => {
      const [last = ""] = all.filter(isSigned);
      const others = all.filter((chunk) => !isSigned(chunk));
      return [...others.slice(0, -3), last, ...others.slice(-3)];
    };
    await using server = await openaiChatServer([{ ...reply, edit }, { text: "ok" }], CLAUDE);
    const given = { apiKey: "test-key-1", baseUrl: `${server.url}/v1` };
    const model = chatPresetFrom("openrouter", {}, "anthropic/claude-x", given);
    const parts = partsOf(await collectEvents(model, modelRequest([message("user", "Hello")])));
    expect(parts.map(({ type }) => type)).toEqual(["reasoning", "text", "reasoning"]);
    const history = [message("user", "Hello"), message("assistant", ...parts), message("user", "More")];
    await collectEvents(model, modelRequest(history)); // the server takes nothing but what it issued, whole
    expect(server.violations).toEqual([]);
    expect(server.requests[1]?.text).toContain('"signature":"sig_');
  });

  it("MODEL-16 drops Claude's thinking without a signature", async () => {
    const detail = { type: "reasoning.text", text: "Cut", index: 0, format: "anthropic-claude-v1", signature: null };
    const data = { model: "anthropic/claude-x", details: [detail] };
    const parts = [{ type: "reasoning", text: "Cut", seal: { provider: "openrouter", data } } as const, "Yes."];
    const { messages } = await sent([message("user", "Hello"), message("assistant", ...parts)], {}, {}, CLAUDE);
    expect(messages[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "Yes." }] });
  });

  it("MODEL-16 drops the reasoning of other servers and models", async () => {
    const options = { dialect: { reasoningOut: "reasoning" } } as const;
    const rules = { reasoning: "reasoning" } as const;
    const foreign = (parts: readonly Part[]): readonly Part[] =>
      parts.map((part) =>
        part.type === "reasoning" ? { ...part, seal: { provider: "other", data: { model: "large" } } } : part,
      );
    const bare = (parts: readonly Part[]): readonly Part[] =>
      parts.map((part) => (part.type === "reasoning" ? { type: part.type, text: part.text } : part));
    const expected = { role: "assistant", content: "Yes." };
    expect(await afterTurn(reply, options, rules, foreign)).toEqual(expected);
    expect(await afterTurn(reply, options, rules, bare)).toEqual(expected);
    expect(await afterTurn(reply, options, rules, undefined, "another")).toEqual(expected);
  });

  it("MODEL-16 keeps what a server wants back with its calls", async () => {
    const extra_content = { google: { thought_signature: "sig" } };
    const edit = (all: readonly unknown[]): never =>
      JSON.parse(
        JSON.stringify(all).replace(
          '"type":"function"',
          `"type":"function","extra_content":${JSON.stringify(extra_content)}`,
        ),
      ) as never;
    await using server = await openaiChatServer([{ calls: [{ name: "look" }], edit }]);
    const model = openaiChatFrom({}, "large", { name: "acme", apiKey: "test-key-1", baseUrl: `${server.url}/v1` });
    const [part] = partsOf(await collectEvents(model, modelRequest([message("user", "Hello")])));
    expect(part).toMatchObject({ type: "tool-call", seal: { data: { extra: { extra_content } } } });
    const named = { ...part, callId: "c0" } as Part;
    const { text } = await sent([
      message("user", "Go"),
      message("assistant", named),
      message("user", result("c0", "x")),
    ]);
    expect(text).toContain(`"extra_content":${JSON.stringify(extra_content)}`);
  });

  it("tells DeepSeek that a call of another model had no reasoning", async () => {
    const { messages } = await sent(
      [message("user", "Go"), message("assistant", call("c0")), message("user", result("c0", "x"))],
      { dialect: { reasoningOut: "reasoning_content" } },
      {},
      { reasoning: "reasoning_content" },
    );
    expect(messages[1]).toMatchObject({ reasoning_content: "" });
  });
});

const SYSTEM = "You are a careful assistant. ".repeat(100);
const TOOLS: readonly ToolSpec[] = [
  { name: "look", description: "Looks. ".repeat(50), inputSchema: { type: "object" } },
];

/** What the loop does with a conversation; the plan of core in its plain case. */
async function converse(
  server: OpenAIChatServer,
  turns: number,
  options: OpenAIChatOptions = {},
  fresh = false,
): Promise<void> {
  const make = () =>
    chatPresetFrom("openrouter", {}, "anthropic/claude-x", {
      apiKey: "test-key-1",
      baseUrl: `${server.url}/v1`,
      ...options,
    });
  let model = make();
  let messages: Message[] = [message("user", "Look around")];
  for (let turn = 0; turn < turns; turn++) {
    const previousTail = messages.findLastIndex(({ role }) => role === "assistant") - 1;
    const cache = [-1, ...(previousTail >= 0 ? [previousTail] : []), messages.length - 1];
    const parts = partsOf(
      await collectEvents(model, modelRequest([...messages], { system: SYSTEM, tools: TOOLS, cache })),
    );
    let at = 0;
    const named = parts.map((part): Part =>
      part.type === "tool-call" ? { ...part, callId: `r/${turn}/${at++}` } : part,
    );
    const results = Array.from({ length: at }, (_, index) =>
      result(`r/${turn}/${index}`, `seen ${turn} ${index} `.repeat(20), IMAGE),
    );
    messages.push(message("assistant", ...named), message("user", ...results));
    if (fresh) {
      model = make();
      messages = structuredClone(messages);
    }
  }
}

function looking(calls: number): (request: unknown, index: number) => OpenAIChatReply {
  return (_request, index) => ({
    reasoning: `Turn ${index}.`,
    text: `Turn ${index}: I look.`,
    calls: Array.from({ length: calls }, (_, at) => ({ name: "look", input: { turn: index, at } })),
  });
}

const CLAUDE = { reasoning: "reasoning_details", cacheControl: true, toolMarkers: true, cost: 0 } as const;

describe("openaiChat's cache markers", () => {
  it("COST-02 stand on the last part of a message, also when it is an image or a document", async () => {
    for (const last of [IMAGE, PDF, "text"] as const) {
      const { text, messages } = await sent([message("user", "Look", last)], {}, { cache: [-1, 0] }, CLAUDE);
      expect(text.endsWith(`${MARKER}}]}]}`)).toBe(true);
      expect(messages[0]?.["content"]).toMatchObject([{ type: "text" }, { cache_control: { type: "ephemeral" } }]);
      expect(text.split(MARKER)).toHaveLength(3); // and one on the system text
    }
  });

  it("COST-02 go to the nearest message before where a message cannot carry one", async () => {
    const history = [message("user", "Go"), message("assistant", call("c0")), message("user", result("c0", "x"))];
    const { messages } = await sent(history, {}, { cache: [1] }, CLAUDE);
    expect(messages[0]).toMatchObject({ content: [{ text: "Go", cache_control: { type: "ephemeral" } }] });
    const tail = await sent(history, {}, { cache: [2] }, CLAUDE);
    expect(tail.messages[2]).toMatchObject({
      role: "tool",
      content: [{ text: "x", cache_control: { type: "ephemeral" } }],
    });
  });

  it("COST-02 are at most four, the last ones", async () => {
    const history = Array.from({ length: 6 }, (_, at) => message("user", `m${at}`));
    const { text } = await sent(history, {}, { cache: [-1, 0, 1, 2, 3, 4, 5] }, CLAUDE);
    expect(text.split(MARKER)).toHaveLength(5);
    expect(text.lastIndexOf("m3") < text.lastIndexOf(MARKER)).toBe(true);
  });

  it("COST-01 COST-03 stand on the last tool too, at a server that takes them there, while there is room", async () => {
    const tools = ["look", "see"].map((name) => ({ name, description: "Looks.", inputSchema: { type: "object" } }));
    const marked = async (cache: readonly number[], rules: OpenAIChatServerOptions = CLAUDE): Promise<unknown> => {
      await using server = await openaiChatServer([{ text: "ok" }], rules);
      const given = { apiKey: "test-key-1", baseUrl: `${server.url}/v1`, capabilities: { cacheMarkers: true } };
      const model =
        rules === CLAUDE
          ? chatPresetFrom("openrouter", {}, "anthropic/claude-x", given)
          : openaiChatFrom({}, "m", given);
      const history = Array.from({ length: 5 }, (_, at) => message("user", `m${at}`));
      await collectEvents(model, modelRequest(history, { cache, tools }));
      expect(server.violations).toEqual([]);
      const sentTools = server.requests[0]?.body["tools"] as readonly object[]; // the check has seen a list
      return sentTools.map((tool) => "cache_control" in tool);
    };
    expect(await marked([-1, 4])).toEqual([false, true]);
    expect(await marked([-1, 2, 4])).toEqual([false, true]);
    expect(await marked([-1, 1, 2, 4])).toEqual([false, false]);
    expect(await marked([4])).toEqual([false, false]);
    expect(await marked([-1, 4], { cacheControl: true })).toEqual([false, false]);
  });

  it("COST-03 go only where the endpoint knows them", async () => {
    const more = { cache: [-1, 0] };
    expect((await sent([message("user", "Hello")], {}, more)).text).not.toContain("cache_control");
    const other = { capabilities: { cacheMarkers: true } };
    await using server = await openaiChatServer([{ text: "ok" }], { cacheControl: true });
    const given = { apiKey: "test-key-1", baseUrl: `${server.url}/v1` };
    await collectEvents(
      openaiChatFrom({}, "m", { ...given, ...other }),
      modelRequest([message("user", "Hello")], more),
    );
    expect(server.requests[0]?.text).toContain(MARKER);
    const known = (id: string): unknown => chatPresetFrom("openrouter", {}, id, given).capabilities.cacheMarkers;
    expect([known("anthropic/claude-sonnet-5-5"), known("openai/gpt-x"), known("x/anthropic/")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("COST-01 make the input bill the ideal one for tool turns, images included", async () => {
    for (const calls of [1, 8]) {
      await using server = await openaiChatServer(looking(calls), CLAUDE);
      await converse(server, 8);
      expect(server.violations).toEqual([]);
      expect(billRatio(server.requests, chatCacheBlocks)).toBeCloseTo(1, 6);
    }
  });
});

describe("the bytes of openaiChat's request", () => {
  for (const [name, options, rules] of [
    ["with markers", {}, CLAUDE],
    [
      "without",
      { capabilities: { cacheMarkers: false }, dialect: { reasoningOut: "reasoning" } },
      { reasoning: "reasoning" },
    ],
  ] as const) {
    it(`COST-09 begin with those of the turn before, ${name}, also from another process`, async () => {
      const last: string[] = [];
      for (const fresh of [false, true]) {
        await using server = await openaiChatServer(looking(3), rules);
        await converse(server, 6, options, fresh);
        expect(server.violations).toEqual([]);
        const texts = server.requests.map(({ text }) => text.replaceAll(MARKER, "").replace(/\]\}$/, ""));
        for (const [index, text] of texts.entries())
          if (index > 0) expect(text.startsWith(`${texts[index - 1]},`)).toBe(true);
        last.push(server.requests.at(-1)?.text ?? "");
      }
      expect(last[0]).toBe(last[1]);
    });
  }
});
