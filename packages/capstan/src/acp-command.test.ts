import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { acpClient, type AcpEvent, type AutoApprove } from "@capstan/acp";
import { type AnthropicReply, type AnthropicScript, anthropicServer } from "@capstan/models/testing";
import { describe, expect, it } from "vitest";
import { COMMAND, type CommandHome, commandHome } from "./command-child.ts";

const text = (value: string): AnthropicReply => ({ content: [{ type: "text", text: value }] });
const write: AnthropicReply = {
  content: [{ type: "tool_use", id: "tu_w", name: "write_file", input: { path: "new.txt", content: "made\n" } }],
};

type Setup = AsyncDisposable & {
  readonly at: CommandHome;
  readonly env: Record<string, string>;
  readonly events: AcpEvent[];
};

async function setup(script: AnthropicScript): Promise<Setup> {
  const server = await anthropicServer(script);
  const at = await commandHome({ ANTHROPIC_API_KEY: "sk-test-0123456789", ANTHROPIC_BASE_URL: server.url });
  return {
    at,
    env: { ...at.env },
    events: [],
    async [Symbol.asyncDispose]() {
      await server.close();
      await at[Symbol.asyncDispose]();
    },
  };
}
/** An MCP server of one tool, without any library, that writes down what it is asked. */
const SHOUTER = `
const { appendFileSync } = require("node:fs");
const note = (line) => appendFileSync(process.argv[2], line + "\\n");
note(String(process.pid));
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
let rest = "";
process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } });
    else if (method === "tools/list") say(id, { tools: [{ name: "shout", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] });
    else if (method === "tools/call") { note("call " + params.arguments.text); say(id, { content: [{ type: "text", text: params.arguments.text.toUpperCase() }] }); }
    else if (method === "ping") say(id, {});
    else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
  }
});`;

type McpServers = NonNullable<Parameters<typeof acpClient>[0]["mcpServers"]>;

function editor({ at, env, events }: Setup, permission?: AutoApprove, mcpServers: McpServers = []) {
  const [command, ...args] = [...COMMAND, "acp"];
  return acpClient({
    command,
    args,
    env,
    cwd: at.folder,
    stateFile: join(at.home, "editor.json"),
    mcpServers,
    onEvent: (event) => events.push(event),
    ...(permission !== undefined && { permission }),
  });
}
const textOf = ({ parts }: { readonly parts: readonly object[] }): string =>
  parts.map((part) => ("type" in part && part.type === "text" && "text" in part ? String(part.text) : "")).join("");

describe.concurrent("capstan acp", { timeout: 120_000 }, () => {
  it("ACP-06 works on a folder as an editor's agent, and writes only what was permitted", async () => {
    await using it = await setup([write, text("Made it."), write, text("Not made.")]);
    {
      await using client = editor(it, { allow: [{ kind: "edit", within: "." }], atMost: 1 });
      const { stopReason, message } = await client.prompt("make it");
      expect([stopReason, textOf(message)]).toEqual(["end_turn", "Made it."]);
      expect(await readFile(join(it.at.folder, "new.txt"), "utf8")).toBe("made\n");
      expect(client.permissions()).toMatchObject([{ kind: "edit", allowed: true, by: "rule" }]);
    }
    const listed = await it.at.run(["sessions", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ title: "make it", status: "idle" });
  });

  it("ACP-06 MCP-01 G10 calls a tool of a server that the editor names, once it is permitted, and leaves no process", async () => {
    const shout: AnthropicReply = {
      content: [{ type: "tool_use", id: "tu_s", name: "shouter__shout", input: { text: "hi" } }],
    };
    await using it = await setup([shout, text("Shouted."), shout, text("Refused.")]);
    const script = join(it.at.folder, "server.cjs");
    const marks = join(it.at.folder, "marks");
    await writeFile(script, SHOUTER);
    const mcpServers = [{ name: "shouter", command: process.execPath, args: [script, marks], env: [] }];
    {
      await using client = editor(it, { allow: [{ kind: "other" }], atMost: 1 }, mcpServers);
      expect(textOf((await client.prompt("shout")).message)).toBe("Shouted.");
      expect(textOf((await client.prompt("again")).message)).toBe("Refused.");
      expect(client.permissions().map(({ allowed }) => allowed)).toEqual([true, false]);
    }
    const [pid, ...calls] = (await readFile(marks, "utf8")).trim().split("\n");
    expect(calls).toEqual(["call hi"]);
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  });

  it("ACP-06 DUR-14 goes on in a new process after SIGKILL in mid-prompt, and shows what was said before", async () => {
    const never: AnthropicReply = {
      ...text("Half an answer that never ends"),
      delivery: { stall: { afterBytes: 700, until: new Promise(() => undefined) } },
    };
    await using it = await setup([
      text("First."),
      never,
      text("Second, after the crash."),
      text("Third."),
      text("Fourth."),
    ]);
    {
      await using client = editor(it);
      expect(textOf((await client.prompt("one")).message)).toBe("First.");
      const { promise: shown, resolve } = Promise.withResolvers<void>();
      client.setUpdateCallback((chunk) => void (chunk.type === "text-delta" && resolve()));
      const lost = client.prompt("two");
      lost.catch(() => undefined); // awaited below
      await shown;
      const started = it.events.find((event) => event.type === "agent.started");
      process.kill(started?.type === "agent.started" ? started.pid : 0, "SIGKILL");
      await expect(lost).rejects.toThrow("SIGKILL");
    }
    {
      await using client = editor(it);
      expect(textOf((await client.prompt("three")).message)).toMatch(/Third\.$/);
      expect(it.events.findLast((event) => event.type === "session.opened")).toMatchObject({ by: "load" });
      expect(client.getMessages().map(textOf).join("|")).toContain("one|First.|two");
    }
    await using client = editor(it);
    await client.prompt("four");
    const said = client.getMessages().map(textOf).join("|");
    // the process that took the session up first said it, perhaps between its load and its prompt
    expect(said).toContain("Second, after the crash.");
    expect(said.indexOf("Third.")).toBeGreaterThan(said.indexOf("Second, after the crash."));
  });

  it("ACP-06 keeps standard output for the protocol and ends with its input", async () => {
    await using it = await setup([]);
    const [command, ...args] = [...COMMAND, "acp"];
    const child: ChildProcess = spawn(command, args, {
      cwd: it.at.folder,
      env: it.env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stdout = "";
    child.stdout?.setEncoding("utf8").on("data", (piece: string) => (stdout += piece));
    child.stdin?.write("this is no JSON\n");
    child.stdin?.end('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n');
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(0);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly id: unknown });
    expect(lines.map(({ id }) => id)).toEqual([null, 1]);
    await access(it.at.home);
  });
});
