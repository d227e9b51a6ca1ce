import { agent, type Json, type ModelSettings } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { contextEditing, type ContextEditingOptions } from "./index.ts";

async function extraBody(
  id: string,
  options: ContextEditingOptions = {},
  settings: ModelSettings = {},
): Promise<Json | undefined> {
  const model = scriptedModel([{ text: "Done." }], { id });
  const plugins = [contextEditing(options)];
  const worker = agent({ name: "worker", model, instructions: "x", plugins, settings });
  const runtime = await testRuntime({ agents: [worker] });
  await (await runtime.send(worker, "Go")).result();
  await runtime.close();
  return model.requests[0]?.settings.extraBody;
}

const CLEAR = {
  type: "clear_tool_uses_20250919",
  trigger: { type: "input_tokens", value: 100_000 },
  keep: { type: "tool_uses", value: 3 },
};

describe("contextEditing", () => {
  it("CTX-03 asks Anthropic's servers to clear old results", async () => {
    expect(await extraBody("anthropic/claude-x")).toEqual({ context_management: { edits: [CLEAR] } });
  });

  it("CTX-03 says everything that can be said, thinking first as the API wants it, tools by the model's names", async () => {
    const options = {
      clearResultsAt: 50_000,
      keepCalls: 0,
      clearAtLeast: 9_000,
      exclude: ["todo", "mcp:git/log"],
      keepThinkingTurns: 2,
    };
    expect(await extraBody("anthropic/claude-x", options)).toEqual({
      context_management: {
        edits: [
          { type: "clear_thinking_20251015", keep: { type: "thinking_turns", value: 2 } },
          {
            type: "clear_tool_uses_20250919",
            trigger: { type: "input_tokens", value: 50_000 },
            keep: { type: "tool_uses", value: 0 },
            clear_at_least: { type: "input_tokens", value: 9_000 },
            exclude_tools: ["todo", "git__log"],
          },
        ],
      },
    });
    expect(await extraBody("anthropic/claude-x", { clearResultsAt: false })).toEqual({
      context_management: { edits: [] },
    });
  });

  it("CTX-03 leaves other members, what is said by hand, and other providers alone", async () => {
    const metadata = { user_id: "u" };
    expect(await extraBody("anthropic/claude-x", {}, { extraBody: { metadata } })).toEqual({
      metadata,
      context_management: { edits: [CLEAR] },
    });
    const own = { context_management: { edits: [] } };
    expect(await extraBody("anthropic/claude-x", {}, { extraBody: own })).toEqual(own);
    expect(await extraBody("openai/gpt-x")).toBeUndefined();
  });

  it("refuses numbers that are none", () => {
    for (const options of [{ clearResultsAt: 0 }, { keepCalls: -1 }, { clearAtLeast: 0.5 }, { keepThinkingTurns: 0 }])
      expect(() => contextEditing(options)).toThrow("contextEditing:");
  });
});
