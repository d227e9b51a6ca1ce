import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acpChunks } from "./acp-chunks.ts";
import { parseAcpUpdate } from "./acp-parse-update.ts";
import { applyUiChunk } from "./acp-ui-fold.ts";
import { acpPromptOf, type UiMessage } from "./acp-ui-message.ts";
import type { AcpSessionUpdate } from "./acp-wire.ts";
import type { UiChunk } from "./ui-chunk.ts";

/** The message as `ai`'s own reader builds it; an error where it takes the stream for none. */
async function readByAi(chunks: readonly UiChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk); // a subset, checked below
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
  return last;
}
function built(chunks: readonly UiChunk[], id = "m"): UiMessage {
  const message: UiMessage = { id, role: "assistant", parts: [] };
  for (const chunk of chunks) applyUiChunk(message, chunk);
  return message;
}
function chunksOf(updates: readonly AcpSessionUpdate[]): readonly UiChunk[] {
  const made = acpChunks("m");
  return [
    { type: "start", messageId: "m" },
    ...updates.flatMap((update) => made.push(update)),
    ...made.end("end_turn"),
  ];
}
const say = (text: string, messageId?: string): AcpSessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...(messageId !== undefined && { messageId }),
});
/** What both know of a part; `ai` also notes what it does not need. */
function plain(parts: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(parts, (name, value: unknown) =>
      ["providerMetadata", "toolMetadata", "providerExecuted", "rawInput"].includes(name) ? undefined : value,
    ),
  );
}

const turn: readonly AcpSessionUpdate[] = [
  { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Let me " } },
  { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "look." } },
  say("I read ", "1"),
  say("it.", "1"),
  { sessionUpdate: "tool_call", toolCallId: "c1", title: "Read a.txt", name: "read", kind: "read", status: "pending" },
  { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "in_progress", rawInput: { path: "a.txt" } },
  {
    sessionUpdate: "tool_call_update",
    toolCallId: "c1",
    content: [{ type: "content", content: { type: "text", text: "half" } }],
  },
  {
    sessionUpdate: "tool_call_update",
    toolCallId: "c1",
    status: "completed",
    content: [{ type: "diff", path: "/a.txt", newText: "x" }],
    rawOutput: { ok: true },
  },
  { sessionUpdate: "tool_call_update", toolCallId: "c2", status: "failed", title: "Never announced" },
  { sessionUpdate: "tool_call", toolCallId: "c3", title: "Left", status: "in_progress" },
  { sessionUpdate: "plan", entries: [{ content: "a", priority: "high", status: "pending" }] },
  { sessionUpdate: "plan", entries: [{ content: "a", priority: "high", status: "completed" }] },
  { sessionUpdate: "agent_message_chunk", content: { type: "image", data: "AA==", mimeType: "image/png" } },
  { sessionUpdate: "agent_message_chunk", content: { type: "resource_link", uri: "https://a.example", name: "A" } },
  say("Done.", "2"),
  say(" Really.", "3"),
  { sessionUpdate: "usage_update", used: 1, size: 2 },
  { sessionUpdate: "notice", severity: "info", title: "n" },
];

