/** Configurations as programs write them, and as nobody should. */

import { describe, expect, it } from "vitest";
import { normalizeServers } from "./normalize-servers.ts";

const variables = (name: string): string | undefined => ({ TOKEN: "t0ken", HOME: "/home/me" })[name];
const transportsOf = (input: unknown) =>
  normalizeServers(input, { variables }).servers.map(({ name, transport }) => ({ name, ...transport }));
const stdio = { type: "stdio", command: "npx", args: ["-y", "server"], env: {}, strictEnv: false };
const http = { type: "http", url: "https://mcp.example/mcp", headers: {} };

describe("normalizeServers", () => {
  it.each([
    ["nothing", undefined, []],
    [".mcp.json", { mcpServers: { a: { command: "npx", args: ["-y", "server"] } } }, [{ name: "a", ...stdio }]],
    [
      "Claude, http",
      { mcpServers: { a: { type: "http", url: http.url, headers: { Authorization: "Bearer ${TOKEN}" } } } },
      [{ name: "a", ...http, headers: { Authorization: "Bearer t0ken" } }],
    ],
    [
      "Cursor",
      { mcpServers: { a: { url: http.url, headers: { X: "${env:TOKEN}" } } } },
      [{ name: "a", ...http, headers: { X: "t0ken" } }],
    ],
    [
      "VS Code",
      { inputs: [], servers: { a: { type: "stdio", command: "npx", args: ["-y", "server"] } } },
      [{ name: "a", ...stdio }],
    ],
    [
      "VS Code settings",
      { mcp: { servers: { a: { type: "sse", url: http.url } } } },
      [{ name: "a", ...http, type: "sse" }],
    ],
    [
      "Zed",
      {
        context_servers: { a: { source: "custom", command: { path: "npx", args: ["-y", "server"], env: { K: "v" } } } },
      },
      [{ name: "a", ...stdio, env: { K: "v" } }],
    ],
    [
      "Zed, flat",
      { context_servers: { a: { command: "npx", args: ["-y", "server"], env: {} } } },
      [{ name: "a", ...stdio }],
    ],
    [
      "Goose",
      {
        extensions: {
          a: { type: "stdio", cmd: "npx", args: ["-y", "server"], envs: { K: "v" }, enabled: true, timeout: 300 },
        },
      },
      [{ name: "a", ...stdio, env: { K: "v" } }],
    ],
    ["Goose, http", { extensions: { a: { type: "streamable_http", uri: http.url } } }, [{ name: "a", ...http }]],
    ["Gemini", { mcpServers: { a: { httpUrl: http.url, timeout: 5_000 } } }, [{ name: "a", ...http }]],
    [
      "Codex",
      { mcp_servers: { a: { url: http.url, bearer_token_env_var: "TOKEN" } } },
      [{ name: "a", ...http, headers: { Authorization: "Bearer t0ken" } }],
    ],
    [
      "OpenCode",
      { mcp: { a: { type: "local", command: ["npx", "-y", "server"], environment: { K: "v" }, enabled: true } } },
      [{ name: "a", ...stdio, env: { K: "v" } }],
    ],
    ["OpenCode, remote", { mcp: { a: { type: "remote", url: http.url } } }, [{ name: "a", ...http }]],
    ["Windsurf", { mcpServers: { a: { serverUrl: http.url } } }, [{ name: "a", ...http }]],
    [
      "Cline",
      { mcpServers: { a: { type: "streamableHttp", url: http.url, disabled: false } } },
      [{ name: "a", ...http }],
    ],
    [
      "a list",
      [
        { name: "a", transport: "streamable-http", url: http.url },
        { name: "b", command: "npx", args: ["-y", "server"] },
      ],
      [
        { name: "a", ...http },
        { name: "b", ...stdio },
      ],
    ],
    [
      "one server",
      { name: "a", transport: "stdio", command: "npx", args: ["-y", "server"] },
      [{ name: "a", ...stdio }],
    ],
    ["a map", { a: { command: "npx", args: ["-y", "server"] } }, [{ name: "a", ...stdio }]],
    [
      "texts",
      { a: "npx -y server", b: http.url },
      [
        { name: "a", ...stdio },
        { name: "b", ...http },
      ],
    ],
    ["sseUrl", { a: { sseUrl: http.url } }, [{ name: "a", ...http, type: "sse" }]],
    [
      "a name that no tool could have",
      { "@scope/My Server": { command: "npx", args: ["-y", "server"] }, "21st": http.url },
      [
        { name: "scope-My-Server", ...stdio },
        { name: "mcp-21st", ...http },
      ],
    ],
  ])("MCP-03 reads the shape of %s", (_name, input, expected) => {
    expect(transportsOf(input)).toEqual(expected);
  });

  it("MCP-03 takes what it gave", () => {
    const { servers } = normalizeServers({
      a: { command: "npx", timeout: 20, tools: { allow: ["x"] }, disclosure: "lazy" },
      b: { url: http.url },
    });
    expect(normalizeServers(servers)).toEqual({ servers, problems: [] });
  });

  it("MCP-10 MCP-09 TOOL-21 reads limits of time, lists of tools and what is shown of them", () => {
    const [server] = normalizeServers({
      a: {
        command: "x",
        startup_timeout_sec: 5,
        tool_timeout_sec: 7,
        disabledTools: ["rm"],
        disclosure: "lazy",
        disabled: true,
      },
    }).servers;
    expect(server).toMatchObject({
      timeouts: { bootstrapMs: 5_000, callMs: 7_000 },
      tools: { deny: ["rm"] },
      disclosure: "lazy",
      enabled: false,
    });
  });

  it.each([
    ["no configuration", "text", "shape-unknown"],
    ["a number for a server", { a: 3 }, "field-invalid"],
    ["no way to reach it", { a: {} }, "transport-unknown"],
    ["two ways to reach it", { a: { command: "x", url: http.url } }, "transport-unknown"],
    ["a transport that is none", { a: { type: "carrier-pigeon", url: http.url } }, "transport-unknown"],
    ["another scheme", { a: { url: "file:///etc/passwd" } }, "field-invalid"],
    ["a password in the URL", { a: { url: "https://me:secret@mcp.example/" } }, "field-invalid"],
    ["a header of two lines", { a: { url: http.url, headers: { X: "a\r\nY: b" } } }, "field-invalid"],
    ["a variable without a value", { a: { command: "x", env: { K: "${NOBODY}" } } }, "variable-missing"],
    ["an input of VS Code", { a: { command: "x", env: { K: "${input:key}" } } }, "variable-missing"],
    ["arguments that are none", { a: { command: "x", args: "-y" } }, "field-invalid"],
    ["both lists of tools", { a: { command: "x", enabledTools: ["a"], disabledTools: ["b"] } }, "field-invalid"],
    ["a name of signs", { "///": { command: "x" } }, "name-invalid"],
    ["no name", [{ command: "x" }], "name-invalid"],
    ["too many", Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`s${at}`, { command: "x" }])), "too-many"],
    ["an empty command", { a: { command: " " } }, "field-invalid"],
    ["too long a text", { a: { command: "x".repeat(40_000) } }, "field-invalid"],
  ])("MCP-03 says what is wrong with %s", (_name, input, code) => {
    const { problems } = normalizeServers(input);
    expect(problems.filter(({ fatal }) => fatal).map((problem) => problem.code)).toContain(code);
    expect(JSON.stringify(problems)).not.toContain("secret");
  });

  it("MCP-02 refuses two servers whose tools could not be told apart", () => {
    const { servers, problems } = normalizeServers({
      "git hub": { command: "x" },
      "git-hub": { command: "y" },
      "Git-Hub": { command: "z" },
    });
    expect(servers.map(({ name }) => name)).toEqual(["git-hub"]);
    expect(problems.map(({ code }) => code)).toEqual(["name-repeated", "name-repeated"]);
  });

  it("MCP-03 says what it does not take over, and takes no consent from a file", () => {
    const { servers, problems } = normalizeServers({ a: { command: "x", autoApprove: ["rm"], envFile: ".env" } });
    expect(servers).toHaveLength(1);
    expect(problems.map(({ code, fatal }) => [code, fatal])).toEqual([
      ["field-ignored", false],
      ["field-ignored", false],
    ]);
  });

  it("MCP-03 MCP-04 puts values in once: what it made is taken as it stands", () => {
    const variables = (name: string): string | undefined =>
      name === "A" ? "x${B}${NONE}" : name === "B" ? "secret" : undefined;
    const input = {
      a: { command: "run", args: ["${A}"], env: { A: "${A}" } },
      b: { url: "https://b.example", headers: { A: "${A}" } },
    };
    const first = normalizeServers(input, { variables, folder: "/project" });
    const again = normalizeServers(
      first.servers.map((server) => ({ ...server, enabled: true })),
      { variables },
    );
    expect([first.problems, again.problems]).toEqual([[], []]);
    expect(again.servers).toEqual(first.servers);
    expect(first.servers.map(({ transport }) => transport)).toMatchObject([
      { args: ["x${B}${NONE}"], env: { A: "x${B}${NONE}" }, cwd: "/project" },
      { headers: { A: "x${B}${NONE}" } },
    ]);
  });
});
