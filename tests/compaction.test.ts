import {
  agent,
  conversation,
  type Fact,
  INTERRUPT_MARKER,
  jsonSchema,
  type Model,
  type ModelRequest,
  type Plugin,
  type Run,
  type StopReason,
  textOf,
  tool,
} from "@capstan/core";
import { compaction } from "@capstan/plugins/compaction";
import { tokenLimit } from "@capstan/plugins/token-limit";
import { trimResults } from "@capstan/plugins/trim-results";
import { describe, expect, it } from "vitest";
import { messageProblems } from "./harness/history-checker.ts";
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

type Talk = { readonly facts: readonly Fact[]; readonly asked: readonly ModelRequest[] };

/** All inputs one after the other; `say` may do more than wait for the end of the run. */
async function told(
  format: (typeof WIRE_FORMATS)[number],
  plugin: Plugin,
  inputs: readonly string[],
  say: (run: Run, input: number) => Promise<StopReason | undefined> = async (run) => (await run.result()).reason,
): Promise<Talk> {
  let next: Said = {};
  await using played = format.play(() => next, { chunkBytes: 400 });
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
  const guide = agent({ name: "guide", model, instructions: "Look.", tools: [read], plugins: [plugin], settings });
  await using runtime = await memoryRuntime([guide]);
  const session = await runtime.session({ agent: "guide" });
  for (const [index, input] of inputs.entries()) {
    const run = await session.send(input);
    expect(await say(run, index), format.name).toBe("end-turn");
  }
  expect(played.violations, format.name).toEqual([]);
  const facts = await factsOf(runtime.store, session.id);
  const talk = conversation();
  for (const fact of facts) talk.apply(fact);
  expect(messageProblems(talk.messages), format.name).toEqual([]);
  return { facts, asked };
}

describe("a conversation that is compacted over and over", () => {
  for (const format of WIRE_FORMATS) {
    it(`CTX-01 is taken by ${format.name}, whatever is kept of it`, async () => {
      for (const keepTurns of [0, 1, 2, 3]) {
        const inputs = ["Read it.", "Again.", "/compact", "And again.", "Once more."];
        const { facts, asked } = await told(format, compaction({ atTokens: 1_000, keepTurns }), inputs);
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

describe("a conversation of which the model sees a part", () => {
  const inputs = ["Read it.", "Again.", "And again.", "Once more."];
  for (const format of WIRE_FORMATS) {
    it(`CTX-02 CTX-04 is taken by ${format.name}, without its old results or without its old turns`, async () => {
      for (const keepTurns of [0, 1, 3]) {
        const { asked } = await told(format, trimResults({ atCharacters: 5_000, keepTurns }), inputs);
        expect(JSON.stringify(asked.at(-1)?.messages)).toContain("[Left out: an old result");
      }
      for (const tokens of [2_600, 4_000]) {
        const { asked } = await told(format, tokenLimit({ tokens }), inputs);
        expect(asked.at(-1)?.messages[0]?.id).toBe("token-limit/left-out");
      }
    });
  }
});

describe("an interrupt of a run that compacts", () => {
  it("LOOP-08 LOOP-09 LOOP-10 CTX-01 after any of its events leaves one end, a sound history, and a whole compaction or none", async () => {
    const halves = new Set<boolean>();
    for (let at = 1; ; at += 3) {
      const format = WIRE_FORMATS[at % WIRE_FORMATS.length];
      if (format === undefined) throw new Error("there is no such format");
      let ended: StopReason | undefined;
      const interrupting = async (run: Run, input: number): Promise<StopReason | undefined> => {
        if (input !== 1) return (await run.result()).reason;
        let events = 0;
        for await (const _event of run.events()) if (++events === at) await run.session.interrupt(run.id);
        ended = (await run.result()).reason;
        return "end-turn";
      };
      const inputs = ["Read it.", "Again.", "And again."];
      const { facts } = await told(format, compaction({ atTokens: 1_000, keepTurns: 1 }), inputs, interrupting);
      const second = facts.filter(({ type }) => type === "run.started")[1]?.runId;
      expect(facts.filter(({ type, runId }) => type === "run.finished" && runId === second)).toHaveLength(1);
      halves.add(facts.some(({ type, runId }) => type === "context.compacted" && runId === second));
      if (ended === "end-turn") break;
      expect(ended).toBe("interrupted");
      const said = facts.flatMap((fact) =>
        fact.type === "message.added" && fact.runId === second ? [fact.message] : [],
      );
      const marked = said.filter(({ parts }) => textOf(parts).endsWith(INTERRUPT_MARKER));
      if (said.length > 0) expect(marked).toEqual(said.slice(-1));
    }
    expect(halves).toEqual(new Set([true, false]));
  }, 60_000);
});
