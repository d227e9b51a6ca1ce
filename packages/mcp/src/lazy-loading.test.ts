/** What importing this package loads. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ resolve: (name, context, next) => { const found = next(name, context); loaded.push(found.url); return found; } });
const { mcp } = await import("@capstan/mcp");
await import("@capstan/mcp/server");
mcp({ servers: { a: { command: "x" } } });
console.log(JSON.stringify(loaded.filter((url) => url.includes("node_modules"))));
`;

it("MCP-10 loads no SDK until a server is connected or served", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=capstan-source", "--input-type=module", "-e", PROGRAM],
    { cwd: import.meta.dirname },
  );
  expect(JSON.parse(stdout)).toEqual([]);
});
