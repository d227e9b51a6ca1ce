import { describe, expect, it } from "vitest";
import type { Message, ModelRequest, Part, ToolSpec } from "@capstan/core";
import { anthropicFrom } from "./anthropic.ts";
import {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  billRatio,
  cacheBlocks,
  collectEvents,
  modelRequest,
  partsOf,
} from "./testing/index.ts";

const SYSTEM = "You are a careful assistant. ".repeat(400);
const TOOLS: readonly ToolSpec[] = [
  { name: "look", description: "Looks. ".repeat(50), inputSchema: { type: "object" } },
];

/** The plan of core in its plain case: after the prefix, the previous tail and the newest. */
function planOf(messages: readonly Message[]): readonly number[] {
  const previousTail = messages.findLastIndex(({ role }) => role === "assistant") - 1;
  return [-1, ...(previousTail >= 0 ? [previousTail] : []), messages.length - 1];
}

/** What the loop does with a conversation: results of all calls in one message, breakpoints by plan. */
async function converse(
  server: AnthropicServer,
  opening: string,
  turns: number,
  more: Partial<ModelRequest> = {},
): Promise<void> {
  const model = anthropicFrom({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url }, "claude-opus-4-6");
  const messages: Message[] = [{ id: "0", role: "user", parts: [{ type: "text", text: opening }] }];
  for (let turn = 0; turn < turns; turn++) {
    const cache = planOf(messages);
    const events = await collectEvents(
      model,
      modelRequest([...messages], { system: SYSTEM, tools: TOOLS, cache, ...more }),
    );
    const parts = partsOf(events).map((part, index): Part =>
      part.type === "tool-call" ? { ...part, callId: `${opening}/${turn}/${index}` } : part,
    );
    const results = parts.flatMap((part): Part[] =>
      part.type === "tool-call"
        ? [
            {
              type: "tool-result",
              callId: part.callId,
              name: part.name,
              output: { content: [{ type: "text", text: `seen ${part.callId} `.repeat(20) }] },
            },
          ]
        : [],
    );
    messages.push({ id: `a${turn}`, role: "assistant", parts });
    messages.push({
      id: `u${turn}`,
      role: "user",
      parts: results.length > 0 ? results : [{ type: "text", text: `and ${turn}?` }],
    });
  }
}

function callsReply(calls: number): (request: unknown, index: number) => AnthropicReply {
  return (_request, index) => ({
    content: [
      { type: "thinking", thinking: `Turn ${index}.` },
      { type: "text", text: `Turn ${index}: I look.` },
      ...Array.from(
        { length: calls },
        (_, at) => ({ type: "tool_use", name: "look", input: { turn: index, at } }) as const,
      ),
    ],
  });
}

describe("the input bill at default settings", () => {
  it("COST-01 is 1.00 times the ideal for 20 tool turns", async () => {
    await using server = await anthropicServer(callsReply(1));
    await converse(server, "Look around", 20);
    expect(server.violations).toEqual([]);
    expect(billRatio(server.requests, cacheBlocks)).toBeCloseTo(1, 6);
  });

  it("COST-01 is 1.00 times the ideal for five short conversations that share a system prompt", async () => {
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "Hello." }] }));
    for (const opening of ["a", "b", "c", "d", "e"]) await converse(server, opening, 2);
    expect(server.violations).toEqual([]);
    expect(billRatio(server.requests, cacheBlocks)).toBeCloseTo(1, 6);
  });

  it("COST-01 is 1.00 times the ideal for turns of 16 parallel calls", async () => {
    await using server = await anthropicServer(callsReply(16));
    await converse(server, "Look everywhere", 6);
    expect(server.violations).toEqual([]);
    expect(billRatio(server.requests, cacheBlocks)).toBeCloseTo(1, 6);
  });

  it("COST-01 is several times the ideal without breakpoints, so the price is measured", async () => {
    await using server = await anthropicServer(callsReply(1));
    await converse(server, "Look around", 20, { cache: [] });
    expect(billRatio(server.requests, cacheBlocks)).toBeGreaterThan(4);
  });

  it("COST-04 comes back as usage that adds up to the prompt", async () => {
    await using server = await anthropicServer(callsReply(1));
    await converse(server, "Look around", 2);
    const [first, second] = server.requests.map(({ cache }) => cache);
    expect(first).toMatchObject({ read: 0, input: 0 });
    expect(second?.read).toBe(first?.written);
    const model = anthropicFrom({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url }, "claude-opus-4-6");
    const messages: readonly Message[] = [{ id: "x", role: "user", parts: [{ type: "text", text: "Another one" }] }];
    const told = await collectEvents(model, modelRequest(messages, { system: SYSTEM, tools: TOOLS, cache: [-1, 0] }));
    const { input, read, written } = server.requests.at(-1)?.cache ?? {};
    expect(told.at(-1)).toMatchObject({
      usage: { inputTokens: input, cacheReadTokens: read, cacheWriteTokens: written },
    });
    expect(Math.min(Number(read), Number(written))).toBeGreaterThan(0);
  });

  it("COST-03 sends no marker where the endpoint takes none", async () => {
    await using server = await anthropicServer(callsReply(1));
    const capabilities = { cacheMarkers: false };
    const model = anthropicFrom({}, "claude-opus-4-6", { apiKey: "k", baseUrl: server.url, capabilities });
    const messages: readonly Message[] = [{ id: "x", role: "user", parts: [{ type: "text", text: "Hello" }] }];
    await collectEvents(model, modelRequest(messages, { system: SYSTEM, tools: TOOLS, cache: [-1, 0] }));
    expect(server.requests[0]?.text).not.toContain("cache_control");
  });
});

describe("the bytes of a request", () => {
  it("COST-09 begin with those of the turn before, but for the markers", async () => {
    await using server = await anthropicServer(callsReply(3));
    await converse(server, "Look around", 8);
    const marker = /,"cache_control":\{"type":"ephemeral"\}/g;
    const texts = server.requests.map(({ text }) => text.replaceAll(marker, "").replace(/\]\}$/, ""));
    expect(texts).toHaveLength(8);
    for (const [index, text] of texts.entries()) {
      if (index > 0) expect(text.startsWith(`${texts[index - 1]},`)).toBe(true);
    }
  });

  it("COST-09 are the same from another process that holds equal messages", async () => {
    const bodies: string[] = [];
    for (let run = 0; run < 2; run++) {
      await using server = await anthropicServer(callsReply(2));
      await converse(server, "Look around", 4);
      bodies.push(server.requests.at(-1)?.text ?? "");
    }
    expect(bodies[0]).toBe(bodies[1]);
  });
});
