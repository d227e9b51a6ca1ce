import { agent, jsonSchema, type Model, tool } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { anthropicFrom } from "./anthropic.ts";
import { openaiFrom } from "./openai.ts";
import { anthropicServer, openaiError, type OpenAIScript, type OpenAIServer, openaiServer } from "./testing/index.ts";

const KEY = "sk-proj-0123456789-secret";
const MODEL = "gpt-6.1-sol";

function modelOf(server: OpenAIServer): Model {
  return openaiFrom({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url }, MODEL);
}

const look = tool({
  name: "look",
  description: "Looks out of the window.",
  input: jsonSchema<{ readonly at: string }>({ type: "object", properties: { at: { type: "string" } } }),
  rerun: "safe",
  execute: ({ at }) => `rain in ${at}`,
});

const LOOK: OpenAIScript = [
  {
    items: [
      { type: "reasoning", summary: ["I look twice."] },
      { type: "text", text: "I look.", phase: "commentary" },
      { type: "call", name: "look", input: { at: "Oslo" } },
      { type: "call", name: "look", input: { at: "Rome" } },
    ],
    usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 64 }, output_tokens: 30 },
  },
  { items: [{ type: "text", text: "Take an umbrella.", phase: "final_answer" }] },
  { items: [{ type: "text", text: "Yes.", phase: "final_answer" }] },
];

describe("an agent on openai", () => {
  it("MODEL-03 COST-04 calls tools and goes on with what the provider takes, and counts the tokens", async () => {
    await using server = await openaiServer(LOOK);
    const guide = agent({ name: "guide", model: modelOf(server), instructions: "Look first.", tools: [look] });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Umbrella?");
    expect(await run.text()).toBe("Take an umbrella.");
    expect((await run.result()).usage).toMatchObject({ inputTokens: 46, outputTokens: 35, cacheReadTokens: 64 });
    expect(await (await run.session.send("Sure?")).text()).toBe("Yes.");
    expect(server.violations).toEqual([]);
    const [first, second, third] = server.requests.map(({ text }) => text.slice(0, -"]}".length));
    expect(second?.startsWith(first ?? "?")).toBe(true);
    expect(third?.startsWith(second ?? "?")).toBe(true);
    const input = server.requests[1]?.body["input"] as { readonly type: string; readonly phase?: string }[]; // it was checked
    expect(input.map(({ type }) => type)).toEqual([
      "message",
      "reasoning",
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
    ]);
    expect(input[2]?.phase).toBe("commentary");
  });

  it("MODEL-16 hands a conversation to another provider and back, without what only one can read", async () => {
    await using openai = await openaiServer(LOOK);
    await using claude = await anthropicServer([
      {
        content: [
          { type: "thinking", thinking: "Hm." },
          { type: "tool_use", name: "look", input: { at: "Bonn" } },
        ],
      },
      { content: [{ type: "text", text: "Rain." }] },
      { content: [{ type: "text", text: "Still rain." }] },
    ]);
    const a = anthropicFrom({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: claude.url }, "claude-opus-4-6");
    const b = modelOf(openai);
    let turn = 0;
    const model: Model = { ...a, stream: (request) => ([2, 3].includes(turn++) ? b : a).stream(request) };
    const guide = agent({ name: "guide", model, instructions: "Look first.", tools: [look] });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Umbrella?");
    expect(await run.text()).toBe("Rain.");
    expect(await (await run.session.send("And elsewhere?")).text()).toBe("Take an umbrella.");
    expect(await (await run.session.send("Now?")).text()).toBe("Still rain.");
    expect([openai.violations, claude.violations]).toEqual([[], []]);
    expect(JSON.stringify(openai.requests)).not.toContain("sig_");
    expect(claude.requests.at(-1)?.text).not.toMatch(/gAAAAA|commentary/);
  });

  it("OUT-01 gives a checked output that the provider enforced", async () => {
    const schema = {
      type: "object",
      properties: { degrees: { type: "number" } },
      required: ["degrees"],
      additionalProperties: false,
    };
    await using server = await openaiServer([{ items: [{ type: "text", text: '{"degrees":12}' }] }]);
    const output = jsonSchema<{ readonly degrees: number }>(schema);
    const guide = agent({ name: "guide", model: modelOf(server), instructions: "Measure.", output });
    await using runtime = await testRuntime({ agents: [guide] });
    expect(await (await runtime.send(guide, "How warm?")).output()).toEqual({ degrees: 12 });
    expect(server.requests[0]?.body["text"]).toEqual({
      format: { type: "json_schema", name: "output", schema, strict: true },
    });
  });

  it("LOOP-20 goes on with the answer as it is when the provider paused", async () => {
    await using server = await openaiServer([
      {
        items: [
          { type: "reasoning", summary: [] },
          { type: "text", text: "Half. ", phase: "commentary" },
        ],
        incomplete: "steered",
      },
      { items: [{ type: "text", text: "Whole.", phase: "final_answer" }] },
    ]);
    const guide = agent({ name: "guide", model: modelOf(server), instructions: "Go on." });
    await using runtime = await testRuntime({ agents: [guide] });
    expect(await (await runtime.send(guide, "Go")).text()).toContain("Whole.");
    expect(server.violations).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  it("LOOP-29 G23 ends with a typed error, and the key is in no fact and no event", async () => {
    const body = openaiError("invalid_api_key", `Incorrect API key provided: ${KEY}.`);
    await using server = await openaiServer(() => ({ status: 401, headers: { "x-key": KEY }, body }));
    const guide = agent({ name: "guide", model: modelOf(server), instructions: "Go." });
    await using runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const result = await run.result().catch((error: unknown) => error);
    expect(JSON.stringify(result)).toContain("model-auth");
    const facts = await runtime.store.read(run.session.id, { after: 0, limit: 1_000 });
    expect(facts.at(-1)).toMatchObject({ type: "run.finished", reason: "error", error: { code: "model-auth" } });
    expect(JSON.stringify([facts, result])).not.toContain("0123456789-secret");
  });
});
