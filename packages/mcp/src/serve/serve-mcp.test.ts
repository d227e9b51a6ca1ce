/** Our server against the clients of the SDK, of the older and the newer revision, over HTTP and over stdio. */

import { connect as dial } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { agent, flowTool, type Json, type Runtime, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { listenMcp, type ListenOptions } from "./listen.ts";
import { serveMcp } from "./serve-mcp.ts";
import { servedBy } from "./tool-server.ts";
import { servedAgent } from "./served-agent.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const double = tool({
  name: "double",
  description: "Doubles a number.",
  input: z.object({ number: z.number() }),
  rerun: "safe",
  kind: "read",
  execute: ({ number }) => ({ result: number * 2 }),
});
const pay = tool({ name: "pay", description: "Pays.", input: z.object({}), permission: "ask", execute: () => "paid" });
const boom = tool({
  name: "boom",
  description: "Fails.",
  input: z.object({}),
  execute: () => {
    throw new Error("it broke");
  },
});
const asks = flowTool({
  name: "asks",
  description: "Asks.",
  input: z.object({}),
  flow: async (_input, context) => ((await context.ask("go", { title: "Go on" })).allow ? "went on" : "stopped"),
});

async function runtimeOf(script: Parameters<typeof scriptedModel>[0]): Promise<Runtime> {
  const model = scriptedModel(script);
  const helper = agent({ name: "helper", model, instructions: "Help.", tools: [asks], description: "Helps." });
  const runtime = await testRuntime({ agents: [helper], models: { helper: model }, permission: { mode: "ask" } });
  closing.push(() => runtime.close());
  return runtime;
}
const helper = { name: "helper" } as unknown as NonNullable<ListenOptions["agents"]>[number]; // only its name is looked at

const tokens: { readonly [token: string]: string } = { "Bearer a": "anna", "Bearer b": "bert" };
async function listen(more: Partial<ListenOptions> = {}) {
  const server = await listenMcp({
    tools: [double, pay, boom],
    authorize: (request) => {
      const id = tokens[request.headers.get("authorization") ?? ""];
      return id === undefined ? null : { id, door: "mcp-http", tenant: id };
    },
    ...more,
  });
  closing.push(() => server.close());
  return server;
}

async function connect(
  url: string,
  mode: "legacy" | { pin: string },
  { token = "a", answer }: { token?: string; answer?: Json } = {},
) {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: answer === undefined ? {} : { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  if (answer !== undefined)
    client.setRequestHandler("elicitation/create", () => ({
      action: "accept" as const,
      content: answer as { allow: boolean },
    }));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport as never);
  closing.push(() => client.close());
  return client;
}

const MODES = ["legacy", { pin: "2026-07-28" }] as const;

