import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { systemIds } from "./ids.ts";

describe("systemIds", () => {
  it("gives prefixed ids that differ", () => {
    const ids = systemIds(() => 1_700_000_000_000);
    const made = Array.from({ length: 1_000 }, () => ids.next("ses"));
    assert.equal(new Set(made).size, 1_000);
    for (const id of made) assert.match(id, /^ses_[0-9a-f]{32}$/);
  });

  it("gives ids that sort in the order they were made, also when the clock stands or goes back", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2_000_000_000_000 }), { minLength: 2, maxLength: 30 }), (times) => {
        let at = 0;
        const ids = systemIds(() => times[at] ?? 0);
        const made = times.map((_, index) => {
          at = index;
          return ids.next("run");
        });
        assert.deepEqual(made.toSorted(), made);
      }),
    );
  });

  it("keeps the order when one millisecond brings many ids", () => {
    const ids = systemIds(() => 1_700_000_000_000);
    let last = "";
    for (let count = 0; count < 60_000; count++) {
      const id = ids.next("x");
      assert.ok(id > last, `id ${count} does not sort after the one before`);
      last = id;
    }
  });

  it("gives random tokens that differ", () => {
    const ids = systemIds(() => 0);
    assert.notEqual(ids.random(), ids.random());
  });
});
