import { describe, expect, it } from "vitest";
import { type AnthropicReply, anthropicServer } from "./anthropic-server.ts";
import { checkAnthropicHistory } from "./check-anthropic-history.ts";
import { checkAnthropicRequest } from "./check-anthropic-request.ts";
import { promptCache } from "./prompt-cache.ts";

const headers = { "x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json" };
const hello = { role: "user", content: "Hello" };
const use = (id: string): object => ({ type: "tool_use", id, name: "t", input: {} });
const done = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: "done" });

describe("checkAnthropicHistory", () => {
  it("accepts what the API accepts", () => {
    const history = [
      hello,
      { role: "user", content: [{ type: "text", text: "again" }] },
      { role: "assistant", content: [{ type: "thinking", thinking: "", signature: "s" }, use("a"), use("b")] },
      { role: "user", content: [done("b")] },
      { role: "user", content: [done("a"), { type: "text", text: "go on" }] },
      {
        role: "assistant",
        content: [
          { type: "server_tool_use", id: "s" },
          { type: "web_search_tool_result" },
          { type: "text", text: "x" },
        ],
      },
    ];
    expect(checkAnthropicHistory(history)).toEqual([]);
  });

  const cases: readonly (readonly [problem: string, messages: unknown])[] = [
    ["must be a list", []],
    ["must be a list", "x"],
    ["first message must be the user's", [{ role: "assistant", content: "x" }]],
    ["must be user or assistant", [hello, { role: "tool", content: "x" }]],
    ["unknown field", [{ ...hello, name: "x" }]],
    ["must not be empty", [{ role: "user", content: [] }]],
    ["more than white space", [{ role: "user", content: [{ type: "text", text: " " }] }]],
    ["unknown block", [{ role: "user", content: [{ type: "video" }] }]],
    ["(text).extra: unknown field", [{ role: "user", content: [{ type: "text", text: "x", extra: 1 }] }]],
    [
      "only in messages of role assistant",
      [
        { role: "user", content: [use("a")] },
        { role: "user", content: [done("a")] },
      ],
    ],
    ["no result of a", [hello, { role: "assistant", content: [use("a")] }, hello]],
    ["without a result", [hello, { role: "assistant", content: [use("a")] }]],
    ["did not call", [{ role: "user", content: [done("a")] }]],
    [
      "more than one result",
      [hello, { role: "assistant", content: [use("a")] }, { role: "user", content: [done("a"), done("a")] }],
    ],
    [
      "results must come before",
      [
        hello,
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [{ type: "text", text: "x" }, done("a")] },
      ],
    ],
    [
      "was used before",
      [
        hello,
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [done("a")] },
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [done("a")] },
      ],
    ],
    ["id: must match", [hello, { role: "assistant", content: [use("a b")] }, { role: "user", content: [done("a b")] }]],
    [
      "must be an object",
      [hello, { role: "assistant", content: [{ ...use("a"), input: "x" }] }, { role: "user", content: [done("a")] }],
    ],
    [
      "cannot be thinking",
      [hello, { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "s" }] }],
    ],
    ["ends with white space", [hello, { role: "assistant", content: [{ type: "text", text: "x " }] }]],
    [
      "must be base64",
      [{ role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "" } }] }],
    ],
    [
      "media_type",
      [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/tiff", data: "aGk=" } }],
        },
      ],
    ],
  ];
  for (const [problem, messages] of cases) {
    it(`refuses: ${problem} ${JSON.stringify(messages).length}`, () => {
      expect(checkAnthropicHistory(messages).join("\n")).toContain(problem);
    });
  }
});