describe("mcpHandler", () => {
  for (const mode of MODES) {
    it(`MCP-13 serves tools to a client of ${JSON.stringify(mode)}`, async () => {
      const { url } = await listen();
      const client = await connect(url, mode);
      const { tools } = await client.listTools();
      expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
        ["double", true],
        ["pay", false],
        ["boom", false],
      ]);
      const result = await client.callTool({ name: "double", arguments: { number: 21 } });
      expect(result).toMatchObject({
        structuredContent: { result: 42 },
        content: [{ type: "text", text: '{"result":42}' }],
      });
      for (const [name, given, said] of [
        ["double", { number: "x" }, "Wrong arguments for double"],
        ["pay", {}, "nobody can be asked here"],
        ["boom", {}, "it broke"],
        ["nothing", {}, 'There is no tool "nothing"'],
      ] as const) {
        const refused = await client.callTool({ name, arguments: given });
        expect(refused.isError).toBe(true);
        expect(JSON.stringify(refused.content)).toContain(JSON.stringify(said).slice(1, -1));
      }
    });

    it(`MCP-13 serves an agent, whose conversation goes on, to a client of ${JSON.stringify(mode)}`, async () => {
      const runtime = await runtimeOf([{ text: "first" }, { text: "second" }]);
      const { url } = await listen({ runtime, agents: [helper], tools: [] });
      const client = await connect(url, mode);
      const first = await client.callTool({ name: "helper", arguments: { message: "hello" } });
      expect(first).toMatchObject({
        content: [{ type: "text", text: "first" }],
        structuredContent: { status: "finished", text: "first" },
      });
      const { session } = first.structuredContent as { readonly session: string };
      expect(await client.callTool({ name: "helper", arguments: { message: "more", session } })).toMatchObject({
        structuredContent: { session, text: "second" },
      });
      const other = await connect(url, mode, { token: "b" });
      const foreign = await other.callTool({ name: "helper", arguments: { message: "more", session } });
      expect(foreign).toMatchObject({ isError: true });
    });
  }

  it("MCP-13 MCP-15 asks the person of the client what the run asks, and goes on", async () => {
    const runtime = await runtimeOf([{ calls: [{ name: "asks", input: {} }] }, { text: "done" }]);
    const { url } = await listen({ runtime, agents: [helper], tools: [] });
    const client = await connect(url, { pin: "2026-07-28" }, { answer: { allow: true } });
    expect(await client.callTool({ name: "helper", arguments: { message: "go" } })).toMatchObject({
      content: [{ text: "done" }],
    });
  });

  it("MCP-13 says that a run waits when the client can ask nobody", async () => {
    const runtime = await runtimeOf([{ calls: [{ name: "asks", input: {} }] }, { text: "done" }]);
    const { url } = await listen({ runtime, agents: [helper], tools: [] });
    const client = await connect(url, "legacy");
    expect(await client.callTool({ name: "helper", arguments: { message: "go" } })).toMatchObject({
      structuredContent: { status: "waiting" },
    });
  });

  it("MCP-13 G22 refuses who is not known, a foreign Host and a foreign Origin", async () => {
    const { url } = await listen();
    const { port } = new URL(url);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    const post = async (headers: { readonly [name: string]: string }): Promise<number> => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const { request } = await import("node:http");
      const sent = request(
        {
          port,
          host: "127.0.0.1",
          path: "/mcp",
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      sent.end(body);
      return promise;
    };
    expect(await post({})).toBe(401);
    expect(await post({ authorization: "Bearer wrong" })).toBe(401);
    expect(await post({ authorization: "Bearer a", host: "evil.example" })).toBe(403);
    expect(await post({ authorization: "Bearer a", origin: "https://evil.example" })).toBe(403);
    expect([200, 400]).toContain(await post({ authorization: "Bearer a" }));
  });

  it("MCP-13 G24 outlives bodies of any kind", async () => {
    const { url } = await listen();
    for (const body of [
      "",
      "{",
      "[]",
      "null",
      "[".repeat(100_000),
      `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(5_000_000)}"}`,
    ]) {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          authorization: "Bearer a",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body,
      });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      await response.body?.cancel();
    }
    const { request } = await import("node:http");
    for (const [method, path] of [
      ["TRACE", "/mcp"],
      ["GET", "//"],
      ["OPTIONS", "*"],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<number>();
      const sent = request({ port: new URL(url).port, host: "127.0.0.1", method, path }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.end();
      expect(Math.floor((await promise) / 100)).toBe(4);
    }
    const client = await connect(url, { pin: "2026-07-28" });
    expect((await client.listTools()).tools).toHaveLength(3);
  });

  it("MCP-13 tells a client that asked for it how far a tool is", async () => {
    const slow = tool({
      name: "slow",
      description: "Takes steps.",
      input: z.object({}),
      execute: (_input, { progress }) => {
        progress({ progress: 1, total: 2, message: "half" });
        progress({ chunk: "x" });
        return "done";
      },
    });
    const { url } = await listen({ tools: [slow] });
    for (const mode of MODES) {
      const client = await connect(url, mode);
      const seen: unknown[] = [];
      await client.callTool({ name: "slow", arguments: {} }, { onprogress: (update) => seen.push(update.progress) });
      expect(seen).toEqual([1, 2]);
    }
  });

  it("MCP-13 refuses what cannot be served", async () => {
    await expect(serveMcp({ tools: [asks] })).rejects.toMatchObject({ code: "tool-invalid" });
    await expect(serveMcp({ agents: [helper] })).rejects.toMatchObject({ code: "config-invalid" });
    await expect(listenMcp({ tools: [double, double], authorize: () => null })).rejects.toMatchObject({
      code: "config-invalid",
    });
  });
});

