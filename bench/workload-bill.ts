/** What the input costs at default settings: real loop, real adapter, a simulated prompt cache, against the ideal. */

import { agent, type Runtime, tool } from "capstan";
import { anthropic } from "capstan/models/anthropic";
import { testRuntime } from "capstan/testing";
import { anthropicServer, type AnthropicReply, billRatio, cacheBlocks } from "@capstan/models/testing";
import { z } from "zod";
import { INPUT, lookAt, SYSTEM, TOOL } from "./subject.ts";
import type { Numbers } from "./world.ts";

export async function inputBill(): Promise<Numbers> {
  const toolTurns = await priced(callsFor(20, 1), async (runtime) => {
    await runtime.send("reader", INPUT).then((run) => run.text());
  });
  const shortChats = await priced(saysHello, async (runtime) => {
    for (let index = 0; index < 5; index++) {
      const session = await runtime.session({ agent: "reader" });
      for (const input of [`Hello, I am number ${index}`, "And what else?"]) await (await session.send(input)).text();
    }
  });
  const wideTurns = await priced(callsFor(6, 16), async (runtime) => {
    await runtime.send("reader", INPUT).then((run) => run.text());
  });
  return { toolTurns, shortChats, wideTurns };
}

async function priced(
  script: (index: number) => AnthropicReply,
  talk: (runtime: Runtime) => Promise<void>,
): Promise<number> {
  await using server = await anthropicServer((_request, index) => script(index));
  const look = tool({
    name: TOOL.name,
    description: TOOL.description,
    input: z.object({ path: z.string(), line: z.number(), context: z.number() }),
    rerun: "safe",
    execute: lookAt,
  });
  const model = anthropic(undefined, { baseUrl: server.url });
  const reader = agent({ name: "reader", model, instructions: SYSTEM.repeat(5), tools: [look] });
  await using runtime = await testRuntime({ agents: [reader] });
  await talk(runtime);
  if (server.violations.length > 0) throw new Error(server.violations.join("; "));
  return billRatio(server.requests, cacheBlocks);
}

function callsFor(turns: number, calls: number): (index: number) => AnthropicReply {
  return (index) => {
    if (index >= turns) return saysHello();
    const input = { path: `src/file-${index}.ts`, context: 12 };
    return {
      content: [
        { type: "thinking", thinking: `Turn ${index}.` },
        { type: "text", text: `Turn ${index}: I look.` },
        ...Array.from(
          { length: calls },
          (_, at) => ({ type: "tool_use", name: "look", input: { ...input, line: at } }) as const,
        ),
      ],
    };
  };
}

function saysHello(): AnthropicReply {
  return { content: [{ type: "text", text: "Hello. That is all that I have to say." }] };
}
