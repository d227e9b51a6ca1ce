import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, textOf } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { editorServers } from "./acp-mcp-servers.ts";

/** A server of one tool, without any library, that says where it runs and what it was given. */
const SERVER = `
const { appendFileSync } = require("node:fs");
appendFileSync(process.argv[2], "start " + process.pid + "\\n");
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
let rest = "";
process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } });
    else if (method === "tools/list") say(id, { tools: [{ name: "where", inputSchema: { type: "object" } }] });
    else if (method === "tools/call") say(id, { content: [{ type: "text", text: process.cwd() + " " + process.env.GIVEN } ] });
    else if (method === "ping") say(id, {});
    else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
  }
});`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-editor-"));
  await writeFile(join(folder, "server.cjs"), SERVER);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function setup(allow: readonly string[], taken: readonly string[] = []) {
  const lines: string[] = [];
  const marks = join(folder, `marks-${Math.trunc(performance.now() * 1_000)}`);
  const editor = editorServers({ taken, log: (line) => lines.push(line), dataFolder: join(folder, "data") });
  const name = taken.length === 0 ? "ed__where" : "ed-2__where";
  const turns = [{ calls: [{ name, input: {} }] }, { text: "done" }];
  const model = scriptedModel(Array.from({ length: 6 }, () => turns).flat());
  const runner = agent({ name: "runner", model, instructions: "Work." });
  const runtime = await testRuntime({
    agents: [runner],
    models: { runner: model },
    plugins: [editor.plugin],
    permission: { mode: "never-ask", allow: [...allow] },
  });
  const server = {
    name: "ed",
    command: process.execPath,
    args: [join(folder, "server.cjs"), marks],
    env: [{ name: "GIVEN", value: "${HOME}-as-it-stands" }],
  };
  const call = async (sessionId: string): Promise<string> => {
    const run = await (await runtime.session(sessionId)).send("go");
    const { messages } = await run.result();
    return messages
      .flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output.content)] : [])),
      )
      .join("|");
  };
  const open = async (): Promise<string> => (await runtime.session({ agent: runner })).id;
  const starts = async (): Promise<number> => (await readFile(marks, "utf8")).trim().split("\n").length;
  return { runtime, editor, server, call, open, starts, lines, model, [Symbol.asyncDispose]: () => runtime.close() };
}

describe("editorServers", { timeout: 60_000 }, () => {
  it("ACP-06 MCP-01 connects what an editor names for a session, in its folder, and ends it with the last that named it", async () => {
    await using it = await setup(["mcp:ed/*"]);
    const [one, two, other] = [await it.open(), await it.open(), await it.open()];
    const first = await it.editor.connect([it.server], { id: one, cwd: folder });
    const second = await it.editor.connect([it.server], { id: two, cwd: folder });
    expect(await it.call(one)).toContain(`${folder} \${HOME}-as-it-stands`);
    expect(await it.call(two)).toContain(folder);
    expect(await it.starts()).toBe(1);
    expect(await it.call(other)).toContain("There is no tool");
    expect(it.model.requests.at(-1)?.tools).toEqual([]);
    await first?.[Symbol.asyncDispose]();
    expect(await it.call(two)).toContain(folder);
    expect(await it.call(one)).toContain("did not name for this session"); // its earlier runs were shown the name
    await second?.[Symbol.asyncDispose]();
    expect(await it.call(two)).not.toContain(folder);
  });

  it("G15 PERM-05 its tools ask, and rules for a server of the user's own are not about one of that name", async () => {
    await using it = await setup(["mcp:ed/*"], ["Ed"]);
    const one = await it.open();
    await it.editor.connect([it.server], { id: one, cwd: folder });
    expect(await it.call(one)).toContain("Refused: No rule allows this tool of an MCP server");
    expect(it.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["ed-2__where"]);
  });

  it("G13 MCP-10 says what cannot be connected, and the session works on", async () => {
    await using it = await setup([]);
    const one = await it.open();
    const odd = { name: "odd", command: "", args: [], env: [] };
    await it.editor.connect([{ ...it.server, name: "gone", command: "/no/such/program" }, odd], {
      id: one,
      cwd: folder,
    });
    expect(it.lines).toEqual([expect.stringContaining("odd"), expect.stringMatching(/gone .*not there.*ENOENT/)]);
    expect(await it.call(one)).not.toContain(folder);
  });
});
