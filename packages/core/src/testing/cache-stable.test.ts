import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { jsonSchema } from "../words/schema.ts";
import { plugin, type Plugin } from "../ports/plugin.ts";
import { tool } from "../ports/tool.ts";
import { expectCacheStable } from "./cache-stable.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { testRuntime } from "./test-runtime.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: jsonSchema({ type: "object" }),
  rerun: "safe",
  execute: () => "seen",
});

async function talk(plugins: readonly Plugin[] = []): Promise<ScriptedModel> {
  const model = scriptedModel([{ calls: [{ name: "look", input: {} }] }, { text: "One." }, { text: "Two." }]);
  const guide = agent({ name: "guide", model, instructions: "Look.", tools: [look], plugins });
  await using runtime = await testRuntime({ agents: [guide] });
  for (const key of ["a", "b"]) {
    const session = await runtime.session({ agent: "guide", key });
    for (const input of ["Go", "More"]) await (await session.send(input)).text();
  }
  return model;
}

function body(system: unknown, tools: readonly object[], messages: readonly object[]): object {
  return { system, tools, messages, max_tokens: 1 };
}

describe("expectCacheStable", () => {
  it("EDGE-07 COST-09 passes what the loop asks, session by session, also with tails of prepare hooks", async () => {
    const model = await talk();
    expect(model.requests).toHaveLength(6);
    expectCacheStable(model);
    expectCacheStable(model.requests);
    expectCacheStable(await talk([plugin({ name: "p", prepare: () => ({ tail: [{ type: "text", text: "Now." }] }) })]));
  });

  it("EDGE-07 names the message that a hook changes", async () => {
    const forgetful = plugin({
      name: "forgetful",
      model: (request, _context, next) =>
        next({ ...request, messages: request.messages.length > 1 ? request.messages.slice(1) : request.messages }),
    });
    const model = await talk([forgetful]);
    expect(() => expectCacheStable(model)).toThrow(/^request 2 does not go on from request 1: message 0 differs/);
  });

  it("EDGE-07 names system text, tools and missing messages in the bodies of providers, and leaves markers out", () => {
    const [a, b] = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ];
    const marked = { ...a, cache_control: { type: "ephemeral" } };
    expectCacheStable([body("s", [], [marked]), body("s", [], [a, b])]);
    const first = body("same", [{ name: "t" }], [a, b]);
    const broken: readonly (readonly [object, string])[] = [
      [body("sane", [{ name: "t" }], [a, b]), 'system differs at character 3: "\\"same\\"" became "\\"sane\\""'],
      [body("same", [], [a, b]), "tools differs at character 1"],
      [body("same", [{ name: "t" }], [a]), "message 1 is missing"],
    ];
    for (const [second, problem] of broken)
      expect(() => expectCacheStable([first, second])).toThrow(`request 2 does not go on from request 1: ${problem}`);
  });
});
