import { describe, expect, it } from "vitest";
import { checkOpenAIChatHistory, type ChatHistoryRules } from "./check-openai-chat-history.ts";
import { checkOpenAIChatRequest, type ChatRules } from "./check-openai-chat-request.ts";
import { openaiChatServer } from "./openai-chat-server.ts";

const headers = { authorization: "Bearer k", "content-type": "application/json" };
const hello = { role: "user", content: "Hello" };
const asks = (...ids: readonly string[]): object => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "t", arguments: "{}" } })),
});
const told = (id: string): object => ({ role: "tool", tool_call_id: id, content: "done" });
const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };

describe("checkOpenAIChatHistory", () => {
  it("accepts what the API accepts", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
    const pdf = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" } };
    const history = [
      { role: "developer", content: "Be brief." },
      hello,
      { ...asks("a", "b"), reasoning: "Hm." },
      told("b"),
      told("a"),
      { role: "user", content: [{ type: "text", text: "see" }, image, pdf] },
      { role: "assistant", content: "Done." },
    ];
    expect(checkOpenAIChatHistory(history, { reasoningBack: "reasoning" })).toEqual([]);
  });

  const cases: readonly (readonly [problem: string, messages: unknown, rules?: ChatHistoryRules])[] = [
    ["must be a list", []],
    ["nobody asks", [{ role: "system", content: "x" }]],
    ["unknown role", [hello, { role: "function", content: "x" }]],
    ["unknown field", [{ ...hello, cache_control: {} }]],
    ["unknown field", [hello, { role: "assistant", content: "x", reasoning: "y" }]],
    ["must come first", [hello, { role: "system", content: "x" }]],
    ["the role here is developer", [{ role: "system", content: "x" }, hello], { systemRole: "developer" }],
    ["must not be empty", [{ role: "user", content: " " }]],
    ["must be a string or parts", [{ role: "user", content: [] }]],
    ["content: missing", [hello, { role: "assistant", content: null }]],
    [
      "only texts",
      [hello, asks("a"), { ...told("a"), content: [{ type: "image_url", image_url: { url: "https://x" } }] }],
    ],
    ["more than white space", [{ role: "user", content: [{ type: "text", text: " " }] }]],
    ["cannot read the image", [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }]],
    ["cannot read the file", [{ role: "user", content: [{ type: "file", file: { file_data: "x" } }] }]],
    ["unknown part", [{ role: "user", content: [{ type: "video" }] }]],
    ["no result of a", [hello, asks("a"), hello]],
    ["no result of b", [hello, asks("a", "b"), told("a"), hello, told("b")]],
    ["no result of a", [hello, asks("a")]],
    ["not awaited", [hello, told("a")]],
    ["not awaited", [hello, asks("a"), told("a"), told("a")]],
    ["was used before", [hello, asks("a"), told("a"), asks("a"), told("a")]],
    ["1 to 64 characters", [hello, asks("x".repeat(65)), told("x".repeat(65))]],
    [
      "text of an object",
      [hello, { ...asks(), tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "[1]" } }] }],
    ],
    [
      "never issued",
      [hello, { role: "assistant", content: "x", reasoning: "y" }],
      { reasoningBack: "reasoning", isIssued: () => false },
    ],
  ];
  for (const [problem, messages, rules] of cases) {
    it(`refuses: ${problem} ${JSON.stringify(messages).length}`, () => {
      expect(checkOpenAIChatHistory(messages, rules).join("\n")).toContain(problem);
    });
  }
});

describe("checkOpenAIChatRequest", () => {
  const body = { model: "m", messages: [hello] };
  const tool = { type: "function", function: { name: "t", parameters: { type: "object" } } };
  const strict = { type: "json_schema", json_schema: { name: "o", schema: { type: "object" }, strict: true } };

  it("accepts a small request, and markers where they are known", () => {
    const choice = { type: "function", function: { name: "t" } };
    expect(checkOpenAIChatRequest(headers, { ...body, tools: [tool], tool_choice: choice })).toEqual([]);
    const messages = [{ role: "user", content: [marked] }];
    expect(checkOpenAIChatRequest(headers, { ...body, messages }, { cacheControl: true })).toEqual([]);
    const tools = [{ ...tool, cache_control: { type: "ephemeral" } }];
    const both = { cacheControl: true, toolMarkers: true };
    expect(checkOpenAIChatRequest(headers, { ...body, messages, tools }, both)).toEqual([]);
  });

  const cases: readonly (readonly [problem: string, change: object, rules?: ChatRules])[] = [
    ["authorization: no key", {}, { auth: { name: "authorization", value: /^Token / } }],
    ["modell: unknown field", { modell: "x" }],
    ["model: missing", { model: "" }],
    ["must be from 1", { max_tokens: 0 }],
    ["beside", { max_tokens: 1, max_completion_tokens: 1 }],
    ["only with stream", { stream_options: { include_usage: true } }],
    ["tools: must not be empty", { tools: [] }],
    ["must match", { tools: [{ ...tool, function: { name: "a.b", parameters: { type: "object" } } }] }],
    ["there twice", { tools: [tool, tool] }],
    ["there are no tools", { tool_choice: "auto" }],
    ["there is no such tool", { tools: [tool], tool_choice: { type: "function", function: { name: "u" } } }],
    ["additionalProperties", { response_format: strict }],
    ["cache_control: unknown field", { messages: [{ role: "user", content: [marked] }] }],
    ["only on content parts", { tools: [{ ...tool, cache_control: {} }] }, { cacheControl: true }],
    ["at most 4", { messages: [{ role: "user", content: Array(5).fill(marked) }] }, { cacheControl: true }],
  ];
  for (const [problem, change, rules] of cases) {
    it(`refuses: ${problem}`, () => {
      expect(checkOpenAIChatRequest(headers, { ...body, ...change }, rules).join("\n")).toContain(problem);
    });
  }
});

describe("openaiChatServer", () => {
  it("refuses what the API refuses and remembers it", async () => {
    await using server = await openaiChatServer([]);
    const body = JSON.stringify({ model: "m", messages: [] });
    const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", headers, body });
    expect([response.status, Object((await response.json()) as unknown).error.type]).toEqual([
      400,
      "invalid_request_error",
    ]);
    expect(server.violations).toEqual(["messages: must be a list that is not empty"]);
  });
});
