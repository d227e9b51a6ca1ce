import type { Envelope, Event } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { askInAcp } from "./acp-requests.ts";
import { acpUpdates } from "./acp-updates.ts";
import type { AcpSessionUpdate } from "./acp-wire.ts";

/** Events with only what the projection looks at. */
function project(
  events: readonly object[],
  options: Partial<Parameters<typeof acpUpdates>[0]> = {},
): readonly AcpSessionUpdate[] {
  const updates = acpUpdates({ absolute: (path) => `/root/${path}`, ...options });
  return events.flatMap((event) => {
    const { parent, ...rest } = event as { readonly parent?: Envelope["parent"] };
    return updates.push({ sessionId: "s", agent: "a", event: rest as Event, ...(parent !== undefined && { parent }) });
  });
}
const messageId = "r/turn/1/message";
const started = (blockId: string, type = "text"): object => ({
  type: "block.started",
  messageId,
  blockId,
  block: { type },
});
const delta = (blockId: string, offset: number, text: string): object => ({
  type: "text.delta",
  blockId,
  offset,
  delta: text,
});
const answer = (...parts: readonly object[]): object => ({
  type: "message.added",
  message: { id: messageId, role: "assistant", parts },
});
const text = (value: string): object => ({ type: "text", text: value });
const said = (updates: readonly AcpSessionUpdate[]): readonly string[] =>
  updates.flatMap((update) =>
    update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
  );

describe("acpUpdates", () => {
  it("ACP-06 shows each text once: deltas that come again, late or not at all", () => {
    expect(
      said(
        project([
          started("b"),
          delta("b", 0, "He"),
          delta("b", 0, "Hello"),
          delta("b", 5, "!"),
          answer(text("Hello!")),
        ]),
      ),
    ).toEqual(["He", "llo", "!"]);
    expect(said(project([answer(text("Hello!"))]))).toEqual(["Hello!"]);
    expect(said(project([delta("b", 3, "lo!"), answer(text("Hello!"))]))).toEqual(["Hello!"]);
    const gap = [
      started("b"),
      delta("b", 0, "He"),
      delta("b", 4, "o"),
      started("c"),
      delta("c", 0, "Two"),
      answer(text("Hello"), text("Two")),
    ];
    expect(said(project(gap)).join("")).toBe("HelloTwo");
  });

  it("ACP-06 begins an answer again as another message, and ends the calls that were lost", () => {
    const call = {
      type: "block.started",
      messageId,
      blockId: "c",
      block: { type: "tool-input", callId: "r/1/0", name: "read" },
    };
    const reset = { type: "turn.reset", error: { message: "cut" } };
    const updates = project(
      [started("b"), delta("b", 0, "He"), call, reset, started("d"), delta("d", 0, "Hello"), answer(text("Hello"))],
      { notices: true },
    );
    expect(said(updates)).toEqual(["He", "Hello"]);
    const ids = updates.flatMap((update) => (update.sessionUpdate === "agent_message_chunk" ? [update.messageId] : []));
    expect(new Set(ids).size).toBe(2);
    expect(updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      "agent_message_chunk",
      "tool_call",
      "tool_call_update",
      "notice",
      "agent_message_chunk",
    ]);
  });

  it("ACP-06 shows no marker of an interrupt, no seal, and no answer of a hook as a person's word", () => {
    expect(said(project([answer(text("Half"), text("<system>User interrupted this message</system>"))]))).toEqual([
      "Half",
    ]);
    expect(project([{ type: "message.added", message: { id: "x", role: "user", parts: [text("go on")] } }])).toEqual(
      [],
    );
  });

  it("ACP-06 shows plans, titles and the calls of sub-agents", () => {
    const call = { type: "tool-call", callId: "r/1/0", name: "helper", input: {}, by: "capstan" };
    const updates = project([
      {
        type: "plan.updated",
        entries: [
          { content: "a", priority: "low", status: "cancelled" },
          { content: "b", priority: "high", status: "in-progress" },
        ],
      },
      { type: "session.updated", title: "T", at: 0 },
      answer(call),
      { type: "tool.started", callId: "r/1/0", name: "helper", title: "Help", kind: "other", input: {} },
      {
        type: "tool.started",
        callId: "x",
        name: "read",
        title: "Read a",
        kind: "read",
        input: {},
        parent: { sessionId: "s", callId: "r/1/0" },
      },
    ]);
    expect(updates).toMatchObject([
      { sessionUpdate: "plan", entries: [{ status: "completed" }, { status: "in_progress" }] },
      { sessionUpdate: "session_info_update", title: "T", updatedAt: "1970-01-01T00:00:00.000Z" },
      { sessionUpdate: "tool_call", toolCallId: "r/1/0" },
      { sessionUpdate: "tool_call_update", status: "in_progress" },
      { sessionUpdate: "tool_call_update", content: [{ content: { text: "Read a\n" } }] },
    ]);
  });
});

describe("askInAcp", () => {
  const open = (body: object) =>
    ({ requestId: "q", sessionId: "s", runId: "r", openedAt: 0, expiresAt: 1, body }) as never;
  const questions = [
    {
      header: "Colour",
      question: "Which?",
      multiSelect: false,
      options: [
        { label: "red", description: "" },
        { label: "blue", description: "" },
      ],
    },
    {
      header: "Size",
      question: "How big?",
      multiSelect: true,
      options: [
        { label: "S", description: "" },
        { label: "L", description: "" },
      ],
    },
  ];

  it("ACP-06 asks questions by a form where the client has them, else as choices one after the other", () => {
    const byForm = askInAcp(open({ type: "question", questions }), { form: true, url: false });
    expect(byForm.type === "elicitation" && byForm.elicitation.answer({ Colour: "red", Size: ["L", 5] })).toEqual({
      type: "question",
      answers: { Colour: "red", Size: ["L"] },
    });
    const byChoice = askInAcp(open({ type: "question", questions }), { form: false, url: false });
    expect(byChoice.type === "choices" && byChoice.choices).toHaveLength(2);
    expect(byChoice.type === "choices" && byChoice.answer(["option-1", "option-0"])).toEqual({
      type: "question",
      answers: { Colour: "blue", Size: ["S"] },
    });
    expect(byChoice.type === "choices" && byChoice.answer([undefined])).toEqual({ type: "question", answers: {} });
  });

  it("ACP-06 takes what it does not understand for the safest answer", () => {
    const none = { form: false, url: false };
    const doubt = askInAcp(open({ type: "doubt", callId: "c", tool: "pay", input: {}, startedAt: 0 }), none);
    expect(doubt.type === "choices" && doubt.answer(["yes"])).toEqual({ type: "doubt", outcome: "skip" });
    const plan = askInAcp(open({ type: "plan", callId: "c", markdown: "x" }), none);
    expect(plan.type === "choices" && plan.answer([undefined])).toMatchObject({ type: "plan", allow: false });
    expect(askInAcp(open({ type: "form", origin: "o", message: "m" }), none)).toEqual({
      type: "none",
      answer: { type: "form", decline: true },
    });
    expect(askInAcp(open({ type: "client-tool", callId: "c", tool: "t", input: {} }), none)).toEqual({ type: "none" });
  });
});
