import { agent, jsonSchema, type Message, type ModelRequest, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { play } from "../file-world.ts";
import { trimResults } from "./index.ts";

const LONG = "x".repeat(2_000);
const read = tool<{ readonly what: string }>({
  name: "read",
  description: "Reads.",
  input: jsonSchema({ type: "object", properties: { what: { type: "string" } }, required: ["what"] }),
  rerun: "safe",
  execute: ({ what }) => (what === "short" ? "short" : `${what} ${LONG}`),
});
const call = (what: string): ScriptedReply => ({ calls: [{ name: "read", input: { what } }] });
const turns = [call("a"), call("b"), call("short"), call("c"), call("d"), { text: "Done." }];

/** The first word of each result as the model saw it. */
const seen = ({ messages }: ModelRequest): readonly string[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output.content).split(" ")[0] ?? ""] : [])),
  );

describe("trimResults", () => {
  it("CTX-02 leaves old results out of the requests, all at once, and keeps those of the last turns", async () => {
    const { model, log } = await play({
      plugins: [trimResults({ atCharacters: 5_000, keepTurns: 1 })],
      tools: [read],
      turns,
    });
    expect(model.requests.map(seen)).toEqual([
      [],
      ["a"],
      ["a", "b"],
      ["a", "b", "short"],
      ["[Left", "[Left", "short", "c"],
      ["[Left", "[Left", "short", "c", "d"],
    ]);
    expect(log.filter(({ type }) => type === "data")).toHaveLength(1);
    const stored = log.flatMap((fact) => (fact.type === "tool.finished" ? [textOf(fact.output.content)] : []));
    expect(stored.every((text) => !text.startsWith("["))).toBe(true); // the conversation has them all
  });

  it("CTX-02 COST-03 what was left out stays the same object, so that the cached prompt grows again", async () => {
    const { model } = await play({
      plugins: [trimResults({ atCharacters: 5_000, keepTurns: 1 })],
      tools: [read],
      turns,
    });
    const [before, after] = model.requests.slice(-2);
    const same = (messages: readonly Message[] = []): readonly Message[] => messages.slice(0, before?.messages.length);
    expect(same(after?.messages).every((message, index) => message === before?.messages[index])).toBe(true);
  });

  it("CTX-06 the model reads a result again by the handle in its place, in parts", async () => {
    const again =
      (offset?: number): ScriptedReply =>
      (request) => {
        const left =
          JSON.stringify(request.messages).match(/read_result \{ \\\\?"id\\\\?": \\\\?"([^"\\]+)/)?.[1] ?? "";
        return { calls: [{ name: "read_result", input: { id: left, ...(offset !== undefined && { offset }) } }] };
      };
    const { results } = await play({
      plugins: [trimResults({ atCharacters: 1_500, keepTurns: 0 })],
      tools: [read],
      turns: [
        call("a"),
        again(),
        again(2_000),
        again(90_000),
        { calls: [{ name: "read_result", input: { id: "none" } }] },
      ],
    });
    expect(results.slice(1)).toEqual([
      `read_result ok: a ${LONG}`,
      "read_result ok: xx",
      "read_result error: It has 2002 characters: offset 90000 is beyond its end.",
      'read_result error: The conversation has no result "none" any more.',
    ]);
  });

  it("CTX-06 pinned results stay", async () => {
    const pin = trimResults({
      atCharacters: 5_000,
      keepTurns: 1,
      pin: ({ output }) => textOf(output.content).startsWith("a"),
    });
    const { model } = await play({ plugins: [pin], tools: [read], turns });
    expect(seen(model.requests.at(-1) as ModelRequest)).toEqual(["a", "[Left", "short", "c", "d"]);
  });

  it("EDGE-10 CTX-06 what is read again keeps its labels", async () => {
    const secret = tool({
      name: "read",
      description: "Reads.",
      input: jsonSchema<object>({ type: "object" }),
      rerun: "safe",
      execute: () => ({ content: [{ type: "text", text: LONG }], labels: ["secret"] }),
    });
    const again: ScriptedReply = (request) => {
      const id = JSON.stringify(request.messages).match(/\{ \\"id\\": \\"([^"\\]+)/)?.[1] ?? "";
      return { calls: [{ name: "read_result", input: { id } }] };
    };
    const { log } = await play({
      plugins: [trimResults({ atCharacters: 0, keepTurns: 0 })],
      tools: [secret],
      turns: [{ calls: [{ name: "read", input: {} }] }, again, { text: "Done." }],
    });
    const ends = log.flatMap((fact) => (fact.type === "tool.finished" ? [[fact.status, fact.output.labels]] : []));
    expect(ends).toEqual([
      ["ok", ["secret"]],
      ["ok", ["secret"]],
    ]);
  });

  it("DUR-03 CTX-02 survives a crash at every write", async () => {
    const plugins = [trimResults({ atCharacters: 3_000, keepTurns: 1 })];
    const worker = agent({
      name: "worker",
      model: scriptedModel(turns),
      instructions: "Work.",
      tools: [read],
      plugins,
    });
    const report = await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go") });
    expect(report.crashes).toBeGreaterThan(20);
  });

  it("refuses numbers that are none", () => {
    expect(() => trimResults({ atCharacters: -1 })).toThrow("trimResults:");
    expect(() => trimResults({ keepTurns: 0.5 })).toThrow("trimResults:");
  });
});
