import { join } from "node:path";
import { agent, memoryStore, openRuntime, storeEngine, systemClock, systemIds, textOf, type Tool } from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fileTools } from "../files.ts";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { bwrap } from "../workspaces/bwrap.ts";
import { localWorkspace } from "../workspaces/local.ts";
import { missingHere, suiteName } from "../workspaces/sandbox-here.ts";
import { sandboxed } from "../workspaces/sandboxed.ts";
import { languageServers } from "./language-servers.ts";
import { LSP_LIMITS } from "./limits.ts";
import { MessageReader } from "./lsp-messages.ts";
import { SCRIPTED_SERVER } from "./scripted-server.ts";

vi.setConfig({ testTimeout: 60_000 });
const isMissing = process.platform === "linux" ? await missingHere(bwrap()) : "not Linux";

let at: TemporaryWorkspace;
beforeEach(async () => {
  at = await temporaryWorkspace();
});
afterEach(async () => {
  expect(at.processes()).toEqual([]);
  await at.close();
});

const scripted = (mode: string) =>
  languageServers({
    typescript: { command: process.execPath, args: ["-e", SCRIPTED_SERVER, mode], extensions: [".ts"] },
  });

/** The tool in a workspace of its own, without a loop. */
async function diagnosed(mode: string, paths: readonly string[]): Promise<readonly string[]> {
  const servers = scripted(mode);
  const opened = await servers.open?.({} as never);
  const [tool] = servers.tools as readonly [Tool];
  try {
    const said: string[] = [];
    for (const path of paths) said.push(await at.say(tool, { path }));
    return said;
  } finally {
    await opened?.[Symbol.asyncDispose]();
  }
}

