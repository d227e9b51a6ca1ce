/** A whole sign-in: discovery, registration, browser, code, tokens, refresh, against a small authorization server of ours. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256, tool } from "@capstan/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { normalizeServers } from "../config/normalize-servers.ts";
import { mcpClient } from "../mcp-client.ts";
import { listenMcp, type ListeningMcp } from "../serve/listen.ts";
import { loginMcp, logoutMcp } from "./login.ts";
import { mcpAuth } from "./oauth-provider.ts";

const never = new AbortController().signal;
const echo = tool({ name: "echo", description: "Says it again.", input: z.object({}), execute: () => "ok" });

let folder: string;
let authority: Server;
let issuer: string;
let server: ListeningMcp;
let granted: string[];
let lastChallenge = "";
let refusesRefresh = false;
const requests: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-login-"));
  granted = [];
  refusesRefresh = false;
  requests.length = 0;
  authority = createServer((request, response) => {
    const url = new URL(request.url ?? "/", issuer);
    requests.push(`${request.method} ${url.pathname}`);
    const json = (value: object, status = 200): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      switch (url.pathname) {
        case "/resource":
          return json({ resource: server.url, authorization_servers: [issuer] });
        case "/.well-known/oauth-authorization-server":
          return json({
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            registration_endpoint: `${issuer}/register`,
            response_types_supported: ["code"],
            code_challenge_methods_supported: ["S256"],
            token_endpoint_auth_methods_supported: ["none"],
            authorization_response_iss_parameter_supported: true,
          });
        case "/register":
          return json({ ...(JSON.parse(body) as object), client_id: "client-1" }, 201);
        case "/authorize": {
          lastChallenge = url.searchParams.get("code_challenge") ?? "";
          const back = new URL(url.searchParams.get("redirect_uri") ?? "");
          back.searchParams.set("code", "code-1");
          back.searchParams.set("state", url.searchParams.get("state") ?? "");
          back.searchParams.set("iss", issuer);
          return void response.writeHead(302, { location: back.href }).end();
        }
        case "/token": {
          const given = new URLSearchParams(body);
          if (given.get("grant_type") === "refresh_token" && refusesRefresh)
            return json({ error: "invalid_grant" }, 400);
          const verifier = given.get("code_verifier") ?? "";
          const proven = Buffer.from(sha256(verifier), "hex").toString("base64url") === lastChallenge;
          if (given.get("grant_type") === "authorization_code" && !proven) return json({ error: "invalid_grant" }, 400);
          granted.push(`token-${granted.length + 1}-of-the-server`);
          return json({
            access_token: granted.at(-1),
            token_type: "Bearer",
            expires_in: 3_600,
            refresh_token: "refresh-of-the-server",
          });
        }
        default:
          return json({}, 404);
      }
    });
  });
  await new Promise<void>((resolve) => authority.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(authority.address() as AddressInfo).port}`;
  server = await listenMcp({
    tools: [echo],
    resourceMetadata: `${issuer}/resource`,
    authorize: (request) => {
      const token = request.headers.get("authorization")?.slice("Bearer ".length);
      return token !== undefined && token === granted.at(-1) ? { id: "somebody", door: "mcp-http" } : null;
    },
  });
});
afterEach(async () => {
  await server.close();
  authority.closeAllConnections();
  await new Promise((resolve) => authority.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

const configOf = () => normalizeServers({ remote: { url: server.url } }).servers[0]!;
async function browser(page: URL): Promise<void> {
  const answered = await fetch(page, { redirect: "manual" });
  await answered.text();
  const back = await fetch(answered.headers.get("location") ?? "");
  expect(await back.text()).toContain("You can close this page");
}
const connect = async (onSecret?: (secret: string) => void) => {
  const client = mcpClient({ servers: { remote: { url: server.url } }, auth: mcpAuth({ folder }) });
  if (onSecret !== undefined) client.onSecret(onSecret);
  await client.connect();
  const [info] = client.list();
  await client.close();
  return info;
};

describe("loginMcp", () => {
  it("MCP-14 says that a sign-in is needed, signs in, keeps the tokens privately and uses them", async () => {
    expect(await connect()).toMatchObject({
      status: "failed",
      failure: expect.stringContaining("capstan mcp login remote"),
    });
    expect(await loginMcp(configOf(), { folder, show: browser, signal: never })).toBe("signed-in");
    const secrets: string[] = [];
    expect(await connect((secret) => secrets.push(secret))).toMatchObject({ status: "ready", tools: ["echo"] });
    expect(secrets).toEqual(["token-1-of-the-server", "refresh-of-the-server"]);
    const [file = ""] = await readdir(folder);
    expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("MCP-14 makes tokens new that have ended, without a person", async () => {
    await loginMcp(configOf(), { folder, show: browser, signal: never });
    granted.push("another");
    const info = await connect();
    expect(info).toMatchObject({ status: "ready" });
    expect(granted).toHaveLength(3);
  });

  it("MCP-14 shows one page when the tokens there are cannot be made new, and none when they can", async () => {
    await loginMcp(configOf(), { folder, show: browser, signal: never });
    let pages = 0;
    const counted = (page: URL): Promise<void> => {
      pages += 1;
      return browser(page);
    };
    expect(await loginMcp(configOf(), { folder, show: counted, signal: never })).toBe("already");
    expect(pages).toBe(0);
    refusesRefresh = true;
    expect(await loginMcp(configOf(), { folder, show: counted, signal: never })).toBe("signed-in");
    expect(pages).toBe(1);
    expect(await connect()).toMatchObject({ status: "ready" });
  });

  it("MCP-14 refuses an answer with another state or another issuer", async () => {
    for (const [name, value] of [
      ["state", "forged"],
      ["iss", "https://evil.example"],
    ] as const) {
      const forge = async (page: URL): Promise<void> => {
        const answered = await fetch(page, { redirect: "manual" });
        const back = new URL(answered.headers.get("location") ?? "");
        back.searchParams.set(name, value);
        await (await fetch(back)).text();
      };
      await expect(loginMcp(configOf(), { folder, show: forge, signal: never })).rejects.toMatchObject({
        code: "mcp-failed",
      });
    }
    expect(granted).toEqual([]);
  });

  it("MCP-14 ends with its signal, forgets what it is told to, and refuses damaged files", async () => {
    const stop = new AbortController();
    const login = loginMcp(configOf(), { folder, show: () => stop.abort(new Error("left")), signal: stop.signal });
    await expect(login).rejects.toThrow("left");
    expect(await logoutMcp(configOf(), folder)).toBe(true);
    expect(await logoutMcp(configOf(), folder)).toBe(false);
    await loginMcp(configOf(), { folder, show: browser, signal: never });
    const [file = ""] = await readdir(folder);
    await writeFile(join(folder, file), "{");
    expect(await connect()).toMatchObject({ status: "failed", failure: expect.stringContaining("cannot be read") });
    expect(await readFile(join(folder, file), "utf8")).toBe("{");
  });

  it("MCP-14 has nothing to do for programs of this machine", async () => {
    const [local] = normalizeServers({ local: { command: "x" } }).servers;
    await expect(loginMcp(local!, { folder, show: browser, signal: never })).rejects.toMatchObject({ code: "usage" });
  });
});
