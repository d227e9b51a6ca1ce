import { agent, type Message, type Model } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { anthropicFrom, type AnthropicOptions, anthropicTokens } from "./anthropic.ts";
import {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  collectEvents,
  errorBody,
  modelRequest,
  partsOf,
  signatureOf,
} from "./testing/index.ts";

const KEY = "sk-ant-api03-0123456789-secret";

function modelOf(server: AnthropicServer, options: AnthropicOptions = {}): Model {
  return anthropicFrom({}, "claude-opus-4-6", { apiKey: KEY, baseUrl: server.url, ...options });
}

function user(text: string): Message {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}

/** The texts of two runs of one session, one after the other. */
async function twoRuns(model: Model): Promise<readonly string[]> {
  const guide = agent({ name: "guide", model, instructions: "Help.", tools: [] });
  const runtime = await testRuntime({ agents: [guide], models: { guide: model } });
  try {
    const session = await runtime.session({ agent: guide });
    const first = await session.send("What is new?");
    const text = await first.text();
    const second = await session.send("And now?");
    return [text, await second.text()];
  } finally {
    await runtime.close();
  }
}

const searching = { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "news" } };
const found = {
  type: "web_search_tool_result",
  tool_use_id: "srv_1",
  content: [{ type: "web_search_result", url: "https://x.example", title: "News", encrypted_content: "xyz" }],
};

describe("anthropic in a run", () => {
  it("LOOP-20 goes on after pause_turn with the assistant's turn as it was", async () => {
    const input = [{ type: "input_json_delta", partial_json: '{"query":"news"}' }];
    const replies: AnthropicReply[] = [
      {
        content: [
          { type: "thinking", thinking: "I search." },
          { type: "text", text: "Let me look." },
          { type: "raw", block: { ...searching, input: {} }, deltas: input },
        ],
        stopReason: "pause_turn",
      },
      {
        content: [
          { type: "raw", block: found },
          { type: "text", text: "It rains." },
        ],
      },
      { content: [{ type: "text", text: "Still raining." }] },
    ];
    await using server = await anthropicServer(replies);
    expect(await twoRuns(modelOf(server))).toEqual(["It rains.", "Still raining."]);
    expect(server.violations).toEqual([]);
    const paused = [
      { type: "thinking", thinking: "I search.", signature: signatureOf("I search.") },
      { type: "text", text: "Let me look." },
      searching,
    ];
    const contents = server.requests.map(({ body }) =>
      (body["messages"] as { readonly role: string; readonly content: readonly object[] }[]).map(
        ({ role, content }) => [role, content.map((block) => ({ ...block, cache_control: undefined }))],
      ),
    );
    const plain = (blocks: readonly object[]): readonly object[] =>
      blocks.map((block) => ({ ...block, cache_control: undefined }));
    const question = ["user", plain([{ type: "text", text: "What is new?" }])];
    expect(contents[1]).toEqual([question, ["assistant", plain(paused)]]);
    expect(contents[2]).toEqual([
      question,
      ["assistant", plain([...paused, found, { type: "text", text: "It rains." }])],
      ["user", plain([{ type: "text", text: "And now?" }])],
    ]);
  });

  it("MODEL-17 lets the server manage the context, and sends its compaction back as it came", async () => {
    const extraBody = { context_management: { edits: [{ type: "compact_20260112", pause_after_compaction: true }] } };
    const betas = ["context-management-2025-06-27", "compact-2026-09-04"];
    const replies: AnthropicReply[] = [
      {
        content: [
          {
            type: "raw",
            block: { type: "compaction", content: "" },
            deltas: [{ type: "compaction_delta", content: "So far: nothing.", encrypted_content: "e1" }],
          },
        ],
        stopReason: "compaction",
      },
      { content: [{ type: "text", text: "Done." }] },
      { content: [{ type: "text", text: "Again." }] },
    ];
    await using server = await anthropicServer(replies);
    expect(await twoRuns(modelOf(server, { betas, extraBody }))).toEqual(["Done.", "Again."]);
    expect(server.violations).toEqual([]);
    for (const { body, headers } of server.requests) {
      expect(body["context_management"]).toEqual(extraBody.context_management);
      expect(headers["anthropic-beta"]).toBe(betas.join(","));
    }
    expect(server.requests[1]?.body["messages"]).toMatchObject([
      {},
      { role: "assistant", content: [{ type: "compaction", content: "So far: nothing.", encrypted_content: "e1" }] },
    ]);
  });

  it("MODEL-16 sends redacted thinking back beside the call it led to", async () => {
    const replies: AnthropicReply[] = [
      {
        content: [
          { type: "thinking", thinking: "Hm." },
          { type: "redacted_thinking", data: "sealed" },
          { type: "tool_use", name: "t", input: {}, id: "toolu_1" },
        ],
      },
      { content: [{ type: "text", text: "ok" }] },
    ];
    await using server = await anthropicServer(replies);
    const model = modelOf(server);
    const parts = partsOf(await collectEvents(model, modelRequest([user("a")])));
    const output = { content: [{ type: "text", text: "x" } as const] };
    await collectEvents(
      model,
      modelRequest([
        user("a"),
        { id: "b", role: "assistant", parts },
        { id: "c", role: "user", parts: [{ type: "tool-result", callId: "toolu_1", name: "t", output }] },
      ]),
    );
    expect(server.violations).toEqual([]); // it knows what it has issued
    expect(server.requests[1]?.body["messages"]).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "Hm." },
          { type: "redacted_thinking", data: "sealed" },
          { id: "toolu_1" },
        ],
      },
      {},
    ]);
  });
});

