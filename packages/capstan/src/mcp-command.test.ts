import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMAND, type CommandHome, commandHome, runChild, TESTING } from "./command-child.ts";

/** A server of one tool, without any library. Writes a file when it starts. */
const SERVER = `
const { writeFileSync } = require("node:fs");
writeFileSync(process.argv[2], String(process.pid));
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
let rest = "";
process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } });
    else if (method === "tools/list") say(id, { tools: [{ name: "shout", description: "Shouts.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] });
    else if (method === "tools/call") say(id, { content: [{ type: "text", text: params.arguments.text.toUpperCase() }] });
    else if (method === "ping") say(id, {});
    else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
  }
});`;

async function withServer(at: CommandHome): Promise<{ readonly args: readonly string[]; readonly started: string }> {
  const script = join(at.folder, "server.cjs");
  const started = join(at.folder, "started");
  await writeFile(script, SERVER);
  return { args: [script, started], started };
}

describe.concurrent("capstan mcp", { timeout: 120_000 }, () => {
  it("MCP-08 adds, lists, tests and removes servers, in a private file", async () => {
    await using at = await commandHome();
    const { args, started } = await withServer(at);
    expect(await at.run(["mcp", "list"])).toMatchObject({ code: 0, stdout: "" });
    const added = await at.run(["mcp", "add", "shouter", "--env", "KEY=secret-value", "--", process.execPath, ...args]);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining("Added shouter") });
    expect(existsSync(started)).toBe(false);
    const file = join(at.home, "mcp.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
      mcpServers: { shouter: { command: process.execPath, args, env: { KEY: "secret-value" } } },
    });
    const listed = await at.run(["mcp", "list"]);
    expect(listed.stdout).toContain("shouter  stdio  user");
    expect(listed.stdout).not.toContain("secret-value");
    expect(existsSync(started)).toBe(false);
    expect(await at.run(["mcp", "test"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^shouter: ok, MCP 20\d\d-\d\d-\d\d, 1 tools\n {2}mcp:shouter\/shout\n$/),
    });
    expect((await at.run(["mcp", "add", "shouter", "x"])).code).toBe(2);
    expect(await at.run(["mcp", "remove", "shouter"])).toMatchObject({ code: 0 });
    expect((await at.run(["mcp", "remove", "shouter"])).code).toBe(2);
  });

  it("MCP-10 says which server cannot be reached and ends with 1", async () => {
    await using at = await commandHome();
    await at.run(["mcp", "add", "gone", "/no/such/program"]);
    await at.run(["mcp", "add", "away", "http://127.0.0.1:9/mcp"]);
    const end = await at.run(["mcp", "test"]);
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/^gone: MCP server gone cannot be reached: .*ENOENT/m);
    expect(end.stdout).toMatch(/^away: MCP server away cannot be reached/m);
    expect((await at.run(["mcp", "test", "nobody"])).code).toBe(2);
    expect((await at.run(["mcp", "login", "gone"])).code).toBe(2);
    expect((await at.run(["mcp", "add", "bad", "https://me:pass@host/"])).stderr).not.toContain("pass@");
  });

  it("G19 MCP-03 starts no server because of a folder that is not trusted", async () => {
    await using at = await commandHome();
    const { args, started } = await withServer(at);
    await writeFile(
      join(at.folder, ".mcp.json"),
      JSON.stringify({ mcpServers: { shouter: { command: process.execPath, args } } }),
    );
    for (const command of [
      ["mcp", "list"],
      ["mcp", "test"],
      ["run", "--model", "demo", "hello"],
    ]) {
      const end = await at.run(command);
      expect(end.stdout).not.toContain("shouter");
      expect(end.stderr).toContain(".mcp.json");
    }
    expect(existsSync(started)).toBe(false);
    expect((await at.run(["trust", "--yes"])).code).toBe(0);
    expect((await at.run(["mcp", "list"])).stdout).toContain("shouter  stdio  project");
    await at.run(["run", "--model", "demo", "hello"]);
    expect(existsSync(started)).toBe(true);
    expect((await at.run(["mcp", "test"])).code).toBe(0);
    await writeFile(
      join(at.folder, ".mcp.json"),
      JSON.stringify({ mcpServers: { shouter: { command: "/bin/sh", args } } }),
    );
    expect((await at.run(["mcp", "list"])).stdout).toBe("");
  });

  it("MCP-02 MCP-03 G13 leaves out a folder's server that is named almost as one of yours, and works on", async () => {
    await using at = await commandHome({ ODD: "a${NOT_SET}b" });
    const { args, started } = await withServer(at);
    await at.run(["mcp", "add", "my.files", "--env", "ODD=${ODD}", "--", process.execPath, ...args]);
    const project = { mcpServers: { My_Files: { command: "/bin/false" }, other: { command: "/bin/false" } } };
    await writeFile(join(at.folder, ".mcp.json"), JSON.stringify(project));
    expect((await at.run(["trust", "--yes"])).code).toBe(0);
    const listed = await at.run(["mcp", "list"]);
    expect(listed.stdout).toMatch(/^my\.files {2}.*\nother {2}.*\n$/);
    expect(listed.stderr).toContain("nobody could tell them apart: my.files");
    expect((await at.run(["run", "--model", "demo", "hello"])).code).toBe(0);
    expect(existsSync(started)).toBe(true);
    expect((await at.run(["mcp", "test", "my.files"])).stdout).toContain("my.files: ok");
  });

  it("MCP-08 adds to no file whose servers would not be read any more, or that cannot be read", async () => {
    await using at = await commandHome();
    await mkdir(at.home, { recursive: true });
    const file = join(at.home, "mcp.json");
    for (const content of ['{"servers":{"a":{"command":"x"}}}', '{"mcpServers":["x"]}']) {
      await writeFile(file, content);
      expect(await at.run(["mcp", "add", "b", "y"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("mcpServers"),
      });
      expect(await readFile(file, "utf8")).toBe(content);
    }
    await rm(file);
    await mkdir(file);
    expect(await at.run(["mcp", "add", "b", "y"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be read"),
    });
  });

  it("refuses a program of an agent that would give the next one servers", async () => {
    await using at = await commandHome({ CAPSTAN_RUN: "1.1.1.a" });
    expect(await at.run(["mcp", "add", "x", "y"])).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining("for a person to do"),
    });
    expect(existsSync(join(at.home, "mcp.json"))).toBe(false);
  });

  it("names a file that is no JSON and leaves it as it is", async () => {
    await using at = await commandHome();
    await mkdir(at.home, { recursive: true });
    await writeFile(join(at.home, "mcp.json"), "{");
    for (const command of [
      ["mcp", "list"],
      ["mcp", "add", "x", "y"],
    ]) {
      const end = await at.run(command);
      expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining("not JSON") });
    }
    expect(await readFile(join(at.home, "mcp.json"), "utf8")).toBe("{");
  });

  it("MCP-13 serves an agent over stdio, and writes nothing but the protocol", async () => {
    await using at = await commandHome();
    const config = join(at.folder, "served.config.mjs");
    await writeFile(
      config,
      `console.log("a module that greets");
       import { scriptedModel } from ${JSON.stringify(TESTING)};
       import { agent } from ${JSON.stringify(TESTING.replace("testing.js", "index.js"))};
       export default { agents: [agent({ name: "helper", model: scriptedModel([{ text: "At your service." }]), instructions: "Help." })] };`,
    );
    const lines = [
      {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "helper", arguments: { message: "hello" } } },
    ];
    let child: { readonly stdin: NodeJS.WritableStream | null } | undefined;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const { spawn } = await import("node:child_process");
    const [program = "", ...first] = COMMAND;
    const served = spawn(program, [...first, "mcp", "serve", "--config", config], {
      env: at.env,
      cwd: at.folder,
      stdio: "pipe",
    });
    child = served;
    let shown = "";
    served.stdout.setEncoding("utf8").on("data", (piece: string) => {
      shown += piece;
      if (shown.includes('"id":2')) resolve();
    });
    const ended = new Promise<number | null>((done) => served.on("close", done));
    for (const line of lines) child.stdin?.write(`${JSON.stringify(line)}\n`);
    await Promise.race([answered, ended]);
    child.stdin?.end();
    expect(await ended).toBe(0);
    const said = shown
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly id?: number });
    expect(said.find(({ id }) => id === 2)).toMatchObject({
      result: { content: [{ type: "text", text: "At your service." }] },
    });
  });

  it("loads nothing of MCP for help", async () => {
    await using at = await commandHome();
    const end = await runChild([...COMMAND, "mcp", "--help"], { env: at.env, cwd: at.folder });
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(/list[\s\S]*add[\s\S]*remove[\s\S]*test[\s\S]*login[\s\S]*serve/);
  });
});
