/** The reference server of the protocol's authors, over each transport. */

import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { afterAll, describe, expect, it } from "vitest";
import { type McpClient, mcpClient } from "./mcp-client.ts";
import { attemptCall } from "./tools/call-outcome.ts";
import { readResult } from "./tools/read-result.ts";
import { McpService } from "./connect/service.ts";
import { normalizeServers } from "./config/normalize-servers.ts";
import { systemClock } from "@capstan/core";

const require = createRequire(import.meta.url);
const program = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");
const never = new AbortController().signal;
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null) continue;
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(kind: "streamableHttp" | "sse"): Promise<number> {
  const port = await freePort();
  const child = spawn(process.execPath, [program, kind], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (said: string) => {
      if (said.includes(String(port))) resolve();
    });
    child.once("exit", () => reject(new Error(`${kind} did not start`)));
  });
  return port;
}

async function servers(kind: string): Promise<object> {
  if (kind === "stdio") return { all: { command: process.execPath, args: [program, "stdio"] } };
  const port = await listening(kind === "sse" ? "sse" : "streamableHttp");
  return {
    all: { type: kind === "sse" ? "sse" : "http", url: `http://127.0.0.1:${port}/${kind === "sse" ? "sse" : "mcp"}` },
  };
}

describe("server-everything", () => {
  for (const kind of ["stdio", "http", "sse"]) {
    it(`MCP-01 MCP-11 MCP-15 is spoken with over ${kind}`, async () => {
      const config = await servers(kind);
      const { servers: read } = normalizeServers(config);
      const service = new McpService(read[0]!, {
        clock: systemClock,
        answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
        hooks: {},
        listener: undefined,
        auth: undefined,
      });
      const call = async (name: string, input: { readonly [name: string]: string | number }) => {
        const outcome = await attemptCall(service, { name, input, timeoutMs: 20_000, signal: never });
        if (outcome.type !== "answered") throw new Error(JSON.stringify(outcome));
        const offered = service.tools.find((tool) => tool.name === name);
        return readResult(outcome.result, { outputSchema: offered?.outputSchema, labels: [] });
      };
      try {
        await service.connect(never);
        expect(service.tools.map(({ name }) => name)).toContain("get-sum");
        expect((await call("echo", { message: "hello" })).content).toEqual([{ type: "text", text: "Echo: hello" }]);
        expect(JSON.stringify(await call("get-sum", { a: 2, b: 3 }))).toContain("5");
        const image = await call("get-tiny-image", {});
        expect(image.content.map(({ type }) => type)).toContain("file");
        const weather = await call("get-structured-content", { location: "New York" });
        expect(weather.output).toMatchObject({ conditions: expect.any(String) });
        const links = await call("get-resource-links", { count: 2 });
        expect(JSON.stringify(links.content)).toContain("[link to ");
        expect(JSON.stringify(await call("get-resource-reference", { resourceType: "Text", resourceId: 1 }))).toContain(
          "text",
        );
      } finally {
        await service.close();
      }
    });
  }

  it("MCP-15 MCP-08 has resources and prompts that can be read", async () => {
    await using client: McpClient = mcpClient({ servers: await servers("stdio") });
    expect(await client.health()).toEqual({ all: true });
    const resources = await client.resources("all");
    expect(resources.length).toBeGreaterThan(0);
    expect((await client.readResource("all", resources[0]!.uri)).contents).toHaveLength(1);
    const prompts = await client.prompts("all");
    expect(prompts.map(({ name }) => name)).toContain("simple-prompt");
    expect((await client.prompt("all", "simple-prompt")).messages.length).toBeGreaterThan(0);
    expect(client.list()[0]?.tools.length).toBeGreaterThan(5);
  });
});
