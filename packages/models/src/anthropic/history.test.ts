import type { Message, ModelRequest, Part, Seal, ToolCallPart, ToolOutput } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAnthropicHistory, modelRequest } from "../testing/index.ts";
import { bodyEncoder } from "./body.ts";

const options = {
  modelId: "claude-a",
  maxOutputTokens: 1_000,
  maxOutputLimit: 10_000,
  extraBody: undefined,
  thinking: "adaptive",
  images: true,
  cacheMarkers: true,
} as const;

type Wire = { readonly role: string; readonly content: readonly { readonly [name: string]: unknown }[] };

async function wire(messages: readonly Message[], more: Partial<ModelRequest> = {}, encode = bodyEncoder(options)) {
  const segments = await encode(modelRequest(messages, more));
  return JSON.parse(segments.join("")) as { readonly messages: readonly Wire[]; readonly [name: string]: unknown };
}

let ids = 0;
function message(role: Message["role"], ...parts: readonly (Part | string)[]): Message {
  const id = `m${ids++}`;
  return { id, role, parts: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)) };
}
function call(callId: string, seal?: Seal, input: ToolCallPart["input"] = {}): ToolCallPart {
  return { type: "tool-call", callId, name: "t", input, by: "capstan", ...(seal !== undefined && { seal }) };
}
function result(callId: string, output: Partial<ToolOutput> = {}): Part {
  return { type: "tool-result", callId, name: "t", output: { content: [{ type: "text", text: "done" }], ...output } };
}
function sealed(id: string): Seal {
  return { provider: "anthropic", data: { id } };
}
function thinking(text: string, model = "claude-a"): Part {
  return { type: "reasoning", text, seal: { provider: "anthropic", data: { signature: "sig", model } } };
}
const marker = { cache_control: { type: "ephemeral" } };

