import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { hasNeeded } from "./path-glob.ts";
import { forbidsBelow, forbidsPath, isAnywhere, locate, parsePathPattern } from "./path-pattern.ts";

const ROOT = "/work/project";
const PATTERNS =
  ".env ./secrets/** **/*.pem secret* *.{pem,key} src/*/x **/a/*.ts /etc/** /work/project/x package.json a?b ** * ./a*b/c **/secrets";
const NAMES =
  ".env .ENV .env. .env:x .envs a.env secrets Secrets secretes secrets.txt k.pem K.PEM k.pem. k.pem.txt .pem id.key src x a a.ts axb a-b " +
  "package.json xpackage.json package.jsonx etc passwd work project ab a1b c . ..";
const path = fc
  .tuple(
    fc.constantFrom("", "", "", "/", "./", "../"),
    fc.array(fc.constantFrom(...NAMES.split(" ")), { maxLength: 4 }),
  )
  .map(([start, names]) => start + names.join("/"));

describe("the text that a pattern needs", () => {
  it("G14 is in every path that a rule forbids, and in every folder on the way there but its beginning", () => {
    const seen = { forbidden: 0, below: 0 };
    fc.assert(
      fc.property(fc.constantFrom(...PATTERNS.split(" ")), path, fc.boolean(), (text, name, anyDepth) => {
        const pattern = parsePathPattern(text);
        const location = locate(name, ROOT);
        if (location === undefined) return;
        const isIn = pattern.needed.some((needed) => hasNeeded(needed, name.toLowerCase()));
        const isAround = pattern.needed.some(({ text: needed }) => ROOT.includes(needed));
        if (forbidsPath(pattern, location, anyDepth)) {
          seen.forbidden++;
          assert.ok(isIn || isAround, `${text} forbids ${name}`);
        }
        const leadsOut = name.startsWith("/") || name.includes("..") || /^[./]*$/.test(name);
        if (anyDepth || isAnywhere(pattern) || leadsOut || !forbidsBelow(pattern, location)) return;
        seen.below++;
        assert.ok(isIn || isAround, `${text} lies below ${name}`);
      }),
      { numRuns: 8_000, seed: 20_261 },
    );
    assert.ok(seen.forbidden > 200 && seen.below > 8, JSON.stringify(seen));
  });
});
