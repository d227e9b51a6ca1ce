import { agent, type Json, type Message } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { fromMessages, type HistoryFormat, type RepairCode, toMessages } from "@capstan/models/convert";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { howMany } from "./harness/how-many.ts";
import { WIRE_FORMATS } from "./harness/wire-formats.ts";

type Wire = { readonly [name: string]: Json };

/** Two inputs, two calls beside each other, thoughts sealed by two providers, an image in a result. */
const GOOD: readonly Message[] = [
  { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella?" }] },
  {
    id: "m2",
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Look.", seal: { provider: "elsewhere", data: { signature: "sig-1" } } },
      { type: "text", text: "I look." },
      { type: "tool-call", callId: "c1", name: "weather", input: { city: "Oslo" }, by: "capstan" },
      { type: "tool-call", callId: "c2", name: "photo", input: {}, by: "capstan" },
    ],
  },
  {
    id: "m3",
    role: "user",
    parts: [
      { type: "tool-result", callId: "c1", name: "weather", output: { content: [{ type: "text", text: "Rain" }] } },
      {
        type: "tool-result",
        callId: "c2",
        name: "photo",
        output: { content: [{ type: "file", mediaType: "image/png", data: { type: "base64", base64: "AAAA" } }] },
      },
    ],
  },
  { id: "m4", role: "assistant", parts: [{ type: "text", text: "Take one." }] },
  { id: "m5", role: "user", parts: [{ type: "text", text: "And in Rome?" }] },
  {
    id: "m6",
    role: "assistant",
    parts: [
      {
        type: "opaque",
        seal: { provider: "anthropic", data: { type: "server_tool_use", id: "s1", name: "x", input: {} } },
      },
      { type: "tool-call", callId: "c3", name: "weather", input: { city: "Rome" }, by: "capstan" },
    ],
  },
  {
    id: "m7",
    role: "user",
    parts: [{ type: "tool-result", callId: "c3", name: "weather", output: { content: [], output: { sun: true } } }],
  },
  { id: "m8", role: "assistant", parts: [{ type: "text", text: "None." }] },
];

/** What every provider makes of a session that begins with this history: what it would have refused. */
async function goOn(messages: readonly Message[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const format of WIRE_FORMATS) {
    await using played = format.play(() => ({ text: "Yes." }));
    const guide = agent({ name: "guide", model: played.model, instructions: "Short." });
    await using runtime = await testRuntime({ agents: [guide] });
    const session = await runtime.session({ agent: guide, messages });
    const { text, error } = await (await session.send("Go on")).result();
    problems.push(...played.violations.map((problem) => `${format.name}: ${problem}`));
    if (text !== "Yes.") problems.push(`${format.name}: ${error?.message}`);
  }
  return problems;
}

const CALL = { type: "tool-call", name: "weather", input: {}, by: "capstan" } as const;
const result = (callId: string, said: string) =>
  ({ type: "tool-result", callId, name: "weather", output: { content: [{ type: "text", text: said }] } }) as const;
const says = (id: string, role: string, ...parts: readonly object[]): object => ({ id, role, parts });
const words = (text: string): object => ({ type: "text", text });

const DAMAGED: readonly (readonly [what: string, repairs: readonly RepairCode[], history: readonly object[]])[] = [
  [
    "a call that the end left open",
    ["call-unanswered"],
    [says("1", "user", words("Hi")), says("2", "assistant", { ...CALL, callId: "a" })],
  ],
  [
    "a call that the next input left open",
    ["call-unanswered"],
    [
      says("1", "user", words("Hi")),
      says("2", "assistant", { ...CALL, callId: "a" }),
      says("3", "user", words("Well?")),
    ],
  ],
  [
    "a result without its call, and one given twice",
    ["result-orphaned", "result-repeated"],
    [
      says("1", "user", words("Hi")),
      says("2", "assistant", { ...CALL, callId: "a" }),
      says("3", "user", result("b", "snow"), result("a", "rain"), result("a", "sun")),
    ],
  ],
  [
    "a result behind the next input, and of the wrong role",
    ["result-moved"],
    [
      says("1", "user", words("Hi")),
      says("2", "assistant", { ...CALL, callId: "a" }),
      says("3", "user", words("Well?")),
      says("4", "assistant", result("a", "rain")),
    ],
  ],
  [
    "messages that say nothing, the same id twice, a role and a part nobody knows",
    ["role-unknown", "part-unknown", "message-empty", "id-repeated"],
    [
      says("1", "user", words("Hi")),
      says("1", "assistant", words("Hello")),
      says("3", "user", words("  ")),
      says("4", "narrator", words("Meanwhile")),
      says("5", "user", words("Go"), { type: "telepathy" }),
    ],
  ],
  [
    "an answer before every input, a call of the user, a name no tool can have",
    ["start-missing", "part-misplaced", "name-invalid"],
    [
      says("1", "assistant", { ...CALL, callId: "a", name: "mcp:x/y" }),
      says("2", "user", result("a", "rain"), { ...CALL, callId: "b" }, words("So?")),
    ],
  ],
];