describe("historyEncoder", () => {
  it("joins messages of one role and puts tool results first", async () => {
    const { messages } = await wire([
      message("user", "a"),
      message("user", "b"),
      message("assistant", "c", call("c1", sealed("toolu_1"))),
      message("user", "steer"),
      message("user", result("c1"), "more"),
    ]);
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "c" },
          { type: "tool_use", id: "toolu_1", name: "t", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "done" }] },
          { type: "text", text: "steer" },
          { type: "text", text: "more" },
        ],
      },
    ]);
  });

  it("sends no empty text, drops messages that hold nothing, and ends no answer with white space", async () => {
    const { messages } = await wire([
      message("user", " ", "a", ""),
      message("assistant", " \n"),
      message("user", "b"),
      message("assistant", "c  \n"),
    ]);
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "c" }] },
    ]);
  });

  it("makes an object of every tool input", async () => {
    const inputs = [{ a: 1 }, null, "raw {", [1], 5];
    const parts = inputs.map((input, index) => call(`c${index}`, undefined, input));
    const { messages } = await wire([
      message("user", "a"),
      message("assistant", ...parts),
      message("user", ...parts.map(({ callId }) => result(callId))),
    ]);
    const sent = messages[1]?.content.map(({ input }) => input);
    expect(sent).toEqual([{ a: 1 }, {}, { input: "raw {" }, { input: [1] }, { input: 5 }]);
    expect(checkAnthropicHistory(messages)).toEqual([]);
  });

  it("derives ids for calls of others, and for ids that the API refuses or that occur twice", async () => {
    const foreign: Seal = { provider: "openai", data: { id: "fc_1" } };
    const calls = [
      call("run/1/0", foreign),
      call("run/1/1"),
      call("run/1/2", sealed("bad id!")),
      call("run/1/3", sealed("same")),
      call("run/1/4", sealed("same")),
    ];
    const again = call("run/2/0", sealed("same"));
    const { messages } = await wire([
      message("user", "a"),
      message("assistant", ...calls),
      message("user", ...calls.map(({ callId }) => result(callId))),
      message("assistant", again),
      message("user", result(again.callId)),
    ]);
    expect(checkAnthropicHistory(messages)).toEqual([]);
    expect(messages[1]?.content[3]).toMatchObject({ id: "same" });
  });

  it("MODEL-16 sends reasoning back only with this model's own seal", async () => {
    const redacted: Part = {
      type: "reasoning",
      text: "",
      seal: { provider: "anthropic", data: { redacted: "x", model: "claude-a" } },
    };
    const { messages } = await wire([
      message("user", "a"),
      message(
        "assistant",
        thinking("mine"),
        redacted,
        thinking("another model's", "claude-b"),
        { type: "reasoning", text: "unsealed" },
        { type: "reasoning", text: "foreign", seal: { provider: "openai", data: { encrypted: "x" } } },
        { type: "opaque", seal: { provider: "openai", data: { type: "x" } } },
        { type: "opaque", seal: { provider: "anthropic", data: { type: "server_tool_use", id: "s" } } },
        "b",
        thinking("at the end"),
      ),
    ]);
    expect(messages[1]?.content).toEqual([
      { type: "thinking", thinking: "mine", signature: "sig" },
      { type: "redacted_thinking", data: "x" },
      { type: "server_tool_use", id: "s" },
      { type: "text", text: "b" },
    ]);
  });

  it("sends results of every kind", async () => {
    const png = { type: "file", mediaType: "image/png", data: { type: "base64", base64: "aGk=" } } as const;
    const diff = { type: "diff", path: "a.ts", before: "1\n2\n3", after: "1\nx\n3" } as const;
    const outputs: Partial<ToolOutput>[] = [
      { content: [{ type: "text", text: "t" }, png, diff] },
      { content: [], output: { a: 1 } },
      { content: [], isError: true },
      { content: [{ type: "text", text: "  " }] },
    ];
    const calls = outputs.map((_, index) => call(`c${index}`));
    const { messages } = await wire([
      message("user", "a"),
      message("assistant", ...calls),
      message("user", ...outputs.map((output, index) => result(`c${index}`, output))),
    ]);
    expect(messages[2]?.content.map(({ content, is_error: isError }) => [content, isError])).toEqual([
      [
        [
          { type: "text", text: "t" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
          { type: "text", text: "a.ts @@ -2,1 +2,1 @@\n-2\n+x" },
        ],
        undefined,
      ],
      [[{ type: "text", text: '{"a":1}' }], undefined],
      [undefined, true],
      [undefined, undefined],
    ]);
    expect(checkAnthropicHistory(messages)).toEqual([]);
  });

  it("replaces lone surrogates, which the API refuses", async () => {
    const broken = `x${"\u{1F600}".slice(0, 1)}y \\ud83d`;
    const { messages } = await wire([
      message("user", broken),
      message("assistant", call("c", undefined, { a: [broken] })),
      message("user", result("c")),
    ]);
    expect(messages[0]?.content).toEqual([{ type: "text", text: "x\uFFFDy \\ud83d" }]);
    expect(messages[1]?.content[0]?.["input"]).toEqual({ a: ["x\uFFFDy \\ud83d"] });
  });

  it("sends a system message between others as tagged text of the user", async () => {
    const { messages } = await wire([message("user", "a"), message("system", "mode is plan")]);
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "<system>mode is plan</system>" },
        ],
      },
    ]);
  });

  it("COST-01 COST-02 marks the last block of a message whatever its kind", async () => {
    const pdf: Part = { type: "file", mediaType: "application/pdf", data: { type: "base64", base64: "aGk=" } };
    const history = [
      message("user", "a", pdf),
      message("assistant", call("c1")),
      message("user", result("c1")),
      message("user", "b"),
    ];
    const body = await wire(history, { cache: [-1, 0, 1, 2] });
    expect(body["system"]).toEqual([{ type: "text", text: "You are helpful.", ...marker }]);
    const marks = body.messages.map(({ content }) => content.map((block) => block["cache_control"] !== undefined));
    expect(marks).toEqual([[false, true], [true], [true, false]]);
  });

  it("COST-02 marks the block before where the last cannot carry a marker", async () => {
    const opaque: Part = {
      type: "opaque",
      seal: { provider: "anthropic", data: { type: "server_tool_use", id: "s" } },
    };
    const history = [
      message("user", "a"),
      message("assistant", "b", thinking("t"), opaque),
      message("assistant", thinking("t"), opaque),
      message("user", " "),
    ];
    const { messages } = await wire(history, { cache: [3] });
    expect(messages).toMatchObject([{}, { content: [{ type: "text", ...marker }, { type: "thinking" }, {}, {}, {}] }]);
    const bare = await wire([message("user", "a"), message("assistant", opaque)], { cache: [1] });
    expect(bare.messages[0]?.content).toEqual([{ type: "text", text: "a", ...marker }]);
  });

  it("COST-01 COST-03 sends at most four markers, on tools when there is no system, and none where they are refused", async () => {
    const history = Array.from({ length: 8 }, (_, index) =>
      message(index % 2 === 0 ? "user" : "assistant", `m${index}`),
    );
    const tools = [1, 2].map((index) => ({ name: `t${index}`, description: "d", inputSchema: { type: "object" } }));
    const request = { system: "", tools, cache: [-1, 1, 2, 4, 6] };
    const marked = await wire(history, request);
    expect(marked["tools"]).toMatchObject([{}, marker]);
    const places = marked.messages.flatMap(({ content }, index) =>
      content[0]?.["cache_control"] === undefined ? [] : [index],
    );
    expect([places, "system" in marked]).toEqual([[2, 4, 6], false]);
    const plain = await wire(history, request, bodyEncoder({ ...options, cacheMarkers: false }));
    expect(JSON.stringify(plain)).not.toContain("cache_control");
  });

  it("COST-09 sends the same bytes for a message in every turn, in whatever order conversations come", async () => {
    const encode = bodyEncoder(options);
    const shared = message("user", "a");
    const forks = ["x", "y"].map((name) => {
      const turn = call(`${name}/1`, sealed("toolu_1"));
      return [
        shared,
        message("assistant", name, turn),
        message("user", result(turn.callId)),
        message("assistant", "end"),
        message("user", "b"),
      ];
    });
    const alone = await Promise.all(forks.map((fork) => wire(fork)));
    for (let turn = 1; turn <= 5; turn += 2) {
      for (const [index, fork] of forks.entries()) {
        const { messages } = await wire(fork.slice(0, turn), {}, encode);
        expect(messages).toEqual(alone[index]?.messages.slice(0, turn));
      }
    }
    const [first] = forks;
    expect((await wire(first?.slice(3) ?? [], {}, encode)).messages).toEqual(alone[0]?.messages.slice(3));
  });

  it("encodes every history that is valid for the loop to one that the API accepts", async () => {
    const textPart = fc.constantFrom("hello", " ", "x \n", "\uD800");
    const turn = fc.record({
      lead: fc.array(textPart, { maxLength: 2 }),
      think: fc.boolean(),
      calls: fc.array(fc.constantFrom("dup", "toolu_1", "bad id", undefined), { maxLength: 4 }),
      split: fc.boolean(),
      steer: fc.option(textPart),
      follow: fc.array(textPart, { maxLength: 2 }),
    });
    const encode = bodyEncoder(options);
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 5 }),
        fc.array(fc.integer({ min: -1, max: 20 }), { maxLength: 6 }),
        async (turns, cache) => {
          const history = [message("user", "begin")];
          for (const [index, { lead, think, calls, split, steer, follow }] of turns.entries()) {
            const made = calls.map((id, at) => call(`r/${index}/${at}`, id === undefined ? undefined : sealed(id)));
            history.push(message("assistant", ...(think ? [thinking("t")] : []), ...lead, ...made));
            const results = made.map(({ callId }) => result(callId));
            if (steer !== null) history.push(message("user", steer));
            if (split) history.push(...results.map((part) => message("user", part)));
            else history.push(message("user", ...results, ...follow));
          }
          const body = await wire(history, { cache: cache.toSorted((a, b) => a - b) }, encode);
          expect(checkAnthropicHistory(body.messages)).toEqual([]);
          expect(JSON.stringify(body).split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
        },
      ),
      { numRuns: 200 },
    );
  });
});
