/** Servers that break: at every phase, in every way. The client stays whole, says what happened, and leaves no process. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, systemClock } from "@capstan/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { normalizeServers } from "./config/normalize-servers.ts";
import { McpService } from "./connect/service.ts";
import type { McpEvent } from "./mcp-event.ts";
import { attemptCall } from "./tools/call-outcome.ts";

const program = fileURLToPath(new URL("__fixtures__/odd-server.mjs", import.meta.url));
const never = new AbortController().signal;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-mcp-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let made = 0;
function odd(mode: string, more: object = {}) {
  made += 1;
  const file = join(folder, `${mode}-${made}`);
  const events: McpEvent[] = [];
  const { servers, problems } = normalizeServers({
    odd: { command: process.execPath, args: [program, mode, file], bootstrapMs: 5_000, callMs: 4_000, ...more },
  });
  expect(problems).toEqual([]);
  const [config] = servers;
  if (config === undefined) throw new Error("no server");
  const service = new McpService(config, {
    clock: systemClock,
    answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
    hooks: {},
    listener: (event) => events.push(event),
    auth: undefined,
  });
  const call = (text = "hi") =>
    attemptCall(service, { name: "echo", input: { text }, timeoutMs: config.timeouts.callMs, signal: never });
  return { service, events, file, call, [Symbol.asyncDispose]: () => service.close() };
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

describe("a server that breaks before it is of use", () => {
  for (const mode of ["exit-at-start", "exit-at-handshake", "exit-at-list", "garbage", "deep-list", "endless-list"]) {
    it(`MCP-06 MCP-10 fails to connect and says why: ${mode}`, async () => {
      await using server = odd(mode);
      await expect(server.service.connect(never)).rejects.toMatchObject({ code: "mcp-failed" });
      expect(server.service.status).toBe("failed");
      expect(server.service.failure).toContain("MCP server odd");
      expect(server.events.at(0)).toEqual({ type: "bootstrap.started", server: "odd", transport: "stdio" });
      expect(server.events.find(({ type }) => type === "bootstrap.finished")).toMatchObject({ ok: false });
    });
  }

  for (const mode of ["hang-at-start", "hang-at-handshake", "hang-at-list"]) {
    it(`MCP-10 is given up after its own limit: ${mode}`, async () => {
      await using server = odd(mode, { bootstrapMs: 600 });
      const startedAt = systemClock.monotonic();
      await expect(server.service.connect(never)).rejects.toMatchObject({ code: "mcp-failed" });
      expect(systemClock.monotonic() - startedAt).toBeLessThan(8_000);
    });
  }

  it("MCP-01 says so when there is no such program", async () => {
    const { servers } = normalizeServers({ gone: { command: "/no/such/program" } });
    const service = new McpService(servers[0]!, {
      clock: systemClock,
      answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
      hooks: {},
      listener: undefined,
      auth: undefined,
    });
    await expect(service.connect(never)).rejects.toThrow(/ENOENT/);
    await service.close();
  });
});

describe("a server that breaks in use", () => {
  it("MCP-01 speaks with a server of the older revisions, also one that ends when asked for the newer", async () => {
    for (const mode of ["good", "strict", "binary"]) {
      await using server = odd(mode);
      expect(await server.call()).toMatchObject({
        type: "answered",
        result: { content: [{ type: "text", text: "hi" }] },
      });
    }
  });

  it("MCP-06 takes a server that refuses to be asked for a sign of life for one that is there", async () => {
    await using server = odd("no-ping");
    for (let round = 0; round < 2; round += 1) expect((await server.call()).type).toBe("answered");
    expect(server.events.filter(({ type }) => type === "server.connected")).toHaveLength(1);
  });

  it("MCP-10 waits once for a server that does not answer what it does not know", async () => {
    await using server = odd("silent", { bootstrapMs: 1_000 });
    expect((await server.call()).type).toBe("answered");
    await server.service.reconnect(never);
    expect((await server.call()).type).toBe("answered");
    expect((await readFile(server.file, "utf8")).match(/probed/g)).toHaveLength(1);
  });

  it("MCP-06 connects again before a call when the server has ended since", async () => {
    await using server = odd("exit-after-call");
    expect(await server.call()).toMatchObject({ type: "answered" });
    await new Promise<void>((resolve) => {
      const look = (): void =>
        server.events.some(({ type }) => type === "server.closed") ? resolve() : void setImmediate(look);
      look();
    });
    expect(await server.call()).toMatchObject({ type: "answered", result: { content: [{ text: "call 1" }] } }); // a new process
  });

  it("MCP-06 sends a call that was on its way when the connection ended no second time", async () => {
    await using server = odd("exit-once");
    expect(await server.call()).toMatchObject({ type: "broken" });
    expect((await readFile(server.file, "utf8")).trim().split("\n")).toHaveLength(1);
    expect(await server.call()).toMatchObject({ type: "answered" });
  });

  it("MCP-06 takes the answer of a server that ends with it", async () => {
    for (let round = 0; round < 3; round += 1) {
      await using server = odd("last-words");
      expect((await server.call()).type).toBe("answered");
    }
  });

  it("MCP-06 gives up a call after its limit and checks before the next one", async () => {
    await using server = odd("hang-at-call", { callMs: 300 });
    expect(await server.call()).toEqual({ type: "broken", message: "no answer within 300 ms" });
    expect(await server.service.check(never)).toBe(true);
  });

  it("MCP-11 survives results that make no sense", async () => {
    await using server = odd("wrong-ids");
    expect(await server.call()).toMatchObject({ type: "answered", result: { content: [{ text: "hi" }] } });
    await using other = odd("odd-result");
    const outcome = await other.call();
    expect(["answered", "broken", "failed"]).toContain(outcome.type);
  });

  it("G12 ends a connection that sends a result without end", async () => {
    await using server = odd("endless-result", { callMs: 20_000 });
    const outcome = await server.call();
    expect(outcome.type).toBe("broken");
    expect(
      server.events.filter(({ type }) => type === "server.closed").map((event) => "reason" in event && event.reason),
    ).toEqual([expect.stringContaining("more than 16777216 bytes")]);
  });

  it("G12 ends a connection that sends messages without end", async () => {
    await using server = odd("endless-notes", { callMs: 20_000 });
    expect((await server.call()).type).toBe("broken");
    expect(JSON.stringify(server.events)).toContain("messages nobody asked for");
  });

  it("MCP-02 MCP-16 offers no tool whose name or schema cannot be trusted", async () => {
    await using names = odd("names");
    await names.service.connect(never);
    expect(names.service.tools.map(({ name }) => name)).toEqual(["echo", "ok.name/x"]);
    expect(names.events.filter(({ type }) => type === "tool.noticed")).toHaveLength(3);
    await using schemas = odd("schemas");
    await schemas.service.connect(never);
    expect(schemas.service.tools.map(({ name }) => name)).toEqual(["echo", "bomb", "regex"]);
    await using many = odd("many");
    await many.service.connect(never);
    expect(many.service.tools).toHaveLength(1_000);
  });

  it("MCP-10 lists tools again, for the next run, when the server says that they changed", async () => {
    await using server = odd("growing");
    await server.service.connect(never);
    expect(server.service.tools.map(({ name }) => name)).toEqual(["echo"]);
    await server.call();
    await expect
      .poll(async () => {
        await server.service.connect(never);
        return server.service.tools.map(({ name }) => name);
      })
      .toEqual(["echo", "echo_1"]);
    expect(server.events).toContainEqual({ type: "tools.changed", server: "odd", tools: ["echo", "echo_1"] });
  });

  it("an interrupt ends a call at once", async () => {
    await using server = odd("hang-at-call", { callMs: 60_000 });
    await server.service.connect(never);
    const stop = new AbortController();
    const pending = attemptCall(server.service, { name: "echo", input: {}, timeoutMs: 60_000, signal: stop.signal });
    const look = async (): Promise<void> => {
      while (!existsSync(server.file)) await new Promise((resolve) => setImmediate(resolve));
    };
    await look();
    stop.abort(new Error("interrupted"));
    await expect(pending).rejects.toThrow("interrupted");
  });
});

describe("closing", () => {
  it("G10 leaves nothing of a server that does not want to end, nor of what it started", async () => {
    const pids: number[] = [];
    for (const mode of ["stubborn", "grandchildren"]) {
      const server = odd(mode);
      await server.service.connect(never);
      pids.push(...(await readFile(server.file, "utf8")).split(" ").map(Number));
      const startedAt = systemClock.monotonic();
      await server.service.close();
      expect(systemClock.monotonic() - startedAt).toBeLessThan(5_000);
    }
    expect(pids).toHaveLength(3);
    expect(pids.filter(alive)).toEqual([]);
  });

  it("G10 ends what a wrapper started when the wrapper itself is killed", async () => {
    const server = odd("grandchildren");
    await server.service.connect(never);
    const [wrapper = 0, inner = 0] = (await readFile(server.file, "utf8")).split(" ").map(Number);
    process.kill(wrapper, "SIGKILL");
    await expect.poll(() => alive(inner), { timeout: 5_000 }).toBe(false);
    await server.service.close();
  });

  it("G23 gives a server the allowed environment and its own, nothing else", async () => {
    process.env["CAPSTAN_TEST_SECRET"] = "do-not-tell";
    const file = join(folder, "environment");
    const script = `require("node:fs").writeFileSync(${JSON.stringify(file)}, JSON.stringify(process.env));process.exit(1)`;
    for (const strictEnv of [false, true]) {
      const { servers } = normalizeServers({
        env: { command: process.execPath, args: ["-e", script], env: { GIVEN: "yes" }, strictEnv },
      });
      const service = new McpService(servers[0]!, {
        clock: systemClock,
        answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
        hooks: {},
        listener: undefined,
        auth: undefined,
      });
      await service.connect(never).catch(messageOf);
      await service.close();
      const env = JSON.parse(await readFile(file, "utf8")) as Record<string, string>;
      expect(env["CAPSTAN_TEST_SECRET"]).toBeUndefined();
      expect(env["GIVEN"]).toBe("yes");
      expect(env["PATH"] === undefined).toBe(strictEnv);
    }
    delete process.env["CAPSTAN_TEST_SECRET"];
    await writeFile(file, "");
  });
});