describe("diagnostics", () => {
  it.each(["push", "pull"])("TOOL-41 shows what a server says of a file (%s)", async (mode) => {
    at.write("src/a b.ts", "fine\n  wrong é\nwrong!\n");
    at.write("b.ts", "fine");
    expect(await diagnosed(mode, ["src/a b.ts", "b.ts", "src/a b.ts"])).toEqual([
      "3:1 error: naïve wrong! [scr 7]\n2:3 warning: naïve wrong é [scr 7]",
      "No diagnostics.",
      "3:1 error: naïve wrong! [scr 7]\n2:3 warning: naïve wrong é [scr 7]",
    ]);
  });

  it("TOOL-41 understands a server that others wrote", async () => {
    at.write("a.ts", "debugger;\nexport {};\n");
    const oxlint = join(import.meta.dirname, "../../../../node_modules/oxlint/bin/oxlint");
    const servers = languageServers({
      typescript: { command: process.execPath, args: [oxlint, "--lsp"], extensions: [".ts"] },
    });
    const opened = await servers.open?.({} as never);
    const [tool] = servers.tools as readonly [Tool];
    expect(await at.say(tool, { path: "a.ts" })).toMatch(/^1:1 warning: `debugger` statement is not allowed/);
    at.write("a.ts", "export {};\n");
    expect(await at.say(tool, { path: "a.ts" })).toBe("No diagnostics.");
    await opened?.[Symbol.asyncDispose]();
  });

  it("says which files are known, and keeps to the workspace", async () => {
    at.write("a.py", "x");
    const [other, outside, missing] = await diagnosed("push", ["a.py", "../work-evil/secret.ts", "no.ts"]);
    expect(other).toBe("ERROR No language server knows a.py; there are servers for .ts.");
    expect(outside).toMatch(/^ERROR /);
    expect(missing).toMatch(/^ERROR /);
  });

  it.each([
    ["dies", /of no use: it ended with 3: cannot start\.$/],
    ["exits", /of no use: it ended with 5\.$/],
    ["garbage", /of no use: it sent something that is no message\.$/],
    ["huge", /of no use: it sent a message without a length, or one that is too long\.$/],
  ])("G24 gives a server up that %s, and starts it again for the next call", async (mode, said) => {
    at.write("a.ts", "wrong");
    const [first, second] = await diagnosed(mode, ["a.ts", "a.ts"]);
    expect(first).toMatch(said);
    expect(second).toMatch(said);
  });

  it("says that a program cannot be started", async () => {
    at.write("a.ts", "x");
    const servers = languageServers({ typescript: { command: "/no/such/program", extensions: [".ts"] } });
    const opened = await servers.open?.({} as never);
    const [tool] = servers.tools as readonly [Tool];
    expect(await at.say(tool, { path: "a.ts" })).toMatch(
      /^ERROR The language server is of no use: .*could not be started/,
    );
    await opened?.[Symbol.asyncDispose]();
  });

  it("G11 leaves a silent server at once when it is interrupted", async () => {
    at.write("a.ts", "x");
    const servers = scripted("silent");
    const opened = await servers.open?.({} as never);
    const [tool] = servers.tools as readonly [Tool];
    const stop = new AbortController();
    const call = at.say(tool, { path: "a.ts" }, stop.signal);
    await vi.waitFor(() => expect(at.processes().length).toBeGreaterThan(0), { timeout: 20_000 });
    stop.abort(new Error("interrupted"));
    await expect(call).rejects.toThrow("interrupted");
    await opened?.[Symbol.asyncDispose]();
  });

  it("G10 ends a server that does not want to", async () => {
    at.write("a.ts", "wrong");
    expect(await diagnosed("stays", ["a.ts"])).toEqual(["1:1 warning: naïve wrong [scr 7]"]);
    expect(at.processes()).toEqual([]);
  });

  it("G12 shows a bounded number", async () => {
    at.write("a.ts", "x");
    const [said = ""] = await diagnosed("many", ["a.ts"]);
    expect(said.split("\n")).toHaveLength(LSP_LIMITS.shown + 1);
    expect(said).toMatch(/\(150 more diagnostics\)$/);
  });

  it("G24 reads messages however they are cut, and no endless head", () => {
    const message = 'Content-Length: 25\r\n\r\n{"id":1,"result":"é€😀"}';
    const [, body = ""] = message.split("\r\n\r\n");
    const whole = message.replace("25", String(Buffer.byteLength(body)));
    const reader = new MessageReader();
    const read = Array.from(whole.repeat(3)).flatMap((piece) => reader.push(piece));
    expect(read).toEqual(Array.from({ length: 3 }, () => ({ id: 1, result: "é€😀" })));
    expect(() => new MessageReader().push("x".repeat(LSP_LIMITS.headBytes))).toThrow("no message");
  });
});

describe.each([
  ["none", undefined],
  ["bwrap", bwrap()],
] as const)(suiteName("languageServers in a run", isMissing) + ", %s", (name, sandbox) => {
  it.skipIf(name === "bwrap" && isMissing !== undefined)(
    "TOOL-41 adds errors and warnings to the result of an edit",
    async () => {
      at.write("a.ts", "fine");
      const call = (content: string) => ({ calls: [{ name: "write_file", input: { path: "a.ts", content } }] });
      const model = scriptedModel([call("wrong!"), call("all is well"), { text: "Done." }]);
      const coder = agent({
        name: "coder",
        model,
        instructions: "Code.",
        tools: [...fileTools()],
        plugins: [scripted("push")],
      });
      const runtime = await openRuntime({
        agents: [coder],
        engine: storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) }),
        workspaces: { local: sandbox === undefined ? (root) => localWorkspace(root) : sandboxed({ sandbox }) },
        permission: { mode: "accept-edits" },
      });
      try {
        const run = await runtime.send("coder", "Go", { workspace: at.root });
        const said: string[] = [];
        for await (const { event } of run.events())
          if (event.type === "tool.finished") said.push(textOf(event.output.content));
        expect(said[0]).toContain("Diagnostics of a.ts after this change:\n1:1 error: naïve wrong! [scr 7]");
        expect(said[1]).not.toContain("Diagnostics");
        expect(said).toHaveLength(2);
      } finally {
        await runtime.close();
      }
    },
  );
});