describe("checkAnthropicRequest", () => {
  const body = { model: "m", max_tokens: 5, messages: [hello] };
  const tool = { name: "t", description: "d", input_schema: { type: "object" } };
  const mark = { cache_control: { type: "ephemeral" } };
  it("accepts a small request", () => {
    expect(
      checkAnthropicRequest(headers, { ...body, tools: [tool], tool_choice: { type: "tool", name: "t" }, system: "s" }),
    ).toEqual([]);
  });
  const cases: readonly (readonly [problem: string, change: object])[] = [
    ["x-api-key", { headers: { ...headers, "x-api-key": undefined } }],
    ["anthropic-version", { headers: { ...headers, "anthropic-version": undefined } }],
    ["max_tokens", { max_tokens: undefined }],
    ["modell: unknown field", { modell: "x" }],
    ["system: text", { system: [{ type: "text", text: "" }] }],
    ["tools.0.name", { tools: [{ ...tool, name: "a.b" }] }],
    ["there twice", { tools: [tool, tool] }],
    ["there are no tools", { tool_choice: { type: "auto" } }],
    ["must be below max_tokens", { thinking: { type: "enabled", budget_tokens: 2000 } }],
    [
      "at most 4",
      {
        tools: [tool, "u", "v", "w", "x"].map((name) => ({
          ...tool,
          ...(typeof name === "string" && { name }),
          ...mark,
        })),
      },
    ],
    [
      "not on thinking",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "", signature: "s", ...mark },
              { type: "text", text: "x" },
            ],
          },
        ],
      },
    ],
  ];
  for (const [problem, { headers: changed = headers, ...change }] of cases as readonly (readonly [
    string,
    { headers?: typeof headers },
  ])[]) {
    it(`refuses: ${problem}`, () => {
      expect(checkAnthropicRequest(changed, { ...body, ...change }).join("\n")).toContain(problem);
    });
  }
});

describe("promptCache", () => {
  const blocks = (count: number, ...breakpoints: readonly number[]) =>
    Array.from({ length: count }, (_, index) => ({
      text: String(index),
      tokens: 1,
      breakpoint: breakpoints.includes(index),
    }));

  it("writes up to the last breakpoint and reads what an earlier request wrote", () => {
    const cache = promptCache();
    expect(cache.use(blocks(5, 2))).toEqual({ read: 0, written: 3, input: 2 });
    expect(cache.use(blocks(7, 2, 6))).toEqual({ read: 3, written: 4, input: 0 });
  });

  it("looks back over 20 blocks and no further", () => {
    const near = promptCache();
    near.use(blocks(1, 0));
    expect(near.use(blocks(20, 19)).read).toBe(1);
    const far = promptCache();
    far.use(blocks(1, 0));
    expect(far.use(blocks(21, 20)).read).toBe(0);
  });

  it("reads nothing behind a changed block", () => {
    const cache = promptCache();
    cache.use(blocks(3, 2));
    const [, ...rest] = blocks(3, 2);
    expect(cache.use([{ text: "changed", tokens: 1, breakpoint: false }, ...rest])).toMatchObject({ read: 0 });
  });
});

describe("anthropicServer", () => {
  async function post(url: string, body: unknown): Promise<Response> {
    return fetch(`${url}/v1/messages`, { method: "POST", headers, body: JSON.stringify(body) });
  }
  const body = { model: "m", max_tokens: 5, stream: true, messages: [hello] };

  it("refuses what the API refuses and remembers it", async () => {
    await using server = await anthropicServer([]);
    const response = await post(server.url, { ...body, messages: [] });
    expect([response.status, ((await response.json()) as { error: { type: string } }).error.type]).toEqual([
      400,
      "invalid_request_error",
    ]);
    expect(server.violations).toEqual(["messages: must be a list that is not empty"]);
  });

  it("refuses thinking that it has not issued", async () => {
    const thinking = { type: "thinking", thinking: "x", signature: "forged" };
    await using server = await anthropicServer([]);
    await post(server.url, {
      ...body,
      messages: [hello, { role: "assistant", content: [thinking, { type: "text", text: "x" }] }],
    });
    expect(server.violations.join()).toContain("was modified or issued to somebody else");
  });

  it("delivers the same bytes in pieces, with a stall, and whole", async () => {
    const content = [{ type: "text", text: "Hello" }] as const;
    const replies: AnthropicReply[] = [
      { content },
      { content, delivery: { chunkBytes: 3 } },
      { content, delivery: { chunkBytes: 7, stall: { afterBytes: 50, until: Promise.resolve() } } },
    ];
    await using server = await anthropicServer((_request, index) => replies[index] ?? { status: 500 });
    const texts: string[] = [];
    for (const _reply of replies)
      texts.push((await (await post(server.url, body)).text()).replaceAll(/msg_\d/g, "msg"));
    const usage = /"usage":\{[^}]*\}/g;
    expect(new Set(texts.map((text) => text.replaceAll(usage, ""))).size).toBe(1);
    expect(texts[0]).toContain("event: message_stop");
  });

  it("may be closed twice, also while an answer is stalled", async () => {
    const server = await anthropicServer([
      { content: [], delivery: { stall: { afterBytes: 10, until: new Promise(() => {}) } } },
    ]);
    const refused = expect(post(server.url, body).then((response) => response.text())).rejects.toThrow();
    await Promise.all([server.close(), server.close()]);
    await refused;
  });
});
