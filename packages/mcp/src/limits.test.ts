/** Bounds that no other test reaches, and the version. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { VERSION } from "./connect/version.ts";
import { MCP_LIMITS } from "./limits.ts";
import { readResult } from "./tools/read-result.ts";
import { readSchema, schemaProblem } from "./tools/remote-schema.ts";

it("says the version of its package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  expect(VERSION).toBe(manifest.version);
});

it("MCP-11 keeps results within bounds and marks what is left out", () => {
  const long = "x".repeat(MCP_LIMITS.resultTextChars + 10);
  const big = "A".repeat(Math.ceil((MCP_LIMITS.resultFileBytes * 4) / 3) + 8);
  const output = readResult(
    {
      content: [
        { type: "text", text: long },
        { type: "image", data: big, mimeType: "image/png" },
        { type: "image", data: "not base64!", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/mpeg" },
        { type: "image", data: "AAAA", mimeType: "application/x-evil; drop" },
        { type: "resource", resource: { uri: "a://b", blob: "AAAA", mimeType: "application/zip" } },
        { type: "resource", resource: { uri: "a://c", text: "inside" } },
        { type: "resource_link", uri: "a://d", name: "linked" },
        null,
        { type: "hologram" },
      ],
      isError: true,
    },
    { labels: ["untrusted"] },
  );
  expect(
    output.content.map((part) =>
      part.type === "text" ? part.text.slice(-40) : part.type === "file" ? part.mediaType : "",
    ),
  ).toEqual([
    expect.stringMatching(/^x+$/),
    "[left out: image/png, 8388614 bytes is more than 8388608 bytes]".slice(-40),
    "[left out: image/png, 8 bytes is not base64]".slice(-40),
    "audio/mpeg",
    "image/png",
    "[left out: application/zip a://b, 3 bytes]".slice(-40),
    "inside",
    "[link to a://d: linked]",
    "null",
    '{"type":"hologram"}',
  ]);
  expect(output.isError).toBe(true);
  expect(
    readResult({ content: Array.from({ length: 300 }, () => ({ type: "text", text: "a" })) }, { labels: [] }).content,
  ).toHaveLength(257);
  expect(readResult(undefined, { labels: [] }).content).toEqual([{ type: "text", text: "Done." }]);
});

it("MCP-11 MCP-16 keeps a structured value that fits and says so when it does not", () => {
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const fits = readResult({ content: [], structuredContent: { n: 1 } }, { outputSchema, labels: [] });
  expect([fits.output, fits.content]).toEqual([{ n: 1 }, [{ type: "text", text: '{"n":1}' }]]);
  const wrong = readResult({ content: [], structuredContent: { n: "x" } }, { outputSchema, labels: [] });
  expect(wrong.output).toBeUndefined();
  expect(JSON.stringify(wrong.content)).toContain("does not fit the tool's own schema: n: must be number");
});

it("MCP-16 checks with hostile schemas in bounded time", () => {
  const regex = {
    type: "object",
    properties: { a: { type: "string", pattern: "^(a+)+$" }, b: { type: "string", pattern: "^[a-z]+$" } },
  };
  const startedAt = performance.now();
  expect(schemaProblem(regex, { a: `${"a".repeat(50_000)}!`, b: "ok" })).toBeUndefined();
  expect(schemaProblem(regex, { a: "x", b: "NOT" })).toContain("b: ");
  const names = Array.from({ length: 40 }, (_, at) => [
    `a${at}`,
    { allOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] },
  ]);
  const bomb = { type: "object", properties: { a: { $ref: "#/$defs/a0" } }, $defs: Object.fromEntries(names) };
  expect(schemaProblem(bomb, { a: 1 })).toContain("takes too long");
  expect(schemaProblem({ type: "object", properties: { a: { $ref: "#" } } }, { a: { a: {} } })).toBeUndefined();
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  expect(
    readSchema({ type: "object", properties: { __proto__: { type: "string" }, constructor: { type: "string" } } })
      .problem,
  ).toBeUndefined();
  for (const schema of [
    null,
    [],
    "x",
    { type: "string" },
    { $ref: "http://x/y" },
    { type: "object", a: { $dynamicRef: "other.json" } },
  ])
    expect(readSchema(schema).problem).toBeDefined();
});
