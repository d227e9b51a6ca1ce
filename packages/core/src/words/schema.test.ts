import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { z } from "zod";
import { CapstanError } from "./errors.ts";
import { check, jsonSchema, type Schema, toJsonSchema } from "./schema.ts";

describe("check", () => {
  const person = z.object({ name: z.string(), age: z.int().min(0).default(1), tags: z.array(z.string()).optional() });

  it("gives the parsed value, with defaults and without unknown members", async () => {
    assert.deepEqual(await check(person, { name: "Ann", other: true }), { ok: true, value: { name: "Ann", age: 1 } });
  });

  it("names each wrong field in one line", async () => {
    const checked = await check(person, { name: 7, age: -1, tags: ["a", 2] });
    assert.equal(checked.ok, false);
    const problem = checked.ok ? "" : checked.problem;
    for (const start of ["name: ", "age: ", "tags.1: "]) assert.ok(problem.includes(start), problem);
    assert.ok(!problem.includes("\n"));
  });

  it("does not name a field when the whole value is wrong", async () => {
    const checked = await check(z.string(), 7);
    assert.ok(!checked.ok && !checked.problem.startsWith(":"));
  });

  it("waits for schemas that answer later", async () => {
    const later = z.string().refine(async (text) => (await Promise.resolve(text)) === "yes", "not yes");
    assert.deepEqual(await check(later, "yes"), { ok: true, value: "yes" });
    assert.deepEqual(await check(later, "no"), { ok: false, problem: "not yes" });
  });

  it("reads paths whose segments are objects, as some libraries write them", async () => {
    const schema: Schema = {
      "~standard": {
        version: 1,
        vendor: "other",
        validate: () => ({ issues: [{ message: "bad", path: [{ key: "a" }, 0, "b"] }] }),
      },
    };
    assert.deepEqual(await check(schema, {}), { ok: false, problem: "a.0.b: bad" });
  });
});

describe("toJsonSchema", () => {
  it("renders what a zod schema accepts, as plain data", () => {
    const rendered = toJsonSchema(
      z.object({ city: z.string().describe("A city"), days: z.int().default(1) }),
      "Tool weather",
    );
    assert.deepEqual(rendered, {
      type: "object",
      properties: {
        city: { type: "string", description: "A city" },
        days: { type: "integer", default: 1, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      },
      required: ["city"],
    });
    assert.deepEqual(Reflect.ownKeys(rendered as object), ["type", "properties", "required"]);
  });

  it("accepts anything where JSON Schema has no word", () => {
    const rendered = toJsonSchema(z.object({ when: z.date(), id: z.bigint() }), "Tool x") as {
      readonly properties: object;
    };
    assert.deepEqual(rendered.properties, { when: {}, id: {} });
  });

  it("refuses a schema whose library cannot render, naming it", () => {
    const schema: Schema = { "~standard": { version: 1, vendor: "old", validate: (value) => ({ value }) } };
    assert.throws(
      () => toJsonSchema(schema, "Tool x"),
      (error: unknown) => CapstanError.is(error, "tool-invalid") && /Tool x.*old/.test(error.message),
    );
  });

  it("refuses a schema whose rendering fails, and keeps the cause", () => {
    const cause = new Error("too deep");
    const input = (): never => {
      throw cause;
    };
    const schema: Schema = {
      "~standard": { version: 1, vendor: "x", validate: (value) => ({ value }), jsonSchema: { input } },
    };
    assert.throws(
      () => toJsonSchema(schema, "Tool x"),
      (error: unknown) => CapstanError.is(error, "tool-invalid") && error.cause === cause,
    );
  });
});

describe("jsonSchema", () => {
  const text = { type: "object", properties: { a: { type: "number" } } } as const;

  it("renders as it was written", () => {
    assert.deepEqual(toJsonSchema(jsonSchema(text), "Tool x"), text);
  });

  it("TOOL-02 checks by the text without a check of its own", async () => {
    assert.deepEqual(await check(jsonSchema({ required: ["a"] }), { a: "x" }), { ok: true, value: { a: "x" } });
    assert.deepEqual(await check(jsonSchema({ required: ["a"] }), {}), { ok: false, problem: "a: is missing" });
  });

  it("asks its check, whose output it gives", async () => {
    const schema = jsonSchema<number>(text, (value) =>
      value === 1 ? { value: 2 } : { issues: [{ message: "must be 1" }] },
    );
    assert.deepEqual(await check(schema, 1), { ok: true, value: 2 });
    assert.deepEqual(await check(schema, 3), { ok: false, problem: "must be 1" });
  });
});
