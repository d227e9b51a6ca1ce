import { describe, expect, it } from "vitest";
import type { Message, ModelEvent, ModelRequest } from "@capstan/core";
import { anthropicFrom } from "./anthropic.ts";
import { anthropicServer } from "./testing/index.ts";

const KEY = "sk-ant-test-0123456789abcdef";
function requestOf(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: "You are helpful.",
    tools: [],
    messages,
    settings: {},
    cache: [],
    sessionId: "ses_1",
    signal: new AbortController().signal,
    blob: async () => new Uint8Array([1, 2, 3]),
    ...more,
  };
}
describe("anthropic", () => {
  it("MODEL-01 streams", async () => {
    await using server = await anthropicServer([{ content: [{ type: "text", text: "Hi there" }] }]);
    const model = anthropicFrom({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
    const events: ModelEvent[] = [];
    for await (const batch of model.stream(requestOf([{ id: "1", role: "user", parts: [{ type: "text", text: "Hello" }] }]))) events.push(...batch);
    expect(server.violations).toEqual([]);
    console.log(events, server.requests[0]?.text);
  });
});
