import { agent, type Json, jsonSchema, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { type AnthropicEvent, anthropicStream } from "./anthropic-stream.ts";

const weather = tool({
  name: "weather",
  description: "The weather.",
  input: jsonSchema<Json>({ type: "object" }),
  permission: "allow",
  rerun: "safe",
  execute: () => "rain",
});

async function streamed(): Promise<{ live: readonly AnthropicEvent[]; stored: readonly AnthropicEvent[] }> {
  const model = scriptedModel([
    { reasoning: "Look.", text: "Wait.", calls: [{ name: "weather", input: { city: "Oslo" } }] },
    { text: "Rain." },
  ]);
  const guide = agent({ name: "guide", model, instructions: "Be brief.", tools: [weather] });
  await using runtime = await testRuntime({ agents: [guide] });
  const run = await runtime.send(guide, "Umbrella?");
  const [live, stored] = [anthropicStream(), anthropicStream()];
  const said: { live: AnthropicEvent[]; stored: AnthropicEvent[] } = { live: [], stored: [] };
  for await (const envelope of run.events()) said.live.push(...live.push(envelope));
  for await (const envelope of run.events({ live: false })) said.stored.push(...stored.push(envelope));
  return said;
}

/** Messages put together as the Messages API says. */
function messages(events: readonly AnthropicEvent[]): unknown {
  const all: { stop?: unknown; blocks: { type: string; text: string }[] }[] = [];
  for (const event of events) {
    const message = all.at(-1);
    if (event.type === "message_start") all.push({ blocks: [] });
    if (event.type === "content_block_start") {
      expect(event["index"]).toBe(message?.blocks.length);
      message?.blocks.push({ type: (event["content_block"] as { type: string }).type, text: "" });
    }
    if (event.type === "content_block_delta") {
      const { type: _type, ...delta } = event["delta"] as { type: string; [name: string]: string };
      const block = message?.blocks[Number(event["index"])];
      if (block !== undefined) block.text += Object.values(delta).join("");
    }
    if (event.type === "message_delta" && message !== undefined)
      message.stop = (event["delta"] as { stop_reason: unknown }).stop_reason;
  }
  return all;
}

describe("anthropicStream", () => {
  it("STREAM-03 names what the model says as the Messages API does, and what happens around it", async () => {
    const { live, stored } = await streamed();
    const expected = [
      {
        stop: "tool_use",
        blocks: [
          { type: "thinking", text: "Look." },
          { type: "text", text: "Wait." },
          { type: "tool_use", text: '{"city":"Oslo"}' },
        ],
      },
      { stop: "end_turn", blocks: [{ type: "text", text: "Rain." }] },
    ];
    expect(messages(live)).toEqual(expected);
    expect(messages(stored)).toEqual(expected);
    const around = live.map(({ type }) => type).filter((type) => !type.startsWith("content_block"));
    expect(around).toEqual([
      "agent_start",
      "iteration_start",
      "message_start",
      "message_delta",
      "message_stop",
      "iteration_stop",
      "tool_execution_start",
      "tool_execution_result",
      "iteration_start",
      "message_start",
      "message_delta",
      "message_stop",
      "iteration_stop",
      "agent_stop",
    ]);
    const started = live.filter(({ type }) => type === "content_block_start").length;
    expect(live.filter(({ type }) => type === "content_block_stop").length).toBe(started);
    expect(live.find(({ type }) => type === "tool_execution_result")).toMatchObject({
      name: "weather",
      output: "rain",
      is_error: false,
    });
  });
});