describe("a damaged history that is brought along", () => {
  for (const [what, repairs, history] of DAMAGED) {
    it(`MODEL-16 MODEL-21 SEC-07 is refused as it is, repaired and told, and then taken by every provider: ${what}`, async () => {
      await expect(goOn(history as readonly Message[])).rejects.toMatchObject({ code: "input-invalid" });
      const { messages, ...told } = toMessages(history);
      expect(new Set(told.repairs.map(({ code }) => code))).toEqual(new Set(repairs));
      expect(await goOn(messages)).toEqual([]);
    });
  }

  const formats: readonly HistoryFormat[] = ["capstan", "anthropic", "openai-chat", "ai-sdk", "ai-sdk-ui"];
  for (const format of formats) {
    it(`MODEL-21 SEC-07 is taken by every provider once it was read, whatever happened to it as ${format}`, async () => {
      const whole = fromMessages(GOOD, format);
      expect(await goOn(toMessages(whole, { format }).messages)).toEqual([]);
      await fc.assert(
        fc.asyncProperty(fc.array(damage(whole.length), { minLength: 1, maxLength: 5 }), async (damages) => {
          const damaged = damages.reduce((history, hurt) => hurt(history), whole);
          expect(await goOn(toMessages(damaged, { format }).messages)).toEqual([]);
        }),
        { numRuns: howMany(300) },
      );
    });
  }
});

type Hurt = (history: readonly Wire[]) => readonly Wire[];

/** One thing that goes wrong with a stored conversation: lost, doubled, moved, merged, renamed and emptied messages and parts. */
function damage(length: number): fc.Arbitrary<Hurt> {
  const at = fc.nat(length - 1);
  const role = fc.constantFrom("user", "assistant", "system", "tool", "odd");
  return fc.oneof(
    at.map(
      (index): Hurt =>
        (history) =>
          history.toSpliced(index, 1),
    ),
    at.map(
      (index): Hurt =>
        (history) =>
          history.flatMap((item, here) => (here === index ? [item, item] : [item])),
    ),
    fc.tuple(at, at).map(([from, to]): Hurt => (history) => {
      const moved = history[from];
      return moved === undefined ? history : history.toSpliced(from, 1).toSpliced(to, 0, moved);
    }),
    at.map(
      (index): Hurt =>
        (history) =>
          history.slice(index),
    ),
    at.map(
      (index): Hurt =>
        (history) =>
          history.slice(0, index),
    ),
    fc.tuple(at, role).map(([index, wrong]): Hurt => change(index, (message) => ({ ...message, role: wrong }))),
    fc
      .tuple(at, fc.nat(3))
      .map(([index, part]): Hurt =>
        change(index, (message) => withParts(message, (parts) => parts.toSpliced(part, 1))),
      ),
    fc
      .tuple(at, fc.nat(3))
      .map(([index, part]): Hurt =>
        change(index, (message) =>
          withParts(message, (parts) => parts.flatMap((item, here) => (here === part ? [item, item] : [item]))),
        ),
      ),
    at.map((index): Hurt => change(index, (message) => withParts(message, (parts) => parts.toReversed()))),
    at.map((index): Hurt =>
      change(index, (message) => withTexts(message, (_name, text) => (isId(text) ? "c1" : text))),
    ),
    at.map((index): Hurt =>
      change(index, (message) => withTexts(message, (name, text) => (name === "text" ? " " : text))),
    ),
  );
}

function change(index: number, edit: (message: Wire) => Wire): Hurt {
  return (history) => history.map((message, at) => (at === index ? edit(message) : message));
}

/** Wherever the format keeps them. */
function withParts(message: Wire, edit: (parts: readonly Json[]) => readonly Json[]): Wire {
  const name = ["parts", "content", "tool_calls"].find((known) => Array.isArray(message[known]));
  return name === undefined ? message : { ...message, [name]: edit(message[name] as readonly Json[]) }; // looked at right here
}

function withTexts(message: Wire, edit: (name: string, text: string) => string): Wire {
  const edited = (name: string, value: unknown): unknown => (typeof value === "string" ? edit(name, value) : value);
  return JSON.parse(JSON.stringify(message), edited) as Wire; // edit gives strings for strings
}

function isId(text: string): boolean {
  return /^(c\d|call_\w+)$/.test(text);
}
