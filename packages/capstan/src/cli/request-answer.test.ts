import { CapstanError, type RequestBody } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { type AnswerFlags, answerOf } from "./request-answer.ts";

const BODIES = {
  permission: {
    type: "permission",
    callId: "c",
    tool: "shell",
    input: {},
    title: "Run it",
    binding: { inputHash: "i", toolHash: "t" },
    remember: [],
  },
  plan: { type: "plan", callId: "c", markdown: "1. Think" },
  question: {
    type: "question",
    questions: [
      {
        header: "Size",
        question: "How big?",
        multiSelect: false,
        options: [
          { label: "2", description: "" },
          { label: "large", description: "" },
        ],
      },
    ],
  },
  form: { type: "form", origin: "server", message: "Who?" },
  "client-tool": { type: "client-tool", callId: "c", tool: "clock", input: {} },
  doubt: { type: "doubt", callId: "c", tool: "pay", input: {}, startedAt: 0 },
} as const satisfies { readonly [Type in RequestBody["type"]]: RequestBody };

const answer = (type: keyof typeof BODIES, flags: Partial<AnswerFlags>): unknown =>
  answerOf(BODIES[type], { choose: [], ...flags });

describe("answerOf", () => {
  it("PERM-07 makes an answer of every type", () => {
    expect(answer("permission", { allow: true })).toEqual({ type: "permission", allow: true });
    expect(answer("plan", { deny: true, reason: "too long" })).toEqual({
      type: "plan",
      allow: false,
      reason: "too long",
    });
    expect(answer("form", { json: '{"name":"Ada"}' })).toEqual({ type: "form", content: { name: "Ada" } });
    expect(answer("form", { deny: true })).toEqual({ type: "form", decline: true });
    expect(answer("client-tool", { json: '"noon"' })).toEqual({
      type: "client-tool",
      output: { content: [{ type: "text", text: "noon" }] },
    });
    expect(answer("client-tool", { json: '{"content":[],"isError":true}' })).toEqual({
      type: "client-tool",
      output: { content: [], isError: true },
    });
    expect(answer("doubt", { choose: ["it-happened"] })).toEqual({ type: "doubt", outcome: "it-happened" });
  });

  it("takes a choice by its label, else by its number, else as the person's own words", () => {
    const chosen = (choice: string): unknown => answer("question", { choose: [choice] });
    expect(chosen("2")).toEqual({ type: "question", answers: { Size: "2" } });
    expect(chosen("1")).toEqual({ type: "question", answers: { Size: "2" } });
    expect(chosen("large")).toEqual({ type: "question", answers: { Size: "large" } });
    expect(chosen("huge")).toEqual({ type: "question", answers: { Size: "huge" } });
  });

  it("refuses options that leave open what is meant", () => {
    const unclear: readonly (readonly [keyof typeof BODIES, Partial<AnswerFlags>])[] = [
      ["permission", {}],
      ["permission", { reason: "why not" }],
      ["permission", { allow: true, deny: true }],
      ["permission", { choose: ["yes"] }],
      ["permission", { allow: true, json: "{}" }],
      ["question", { allow: true }],
      ["question", { choose: ["2", "large"] }],
      ["form", { json: "{}", deny: true }],
      ["form", { json: "{" }],
      ["client-tool", { allow: true }],
      ["doubt", { choose: ["maybe"] }],
      ["doubt", { choose: ["skip", "run-again"] }],
    ];
    for (const [type, flags] of unclear) {
      expect(() => answer(type, flags), JSON.stringify([type, flags])).toThrow(
        expect.toSatisfy((error) => CapstanError.is(error, "usage")),
      );
    }
  });
});