describe("anthropic's token", () => {
  it("MODEL-09 is a bearer that may change between calls and after a 401", async () => {
    const good = ["jwt.one", "jwt.two", "jwt.three"];
    await using server = await anthropicServer(({ headers }) =>
      good.some((token) => headers["authorization"] === `Bearer ${token}`)
        ? { content: [{ type: "text", text: "ok" }] }
        : { status: 401, body: errorBody("authentication_error", `${String(headers["authorization"])} has expired`) },
    );
    const tokens = ["jwt.one", "jwt.stale", "jwt.two", "jwt.stale", "jwt.worse"];
    const model = modelOf(server, { authToken: async () => tokens.shift() ?? "" });
    await collectEvents(model, modelRequest([user("a")]));
    await collectEvents(model, modelRequest([user("a")]));
    const error: unknown = await collectEvents(model, modelRequest([user("a")])).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "model-auth", status: 401 });
    expect(String(error)).not.toContain("jwt.");
    expect(server.requests.map(({ headers }) => [headers["authorization"], headers["x-api-key"]])).toEqual(
      ["one", "stale", "two", "stale", "worse"].map((name) => [`Bearer jwt.${name}`, undefined]),
    );
  });
});

describe("anthropicTokens", () => {
  it("MODEL-19 counts a request without sending what only an answer needs", async () => {
    await using server = await anthropicServer([{ status: 200, body: { input_tokens: 2_095 } }]);
    const extraBody = { metadata: { user_id: "u" }, context_management: { edits: [] } };
    const count = anthropicTokens("claude-haiku-4-5", { apiKey: KEY, baseUrl: server.url, extraBody });
    const tools = [{ name: "t", description: "d", inputSchema: { type: "object" } }];
    const settings = { temperature: 0.5, maxOutputTokens: 4_000, reasoning: { budgetTokens: 2_000 } } as const;
    expect(await count({ messages: [user("Hello")], system: "Help.", tools, settings })).toBe(2_095);
    expect(server.violations).toEqual([]);
    const [request] = server.requests;
    expect([request?.path, request?.body]).toEqual([
      "/v1/messages/count_tokens",
      {
        model: "claude-haiku-4-5",
        thinking: { type: "enabled", budget_tokens: 2_000 },
        context_management: { edits: [] },
        tools: [{ name: "t", description: "d", input_schema: { type: "object" } }],
        system: [{ type: "text", text: "Help." }],
        messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
      },
    ]);
  });

  it("MODEL-19 throws what the model's calls would throw", async () => {
    const replies: readonly (readonly [AnthropicReply, object])[] = [
      [
        { status: 404, body: errorBody("not_found_error", "model: x") },
        { code: "model-not-found", status: 404 },
      ],
      [{ status: 200, body: { tokens: 5 } }, { code: "model-protocol" }],
      [{ status: 200, body: "<html>" }, { code: "model-protocol" }],
      [{ status: 529 }, { code: "model-overloaded", retryable: true }],
    ];
    await using server = await anthropicServer(replies.map(([reply]) => reply));
    const count = anthropicTokens("claude-x", { apiKey: KEY, baseUrl: server.url });
    for (const [, expected] of replies)
      await expect(count({ messages: [user("Hello")] })).rejects.toMatchObject({ ...expected, provider: "anthropic" });
    const reason = new Error("stopped");
    await expect(count({ messages: [user("Hello")], signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const blob = { type: "file", mediaType: "image/png", data: { type: "blob", hash: "h", size: 1 } } as const;
    await expect(count({ messages: [{ id: "m", role: "user", parts: [blob] }] })).rejects.toThrow("blob h");
  });

  it("TOOL-25 an image that is too large is refused before it is sent", async () => {
    await using server = await anthropicServer([]);
    const data = { type: "base64", base64: "A".repeat(7_100_000) } as const;
    const messages: Message[] = [{ id: "m", role: "user", parts: [{ type: "file", mediaType: "image/png", data }] }];
    await expect(collectEvents(modelOf(server), modelRequest(messages))).rejects.toMatchObject({
      code: "model-invalid-request",
    });
    expect(server.requests).toEqual([]);
  });
});
