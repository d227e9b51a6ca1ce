import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type Permission } from "../ports/agent.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";

/** What a running call hears about two addresses that it did not declare. */
async function judged(permission: Permission): Promise<unknown> {
  let said: unknown;
  const walker = tool({
    name: "walk",
    description: "Walks.",
    input: z.object({}),
    needs: () => [{ type: "fetch", url: "https://start.example/" }],
    async execute(_input, { judge }) {
      const verdicts = ["https://next.example/", "https://evil.example/"].map(async (url) =>
        judge?.([{ type: "fetch", url }]),
      );
      said = (await Promise.all(verdicts)).map((verdict) => [verdict?.verdict, verdict?.by, verdict?.rule]);
    },
  });
  const model = scriptedModel([{ calls: [{ name: "walk", input: {} }] }, { text: "Done." }]);
  const worker = agent({ name: "worker", model, instructions: "Walk.", tools: [walker], permission });
  await using runtime = await testRuntime({ agents: [worker] });
  const run = await runtime.send("worker", "Go");
  const types: string[] = [];
  for await (const { event } of run.events()) types.push(event.type);
  expect(types).not.toContain("request.opened");
  return said;
}

describe("context.judge", () => {
  it("G21 says what rules say of more than a call declared, and asks nobody", async () => {
    const next = "walk(https://next.example/**)";
    const evil = "walk(evil.example)";
    expect(await judged({ allow: ["walk(start.example)", next], deny: [evil], mode: "ask" })).toEqual([
      ["allow", "rule", next],
      ["deny", "rule", evil],
    ]);
  });
});
