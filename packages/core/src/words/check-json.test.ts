import { describe, expect, it } from "vitest";
import { jsonIssues } from "./check-json.ts";
import type { Json } from "./json.ts";

const person: Json = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2, maxLength: 5, pattern: "^[a-z]+$" },
    age: { type: "integer", minimum: 0, exclusiveMaximum: 150 },
    tags: { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2, uniqueItems: true },
    pet: { anyOf: [{ type: "null" }, { $ref: "#/$defs/pet" }] },
    step: { type: "number", multipleOf: 0.1 },
    kind: { const: "person" },
  },
  required: ["name"],
  additionalProperties: false,
  $defs: { pet: { type: "object", properties: { of: { $ref: "#" } }, required: ["of"] } },
};

describe("jsonIssues", () => {
  for (const [value, expected] of [
    [{ name: "ann" }, []],
    [{ name: "ann", age: 3, tags: ["a", "b"], pet: null, step: 0.3, kind: "person" }, []],
    [{ name: "ann", pet: { of: { name: "bob" } } }, []],
    [{}, ["name is missing"]],
    [{ name: "a" }, ["name needs at least 2 characters"]],
    [{ name: "abcdef" }, ["name has more than 5 characters"]],
    [{ name: "AB" }, ["name must match ^[a-z]+$"]],
    [{ name: "ann", age: 1.5 }, ["age must be integer"]],
    [{ name: "ann", age: -1 }, ["age must be at least 0"]],
    [{ name: "ann", age: 150 }, ["age must be less than 150"]],
    [{ name: "ann", tags: [] }, ["tags needs at least 1 items"]],
    [{ name: "ann", tags: ["a", "a"] }, ["tags has an item twice"]],
    [{ name: "ann", tags: ["c"] }, ['tags.0 must be one of "a", "b"']],
    [{ name: "ann", pet: { of: {} } }, ["pet fits none of the forms it may have"]],
    [{ name: "ann", step: 0.35 }, ["step must be a multiple of 0.1"]],
    [{ name: "ann", kind: "dog" }, ['kind must be "person"']],
    [{ name: "ann", more: 1 }, ["more is not known"]],
    [["ann"], [" must be object"]],
  ] as const satisfies readonly (readonly [Json, readonly string[]])[]) {
    it(`finds ${expected.length === 0 ? "nothing" : expected.join("; ")} in ${JSON.stringify(value)}`, () => {
      const issues = jsonIssues(person, value);
      expect(issues.map(({ path, message }) => `${path.join(".")} ${message}`)).toEqual(expected);
    });
  }

  it("follows a schema that refers to itself no deeper than the value", () => {
    const list: Json = { properties: { next: { $ref: "#" } }, required: ["value"] };
    let value: Json = {};
    for (let depth = 0; depth < 500; depth++) value = { value: depth, next: value };
    expect(jsonIssues(list, value).map(({ message }) => message)).toEqual(["is not allowed"]);
  });

  it("does not hang on a reference to nothing but itself", () => {
    expect(jsonIssues({ $ref: "#" }, 1)).toEqual([]);
    expect(jsonIssues({ $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }, 1)).toEqual([]);
  });

  it("comes to an end with schemas that turn in a circle or multiply", () => {
    const circle = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } };
    expect(jsonIssues(circle, 1)).toHaveLength(1);
    expect(jsonIssues({ anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 1)).toHaveLength(1);
    expect(jsonIssues({ $ref: "#/%" }, 1)).toEqual([]);
    const twice = (name: string): Json => ({ anyOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
    const names = Array.from({ length: 40 }, (_name, index) => `a${index}`);
    const defs = Object.fromEntries(names.map((name, index): [string, Json] => [name, twice(`a${index + 1}`)]));
    expect(jsonIssues({ $ref: "#/$defs/a0", $defs: { ...defs, a40: { type: "string" } } }, 1)).toHaveLength(1);
  });

  it("MCP-16 a pattern that takes for ever ends the check, and slow ones have their time", () => {
    const schema: Json = { type: "array", items: { type: "string", pattern: "^(a+)+$" } };
    const slow = `${"a".repeat(40)}!`;
    expect(jsonIssues(schema, [slow, "aaa", slow]).map(({ message }) => message)).toEqual([
      "must match ^(a+)+$",
      "takes too long to be checked",
      "takes too long to be checked",
    ]);
    expect(jsonIssues(schema, ["aaa", "a".repeat(200), "b"])).toEqual([{ path: [2], message: "must match ^(a+)+$" }]);
  });
});