describe("an agent served over one connection", () => {
  it("MCP-13 an older client is asked with a request of its own", async () => {
    const runtime = await runtimeOf([{ calls: [{ name: "asks", input: {} }] }, { text: "done" }]);
    const [near, far] = InMemoryTransport.createLinkedPair();
    const server = await servedBy("test", [servedAgent(runtime, { name: "helper" }, { id: "me", door: "test" })]);
    await server.connect(far as never);
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept" as const, content: { allow: false } }));
    await client.connect(near);
    closing.push(() => client.close());
    const result = await client.callTool({ name: "helper", arguments: { message: "go" } });
    expect(result).toMatchObject({ content: [{ text: "done" }] });
  });

  it("MCP-13 a call that its client cancels interrupts the run", async () => {
    const runtime = await runtimeOf([{ text: "never", hold: new Promise(() => undefined) }]);
    const [near, far] = InMemoryTransport.createLinkedPair();
    const server = await servedBy("test", [servedAgent(runtime, { name: "helper" }, { id: "me", door: "test" })]);
    await server.connect(far as never);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(near);
    closing.push(() => client.close());
    const stop = new AbortController();
    const call = client
      .callTool({ name: "helper", arguments: { message: "go" } }, { signal: stop.signal })
      .catch(() => "stopped");
    await expect.poll(() => runtime.sessions()).toHaveLength(1);
    stop.abort();
    expect(await call).toBe("stopped");
    await expect.poll(async () => (await runtime.sessions())[0]?.status).toBe("idle");
  });
});

describe("listenMcp", () => {
  it("G22 refuses a request that names two hosts, and answers the next one", async () => {
    const server = await listenMcp({ tools: [double], authorize: () => ({ id: "me", door: "test" }) });
    closing.push(() => server.close());
    const { host, port } = new URL(server.url);
    const status = async (target: string, more = ""): Promise<string> => {
      const socket = dial(Number(port), "127.0.0.1");
      socket.write(`DELETE ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);
      const answer = await text(socket);
      return answer.slice(9, 12);
    };
    expect(await status("http://evil.example/mcp")).toBe("400");
    expect(await status("//evil.example/mcp")).toBe("400");
    expect(await status("/mcp", "Host: evil.example\r\n")).toBe("400");
    expect(await status("/mcp")).toBe("405");
  });
});

describe("serveMcp", () => {
  const program = fileURLToPath(new URL("../__fixtures__/stdio-tools.ts", import.meta.url));
  for (const mode of MODES) {
    it(`MCP-13 serves a client of ${JSON.stringify(mode)} and ends with its input`, async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: ["--conditions=capstan-source", program],
        stderr: "ignore",
      });
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      await client.connect(transport as never);
      closing.push(() => client.close());
      expect(await client.callTool({ name: "greet", arguments: { name: "Ada" } })).toMatchObject({
        content: [{ type: "text", text: "Hello, Ada" }],
      });
    });
  }

  const tools = [tool({ name: "hi", description: "Says hi.", input: z.object({}), execute: () => "hi" })];
  it("MCP-13 G24 answers after any garbage, and ends when a message does not", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = await serveMcp({ tools, input, output });
    const lines = createInterface({ input: output })[Symbol.asyncIterator]();
    const garbage = [
      "no json",
      "[]",
      "null",
      '{"jsonrpc":"2.0"}',
      `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
      '{"jsonrpc":"1.0","id":7,"method":"ping"}',
    ];
    for (const line of garbage) input.write(`${line}\n`);
    input.write(Buffer.from([0xff, 0xfe, 0x0a]));
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    for (;;) {
      const { value, done } = await lines.next();
      expect(done).not.toBe(true);
      const { id, result } = JSON.parse(String(value)) as { readonly id?: unknown; readonly result?: object };
      if (id !== 1) continue;
      expect(result).toMatchObject({ serverInfo: { name: "capstan" } });
      break;
    }
    input.write("x".repeat(6_000_000));
    await served.ended;
    await served.close();
  });

  it("MCP-13 G24 ends when nobody reads what it says", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = await serveMcp({ tools, input, output });
    output.destroy(new Error("EPIPE"));
    await served.ended;
    await served.close();
  });
});
