/** A connection over time: refreshed, swapped while calls are under way, made again, never sent twice. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { jsonSchema, systemClock, tool } from "@capstan/core";
import { afterEach, describe, expect, it } from "vitest";
import { normalizeServers } from "../config/normalize-servers.ts";
import type { McpEvent } from "../mcp-event.ts";
import { inProcessServer } from "../serve/in-process.ts";
import { listenMcp, type ListeningMcp } from "../serve/listen.ts";
import { attemptCall } from "../tools/call-outcome.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { NotSent, wasNotSent } from "./send-failure.ts";
import { McpService } from "./service.ts";

const never = new AbortController().signal;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function serviceOf(entry: object) {
  const events: McpEvent[] = [];
  const { servers, problems } = normalizeServers({ own: entry });
  expect(problems).toEqual([]);
  const service = new McpService(servers[0]!, {
    clock: systemClock,
    answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
    hooks: {},
    listener: (event) => events.push(event),
    auth: undefined,
  });
  closing.push(() => service.close());
  const call = (name = "who", input = {}) => attemptCall(service, { name, input, timeoutMs: 10_000, signal: never });
  return { service, events, call };
}
const any = jsonSchema<Record<string, never>>({ type: "object" });
const who = (words: string) => tool({ name: "who", description: "Says who.", input: any, execute: () => words });

async function listen(tools: Parameters<typeof listenMcp>[0]["tools"], token = "a"): Promise<ListeningMcp> {
  const server = await listenMcp({
    tools: tools ?? [],
    authorize: (request) =>
      request.headers.get("authorization") === `Bearer ${token}` ? { id: "me", door: "test" } : null,
  });
  closing.push(() => server.close());
  return server;
}

describe("McpService", () => {
  it("MCP-05 MCP-04 asks its refresher before every operation and takes what it gives", async () => {
    const [first, second] = [await listen([who("first")], "a"), await listen([who("second")], "b")];
    const answers = [undefined, { url: second.url, headers: { Authorization: "Bearer b" } }, undefined];
    let asked = 0;
    const { call, events } = serviceOf({
      url: first.url,
      headers: { Authorization: "Bearer a" },
      refresh: () => Promise.resolve(answers[asked++]),
    });
    const said = [await call(), await call(), await call()].map((outcome) => JSON.stringify(outcome));
    expect(said[0]).toContain("first");
    expect(said[1]).toContain("second");
    expect(said[2]).toContain("second");
    expect(asked).toBe(3);
    expect(events.filter(({ type }) => type === "bootstrap.finished")).toHaveLength(2);
  });

  it("MCP-05 keeps the old connection when the refresher fails, or what it gives cannot be reached", async () => {
    const server = await listen([who("still here")]);
    let asked = 0;
    const { call, events } = serviceOf({
      url: server.url,
      headers: { Authorization: "Bearer a" },
      refresh: () => {
        asked += 1;
        if (asked === 1) return Promise.resolve(undefined);
        if (asked === 2) return Promise.reject(new Error("no token"));
        return Promise.resolve({ headers: { Authorization: "Bearer wrong" } });
      },
    });
    for (let round = 0; round < 3; round += 1) expect(JSON.stringify(await call())).toContain("still here");
    expect(events.filter(({ type }) => type === "server.failed")).toHaveLength(2);
    expect(JSON.stringify(events)).toContain("The old connection stays: no token");
  });

  it("MCP-07 lets calls under way finish on the old connection while a new one takes its place", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: held, resolve: release } = Promise.withResolvers<string>();
    const slow = tool({
      name: "slow",
      description: "Waits.",
      input: any,
      execute: () => {
        begin();
        return held;
      },
    });
    const { service, call, events } = serviceOf({ server: inProcessServer([slow, who("me")]) });
    const waiting = call("slow");
    await begun;
    const before = service.connection;
    await service.reconnect(never);
    expect(service.connection).not.toBe(before);
    expect(before?.isEnded).toBe(false);
    expect(JSON.stringify(await call())).toContain("me");
    release("finished");
    expect(JSON.stringify(await waiting)).toContain("finished");
    await expect.poll(() => before?.isEnded).toBe(true);
    expect(events.filter(({ type }) => type === "server.connected")).toHaveLength(2);
  });

  it("MCP-07 keeps a connection when no new one can be made", async () => {
    let broken = false;
    const inner = inProcessServer([who("me")]);
    const server = { ...inner, connect: () => (broken ? Promise.reject(new Error("no more")) : inner.connect()) };
    const { service, call } = serviceOf({ server });
    await service.connect(never);
    broken = true;
    await expect(service.reconnect(never)).rejects.toThrow("no more");
    expect(JSON.stringify(await call())).toContain("me");
  });

  it("MCP-06 connects again at most three times, each after a longer wait", async () => {
    let attempts = 0;
    const server = {
      type: "mcp-in-process" as const,
      connect: () => {
        attempts += 1;
        return Promise.reject(new Error("nobody home"));
      },
    };
    const { call } = serviceOf({ server });
    expect(await call()).toMatchObject({
      type: "failed",
      message: expect.stringContaining("nobody home"),
      again: false,
    });
    expect(attempts).toBe(3);
  });

  it("MCP-06 tells what was not sent from what was", async () => {
    const server: Server = createServer((request) => request.socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const broken = await fetch(url, { method: "POST", body: "x" }).catch((error: unknown) => error);
    await new Promise((resolve) => server.close(resolve));
    const refused = await fetch(url, { method: "POST", body: "x" }).catch((error: unknown) => error);
    expect([wasNotSent(broken), wasNotSent(refused)]).toEqual([false, true]);
    expect(wasNotSent(new Error("x", { cause: new NotSent("y") }))).toBe(true);
    const cyclic = new Error("a");
    cyclic.cause = cyclic;
    expect(wasNotSent(cyclic)).toBe(false);
  });

  it("MCP-08 switched off it refuses calls and lets those under way finish", async () => {
    const { service, call } = serviceOf({ server: inProcessServer([who("me")]) });
    await service.connect(never);
    service.toggle(false);
    expect(await call()).toMatchObject({ type: "failed", message: "MCP server own is switched off" });
    expect(service.tools).toEqual([]);
    service.toggle(true);
    expect(JSON.stringify(await call())).toContain("me");
  });
});

describe("guardedFetch", () => {
  it("G21 follows no redirect to another origin and reaches no private address for a public server", async () => {
    const to = await listen([who("x")]);
    const from: Server = createServer((_request, response) => response.writeHead(302, { location: to.url }).end());
    await new Promise<void>((resolve) => from.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => from.close(resolve)));
    const url = `http://127.0.0.1:${(from.address() as AddressInfo).port}/`;
    await expect(guardedFetch(new URL(url))(url)).rejects.toThrow("which is not followed");
    const outside = guardedFetch(new URL("https://203.0.113.7/mcp"));
    for (const inside of [
      "https://169.254.169.254/x",
      "https://10.0.0.1/",
      "https://[::1]/",
      "https://[::ffff:127.0.0.1]/",
      "https://localhost/",
    ])
      await expect(outside(inside)).rejects.toThrow("is on a private network");
    await expect(outside("http://203.0.113.8/")).rejects.toThrow("is not reached over https");
  });
});
