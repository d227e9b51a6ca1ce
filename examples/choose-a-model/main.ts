/** Choosing models: endpoints of one's own, another one when the first is down, settings, and what a run has cost. */

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { agent, openRuntime } from "capstan";
import { toMessages } from "capstan/models/convert";
import { deferredModel, fallback, resolveModel, usableModels, withSettings } from "capstan/models";
import { openaiChat } from "capstan/models/openai-chat";
import { reasoningDecay } from "capstan/plugins";

/** Stands for a gateway: its large model is overloaded, its small one answers. */
const gateway = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += String(piece)));
  request.on("end", () => (body.includes('"large"') ? busy(response) : answer(response, "Take an umbrella.")));
});
await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/v1`;
const vault = { key: async ({ fresh }: { fresh: boolean }) => (fresh ? "new-token" : "token") };

const large = openaiChat("large", {
  name: "acme",
  baseUrl,
  apiKey: ({ rejected }) => vault.key({ fresh: rejected }), // asked before every call, and once more after a 401
  capabilities: { contextTokens: 200_000, images: true, structured: true },
  price: { input: 1, output: 4 }, // US dollars per million tokens
});
const small = deferredModel("acme/small", async () => {
  const apiKey = await vault.key({ fresh: false });
  return openaiChat("small", { name: "acme", baseUrl, apiKey, price: { input: 0.5, output: 2 } });
});

const helper = agent({
  name: "helper",
  model: fallback([large, withSettings(small, { maxOutputTokens: 500 })]),
  instructions: "Answer in one line.",
  plugins: [reasoningDecay({ 1: "high", 4: "low" })], // thinks hard in the first three turns of a run
  limits: { usd: 1 },
});

await using runtime = await openRuntime({ agents: [helper] });
const run = await runtime.send(helper, "Umbrella in Oslo?");
for await (const { event } of run.events()) {
  if (event.type === "notice") console.log(event.title);
  if (event.type === "turn.finished") console.log(`answered by ${event.model}`);
}
const { text, usage } = await run.result();
console.log(text, `for ${(usage.costMicroUsd ?? 0) / 1_000_000} dollars`);
assert.equal(text, "Take an umbrella.");
assert.equal(usage.costMicroUsd, 1_000 * 0.5 + 100 * 2);

/** A conversation of another SDK that broke off in the middle of a call. */
const stored = [
  { role: "user", content: "Umbrella in Oslo?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: "{}" } }],
  },
  { role: "user", content: "Are you there?" },
];
const { messages, repairs } = toMessages(stored);
for (const { at, code, detail } of repairs) console.log(`message ${at}: ${code} (${detail})`);
const session = await runtime.session({ agent: helper, messages });
console.log(await (await session.send("Then look again.")).text());
assert.deepEqual(
  repairs.map(({ code }) => code),
  ["call-unanswered"],
);
gateway.close();

for (const { provider, model, usable, problem } of await usableModels()) {
  console.log(model ?? provider, usable ? "can be used" : problem);
}
const demo = await resolveModel("demo");
assert.equal(demo.id, "demo/scripted");
await assert.rejects(resolveModel("claude-sonnet-5-5", {}), /Did you mean "anthropic\/claude-sonnet-5-5"/);

function busy(response: ServerResponse): void {
  response.writeHead(503, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message: "Too many requests are waiting", type: "overloaded" } }));
}

function answer(response: ServerResponse, content: string): void {
  const chunks = [
    { choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 } },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify({ id: "c1", model: "small", ...chunk })}\n\n`);
  response.end("data: [DONE]\n\n");
}
