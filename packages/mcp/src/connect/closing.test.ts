/** A service that is closed while others wait for it starts nothing behind their backs. */

import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { normalizeServers } from "../config/normalize-servers.ts";
import { rawServer } from "../__fixtures__/raw-server.ts";
import { mcpClient } from "../mcp-client.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { McpService } from "./service.ts";

const never = new AbortController().signal;

function service(entry: object, secrets: string[] = []): McpService {
  const { servers } = normalizeServers({ own: entry });
  const [config] = servers;
  if (config === undefined) throw new Error("no server");
  return new McpService(config, {
    clock: systemClock,
    answering: { elicit: () => Promise.resolve({ action: "cancel" }) },
    hooks: {},
    listener: undefined,
    auth: undefined,
    onSecrets: (found) => secrets.push(...found),
  });
}

describe("McpService.disconnect", () => {
  it("G10 G11 ends those that wait for their turn, too", async () => {
    let connects = 0;
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const inner = rawServer(({ method }) => (method === "initialize" ? (resolve(), null) : undefined));
    const own = service({ server: { ...inner, connect: () => ((connects += 1), inner.connect()) } });
    const waiting = Promise.allSettled([own.connect(never), own.ready(never), own.ready(never), own.reconnect(never)]);
    await asked;
    await own.disconnect();
    expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "rejected"]);
    expect(connects).toBe(1);
    expect(own.status).not.toBe("ready");
    await own.close();
  });

  it("G10 a signal that has come already starts nothing", async () => {
    let connects = 0;
    const inner = rawServer(() => undefined);
    const own = service({ server: { ...inner, connect: () => ((connects += 1), inner.connect()) } });
    await expect(own.ready(AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
    expect(connects).toBe(0);
    await own.close();
  });
});

describe("credentials", () => {
  it("G23 MCP-05 those of a refresher are told like those of the configuration", async () => {
    const secrets: string[] = [];
    const own = service(
      {
        url: "http://127.0.0.1:9/",
        refresh: () => Promise.resolve({ headers: { Authorization: "Bearer from-refresher" } }),
      },
      secrets,
    );
    await own.ready(never).catch(() => undefined); // nobody is there
    expect(secrets).toContain("from-refresher");
    await own.close();
  });

  it("G23 MCP-04 are found in variables, headers, queries and inside addresses", async () => {
    const client = mcpClient({
      servers: {
        a: {
          command: "x",
          env: { GITHUB_PAT: "pat-value", DATABASE_URL: "postgres://me:db-password@host/db", LANG: "C.UTF-8" },
        },
        b: {
          url: "https://b.example/mcp?api_key=query-key&page=not-secret",
          headers: { Authorization: "Bearer header-token" },
        },
      },
    });
    const [one, two]: string[][] = [[], []];
    client.onSecret((secret) => one?.push(secret));
    client.onSecret((secret) => two?.push(secret));
    expect(one).toEqual(["pat-value", "db-password", "Bearer header-token", "header-token", "query-key"]);
    expect(two).toEqual(one);
    await client.close();
  });
});

describe("guardedFetch", () => {
  it("G21 a server with a public and a private address is no server of this network", async () => {
    const resolve = (host: string) =>
      Promise.resolve(
        host === "evil.example" ? [{ address: "203.0.113.9" }, { address: "127.0.0.1" }] : [{ address: "10.0.0.1" }],
      );
    const get = guardedFetch(new URL("https://evil.example/mcp"), resolve);
    for (const url of [
      "http://169.254.169.254/latest",
      "https://inner.example/",
      "https://[::ffff:127.0.0.1]/",
      "https://[2002:7f00:1::]/",
      "https://[::127.0.0.1]/",
    ])
      await expect(get(url)).rejects.toThrow(/private network|not reached over https/);
  });
});
