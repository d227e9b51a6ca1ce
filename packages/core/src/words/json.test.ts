import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { canonicalJson, hashJson, isArray, type Json, sha256 } from "./json.ts";

/** The same value with the keys of every object in another order. */
function reordered(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (isArray(value)) return value.map(reordered);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reordered(member)]),
  );
}
const json = (): fc.Arbitrary<Json> => fc.jsonValue() as fc.Arbitrary<Json>; // JSON by its name

describe("canonicalJson", () => {
  it("sorts keys at every depth and keeps the order of lists", () => {
    const value = { b: [{ z: 1, a: 2 }, "x"], a: { d: null, c: true } };
    assert.equal(canonicalJson(value), '{"a":{"c":true,"d":null},"b":[{"a":2,"z":1},"x"]}');
  });

  it("sorts keys by UTF-16 units, also those that look like numbers", () => {
    assert.equal(canonicalJson({ b: 1, "10": 2, "9": 3, B: 4, "\u00e4": 5 }), '{"10":2,"9":3,"B":4,"b":1,"\u00e4":5}');
  });

  it("drops members that are undefined and writes null for such items, as JSON does", () => {
    const value = { a: undefined, b: [undefined, 1] } as unknown as Json; // what optional members leave behind
    assert.equal(canonicalJson(value), '{"b":[null,1]}');
  });

  it("is JSON of an equal value", () => {
    fc.assert(
      fc.property(json(), (value) =>
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value))),
      ),
    );
  });

  it("gives equal values equal text whatever the order of their keys", () => {
    fc.assert(fc.property(json(), (value) => assert.equal(canonicalJson(reordered(value)), canonicalJson(value))));
  });

  it("gives different values different text", () => {
    fc.assert(
      fc.property(json(), json(), (left, right) => {
        const same = canonicalJson(left) === canonicalJson(right);
        // -0 and 0 are one number in JSON
        assert.equal(same, JSON.stringify(sorted(left)) === JSON.stringify(sorted(right)));
      }),
    );
  });
});

describe("hashJson", () => {
  it("gives equal values equal hashes", () => {
    fc.assert(fc.property(json(), (value) => assert.equal(hashJson(reordered(value)), hashJson(value))));
  });

  it("is the SHA-256 of the canonical text", () => {
    assert.equal(hashJson({ b: 1, a: 2 }), sha256('{"a":2,"b":1}'));
    assert.equal(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert.equal(sha256(new TextEncoder().encode("abc")), sha256("abc"));
  });

  it("tells apart what only looks alike", () => {
    const values: readonly Json[] = [
      null,
      "null",
      0,
      "0",
      false,
      "",
      [],
      {},
      [null],
      ["a", "b"],
      ["a,b"],
      { a: "b" },
      [["a", "b"]],
      { "a\u0000": 1 },
    ];
    assert.equal(new Set(values.map(hashJson)).size, values.length);
  });
});

function sorted(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return entries
    .map(([name, member]): Json => [name, sorted(member)])
    .concat([{ "object with": Object.keys(value).length }]);
}
