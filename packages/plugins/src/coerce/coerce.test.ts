import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agent, type Json, textOf, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { coerceValue } from "./coerce-value.ts";
import { coerceArguments, type CoerceOptions } from "./index.ts";

const input = z.object({
  path: z.string(),
  line: z.int().optional(),
  deep: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
  place: z.object({ x: z.number() }).optional(),
});

async function play(call: Json, options?: CoerceOptions) {
  const ran: unknown[] = [];
  const look = tool({
    name: "look",
    description: "Looks.",
    input,
    rerun: "safe",
    execute: (given) => {
      ran.push(given);
      return "seen";
    },
  });
  const model = scriptedModel([{ calls: [{ name: "look", input: call }] }, { text: "Done." }]);
  const one = agent({ name: "one", model, instructions: "x", tools: [look], plugins: [coerceArguments(options)] });
  await using runtime = await testRuntime({ agents: [one] });
  const run = await runtime.send(one, "Go");
  const notices: unknown[] = [];
  for await (const { event } of run.events()) {
    if (event.type === "notice") notices.push([event.code, event.detail]);
  }
  const { messages } = await run.result();
  const parts = messages.flatMap((message) => message.parts);
  return {
    ran,
    notices,
    calls: parts.flatMap((part) => (part.type === "tool-call" ? [part.input] : [])),
    told: parts.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output.content)] : []))[0],
  };
}

describe("coerceArguments", () => {
  it("TOOL-03 mends what says the same in another type, in history too, and reports each field", async () => {
    const mended = { path: "a", line: 5, deep: true, tags: ["x"], place: { x: 1.5 } };
    const { ran, calls, notices, told } = await play({
      path: "a",
      line: "5",
      deep: "True",
      tags: "x",
      place: '{"x":"1.5"}',
    });
    expect(ran).toEqual([mended]);
    expect(calls).toEqual([mended]);
    expect(told).toBe("seen");
    expect(notices).toEqual([
      [
        "arguments-coerced",
        'line: "5" became 5; deep: "True" became true; tags: "x" became ["x"]; place: "{\\"x\\":\\"1.5\\"}" became {"x":"1.5"}; place.x: "1.5" became 1.5',
      ],
    ]);
  });

  it("TOOL-03 leaves what fits and what cannot be mended as they are", async () => {
    const fits = await play({ path: "5", line: 5 });
    expect([fits.ran, fits.notices]).toEqual([[{ path: "5", line: 5 }], []]);
    const wrong = await play({ path: "a", line: "five", deep: "true" });
    expect([wrong.ran, wrong.calls, wrong.notices]).toEqual([[], [{ path: "a", line: "five", deep: "true" }], []]);
    expect(wrong.told).toMatch(/^Wrong arguments for look: line/);
    expect((await play("not json")).told).toMatch(/not valid JSON/);
  });

  it("TOOL-03 asks whether a change may be made, and what to say of a call that stays wrong", async () => {
    const seen: unknown[] = [];
    const options: CoerceOptions = {
      coerce: (change) => {
        seen.push(change);
        return change.path !== "line";
      },
      reject: ({ name, input: given }) => `Call ${name} with a number as line, not with ${JSON.stringify(given)}.`,
    };
    const { ran, told } = await play({ path: "a", line: "5" }, options);
    expect(seen).toEqual([{ tool: "look", path: "line", from: "5", to: 5 }]);
    expect([ran, told]).toEqual([[], 'Call look with a number as line, not with {"path":"a","line":"5"}.']);
  });
});

describe("coerceValue", () => {
  it("looks into lists, forms and definitions", () => {
    const schema: Json = {
      type: "object",
      properties: {
        list: { type: "array", items: { $ref: "#/$defs/count" } },
        either: { anyOf: [{ type: "integer", minimum: 10 }, { type: "boolean" }, { type: "null" }] },
      },
      additionalProperties: { type: "string" },
      $defs: { count: { type: "integer" } },
    };
    expect(coerceValue(schema, { list: ["1", 2, "3"], either: "12", other: 7 })?.value).toEqual({
      list: [1, 2, 3],
      either: 12,
      other: "7",
    });
    expect(coerceValue(schema, { either: "false" })?.value).toEqual({ either: false });
    expect(coerceValue(schema, { list: "[1,2]" })?.value).toEqual({ list: [1, 2] });
    expect(coerceValue(schema, { list: "4" })?.value).toEqual({ list: [4] });
    expect(coerceValue(schema, { list: "four" })).toBeUndefined();
    expect(coerceValue(schema, { either: "5" })).toBeUndefined();
    expect(coerceValue(schema, { list: ["1.5"] })).toBeUndefined();
    expect(coerceValue(schema, { list: ["9007199254740993"] })).toBeUndefined();
    expect(coerceValue(schema, { id: 9_007_199_254_740_991 })?.value).toEqual({ id: "9007199254740991" });
    expect(coerceValue(schema, { id: JSON.parse("12345678901234567890") as number })).toBeUndefined();
    expect(coerceValue({ $ref: "#" }, "x")).toBeUndefined();
    expect(
      coerceValue({ type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }, { a: {} }),
    ).toBeUndefined();
  });

  it("never changes what fits, and what it makes fits", () => {
    const schema: Json = {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "array", items: { type: "boolean" } } },
    };
    fc.assert(
      fc.property(fc.record({ a: fc.jsonValue(), b: fc.jsonValue() }), (value) => {
        const coerced = coerceValue(schema, value as Json);
        if (coerced !== undefined) expect(coerceValue(schema, coerced.value)).toBeUndefined();
      }),
    );
  });
});
