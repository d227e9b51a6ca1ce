import { agent, conversation, type Fact, jsonSchema, type Model, type ModelRequest, textOf, tool } from "@capstan/core";
import { compaction, type CompactionOptions } from "@capstan/plugins/compaction";
import { describe, expect, it } from "vitest";
import { historyProblems } from "./harness/history-checker.ts";
import { factsOf, memoryRuntime, strict } from "./harness/memory-runtime.ts";
import { type Said, WIRE_FORMATS } from "./harness/wire-formats.ts";

const NOTES = "The notes of what was done.";
const LONG = "A line of the file that was read.\n".repeat(60);
const read = tool({
  name: "read",
  description: "Reads a file.",
  input: jsonSchema<{ readonly path: string }>({
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  }),
  rerun: "safe",
  execute: ({ path }) => `${path}:\n${LONG}`,
});

/** Two calls at once, then one, then an answer, each with a thought. The history says where it stands. */
function said(request: ModelRequest): Said {
  const last = request.messages.at(-1);
  if (last?.id.startsWith("compaction/t") === true) return { text: NOTES };
  const results = last?.parts.filter(({ type }) => type === "tool-result").length ?? 0;
  if (results === 1 || last?.id.startsWith("compaction/") === true) return { reasoning: "That is all.", text: "Read." };
  const paths = results === 2 ? ["c"] : ["a", "b"];
  return {
    reasoning: "I must look.",
    text: "I look.",
    calls: paths.map((path) => ({ name: "read", input: { path } })),
  };
}

async function told(
  format: (typeof WIRE_FORMATS)[number],
  options: CompactionOptions,
  inputs: readonly string[],
): Promise<{ readonly facts: readonly Fact[]; readonly asked: readonly ModelRequest[] }> {
  let next: Said = {};
  await using played = format.play(() => next);
  const asked: ModelRequest[] = [];
  const model: Model = strict({
    ...played.model,
    stream(request) {
      asked.push({ ...request, messages: [...request.messages] });
      next = said(request);
      return played.model.stream(request);
    },
  });
  const settings = { reasoning: "high" } as const;
  const plugins = [compaction(options)];
  const guide = agent({ name: "guide", model, instructions: "Look.", tools: [read], plugins, settings });
  await using runtime = await memoryRuntime([guide]);
  const session = await runtime.session({ agent: "guide" });
  for (const input of inputs) {
    const { reason, error } = await (await session.send(input)).result();
    expect([reason, error], format.name).toEqual(["end-turn", undefined]);
  }
  expect(played.violations, format.name).toEqual([]);
  const facts = await factsOf(runtime.store, session.id);
  expect(historyProblems(facts), format.name).toEqual([]);
  return { facts, asked };
}

describe("a conversation that is compacted over and over", () => {
  for (const format of WIRE_FORMATS) {
    it(`CTX-01 is taken by ${format.name}, whatever is kept of it`, async () => {
      for (const keepTurns of [0, 1, 2, 3]) {
        const inputs = ["Read it.", "Again.", "/compact", "And again.", "Once more."];
        const { facts, asked } = await told(format, { atTokens: 1_000, keepTurns }, inputs);
        const compacted = facts.filter(({ type }) => type === "context.compacted");
        expect(compacted.length, `keeping ${keepTurns}`).toBeGreaterThan(1);
        const said = conversation();
        for (const fact of facts) said.apply(fact);
        expect(textOf(said.messages[0]?.parts ?? [])).toContain(NOTES);
        expect(asked.some(({ messages }) => messages.at(-1)?.id === "compaction/task")).toBe(true);
      }
    });
  }
});