describe("acpChunks", () => {
  it("ACP-04 makes a stream that ai's reader takes, and the fold builds the same message", async () => {
    const chunks = chunksOf(turn);
    const theirs = await readByAi(chunks);
    const ours: UIMessage = built(chunks) as UIMessage; // the types fit but for optional members
    expect(plain(ours.parts)).toEqual(plain(theirs?.parts ?? []));
    expect(ours.parts.map(({ type }) => type)).toEqual([
      "reasoning",
      "text",
      "dynamic-tool",
      "dynamic-tool",
      "dynamic-tool",
      "data-plan",
      "file",
      "source-url",
      "text",
      "text",
      "data-usage",
    ]);
    expect(ours.parts.filter(({ type }) => type === "dynamic-tool")).toMatchObject([
      { toolName: "read", title: "Read a.txt", input: { path: "a.txt" }, state: "output-available" },
      { state: "output-error" },
      { state: "output-error", errorText: "It did not end." },
    ]);
  });

  it("ACP-04 sends no chunk that ai does not know", async () => {
    const made = acpChunks("m");
    const chunks = [
      ...chunksOf(turn),
      ...made.asked("a1", { toolCallId: "c9", title: "Write" }),
      ...made.answered("a1", false, "no"),
      ...made.end("cancelled"),
      ...acpChunks("m").failed("broken"),
    ];
    for (const chunk of chunks) {
      const checked = await uiMessageChunkSchema().validate?.(chunk);
      expect([chunk, checked?.success]).toEqual([chunk, true]);
    }
  });

  it("PERM-09 ACP-04 shows a question of permission and its answer as ai does", async () => {
    const made = acpChunks("m");
    const chunks: readonly UiChunk[] = [
      { type: "start", messageId: "m" },
      ...made.push({ sessionUpdate: "tool_call", toolCallId: "c1", title: "Write", rawInput: { a: 1 } }),
      ...made.asked("a1", { toolCallId: "c1", title: "Write" }),
      ...made.answered("a1", true),
      ...made.push({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" }),
      ...made.end("end_turn"),
    ];
    expect(plain(built(chunks).parts)).toEqual(plain((await readByAi(chunks))?.parts ?? []));
  });

  it("ACP-04 takes whatever an agent sends, in any order, without a chunk that breaks the stream", async () => {
    const id = fc.constantFrom("a", "b", undefined, 5);
    const content = fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.oneof(fc.string(), fc.constant(null)) }),
      fc.record({
        type: fc.constantFrom("image", "audio"),
        data: fc.constant("AA=="),
        mimeType: fc.constant("image/png"),
      }),
      fc.record({ type: fc.constantFrom("resource", "resource_link"), uri: fc.webUrl(), name: fc.string() }),
      fc.anything(),
    );
    const update = fc.record(
      {
        sessionUpdate: fc.constantFrom(
          "agent_message_chunk",
          "agent_thought_chunk",
          "user_message_chunk",
          "tool_call",
          "tool_call_update",
          "plan",
          "usage_update",
          "notice",
          "session_info_update",
          "compaction_update",
          "something_new",
        ),
        content: fc.oneof(
          content,
          fc.array(fc.record({ type: fc.constantFrom("content", "diff", "terminal"), content })),
        ),
        messageId: id,
        toolCallId: id,
        title: fc.oneof(fc.string(), fc.constant(null)),
        status: fc.constantFrom("pending", "in_progress", "completed", "failed", "odd", undefined),
        rawInput: fc.anything(),
        entries: fc.anything(),
      },
      { requiredKeys: ["sessionUpdate"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(update, { maxLength: 20 }), async (sent) => {
        const known = sent.flatMap((one) => parseAcpUpdate(JSON.parse(JSON.stringify(one))) ?? []);
        const chunks = chunksOf(known);
        const theirs = await readByAi(chunks);
        expect(plain(built(chunks).parts)).toEqual(plain(theirs?.parts ?? []));
      }),
      { numRuns: 100 },
    );
  });
});

describe("acpPromptOf", () => {
  it("ACP-04 turns the parts of a person's message into what the agent takes", () => {
    const message: UIMessage = {
      id: "u",
      role: "user",
      parts: [
        { type: "text", text: "Look" },
        { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
        { type: "file", mediaType: "application/pdf", url: "data:application/pdf;base64,AA==", filename: "a b.pdf" },
        { type: "file", mediaType: "text/plain", url: "https://a.example/a.txt" },
        { type: "step-start" },
      ],
    };
    expect(acpPromptOf(message, { image: true, embeddedContext: true })).toEqual([
      { type: "text", text: "Look" },
      { type: "image", mimeType: "image/png", data: "AA==" },
      { type: "resource", resource: { uri: "file:///a%20b.pdf", mimeType: "application/pdf", blob: "AA==" } },
      {
        type: "resource_link",
        uri: "https://a.example/a.txt",
        name: "https://a.example/a.txt",
        mimeType: "text/plain",
      },
    ]);
    expect(acpPromptOf(message, {}).map(({ type }) => type)).toEqual(["text", "text", "text", "resource_link"]);
    expect(() => acpPromptOf({ parts: [{ type: "text" }] }, {})).toThrow("neither");
  });
});
