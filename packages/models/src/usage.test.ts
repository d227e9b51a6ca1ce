import { describe, expect, it } from "vitest";
import { addUsage, agent, NO_USAGE, plugin, tool, type Usage } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { anthropicFrom } from "./anthropic.ts";
import { anthropicServer } from "./testing/index.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  rerun: "safe",
  execute: () => "Nothing.",
});

describe("what a run has used", () => {
  it("COST-05 COST-06 adds up over calls and runs, and a hook hears of each call before the loop goes on", async () => {
    await using server = await anthropicServer((_request, index) => ({
      content: index % 2 === 0 ? [{ type: "tool_use", name: "look", input: {} }] : [{ type: "text", text: "Done." }],
    }));
    const model = anthropicFrom({}, "claude-opus-4-6", { apiKey: "k", baseUrl: server.url });
    const heard: Usage[] = [];
    const requestsWhenHeard: number[] = [];
    const meter = plugin({
      name: "meter",
      async *model(request, _context, next) {
        for await (const batch of next(request)) {
          for (const event of batch) {
            if (event.type !== "finish") continue;
            heard.push(event.usage);
            requestsWhenHeard.push(server.requests.length);
          }
          yield batch;
        }
      },
    });
    const looker = agent({ name: "looker", model, instructions: "Look.", tools: [look], plugins: [meter] });
    await using runtime = await testRuntime({ agents: [looker] });
    const session = await runtime.session({ agent: looker });
    const first = await (await session.send("Look")).result();
    const second = await (await session.send("Again")).result();
    expect(requestsWhenHeard).toEqual([1, 2, 3, 4]);
    expect(heard.every(({ costMicroUsd = 0, outputTokens }) => costMicroUsd > 0 && outputTokens > 0)).toBe(true);
    const total = heard.reduce(addUsage, NO_USAGE);
    expect(addUsage(first.usage, second.usage)).toEqual(total);
    expect((await session.state()).usage).toEqual(total);
  });
});
