/**
 * Reads the servers out of any common shape of configuration: `.mcp.json`, and the files of Claude, Cursor, VS Code, Zed,
 * Goose, Gemini, Codex, OpenCode, Windsurf and Cline; a map by name, a list, or one server.
 */

import { resolve } from "node:path";
import { MCP_LIMITS } from "../limits.ts";
import type { InProcessServer } from "../serve/in-process.ts";
import { Fields, type Members, membersOf } from "./read-fields.ts";
import { legalName, stem } from "./server-name.ts";
import type { ConfigProblem, McpServerConfig, McpTransport, Refresher, ToolView } from "./server-config.ts";

export type NormalizedServers = {
  readonly servers: readonly McpServerConfig[];
  readonly problems: readonly ConfigProblem[];
};
export type NormalizeOptions = {
  /** Programs start in it, and their own folders are read from it. Default: as they say, else the present one. */
  readonly folder?: string;
  /** Values for `${NAME}`. Default: none, so that a value that is wanted is a problem. `false`: it is a text like any other. */
  readonly variables?: ((name: string) => string | undefined) | false;
};

/** Members that hold servers, in the order they are looked for. */
const CONTAINERS = ["mcpServers", "mcp_servers", "context_servers", "amp.mcpServers", "extensions", "servers", "mcp"];

/** Never throws. A server with a fatal problem is left out; the others stay. */
export function normalizeServers(
  input: unknown,
  { variables = () => undefined, folder }: NormalizeOptions = {},
): NormalizedServers {
  if (input === undefined || input === null) return { servers: [], problems: [] };
  const problems: ConfigProblem[] = [];
  const entries = entriesOf(input);
  if (entries === undefined) {
    const message = "This is no configuration of MCP servers: give an object of servers by name, or a list";
    return { servers: [], problems: [{ code: "shape-unknown", message, fatal: true }] };
  }
  if (entries.length > MCP_LIMITS.servers) {
    const message = `${entries.length} servers are more than ${MCP_LIMITS.servers}; the others are left out`;
    problems.push({ code: "too-many", message, fatal: true });
  }
  const servers: McpServerConfig[] = [];
  const stems = new Set<string>();
  for (const [given, value] of entries.slice(0, MCP_LIMITS.servers)) {
    const read = oneServer(given, value, variables, problems);
    if (read === undefined) continue;
    const server = folder === undefined ? read : inFolder(read, folder);
    made.add(server.transport);
    if (stems.has(stem(server.name))) {
      const message = `Another server is named ${server.name} too, or so alike that their tools could not be told apart; rename one`;
      problems.push({ code: "name-repeated", server: server.name, message, fatal: true });
      continue;
    }
    stems.add(stem(server.name));
    servers.push(server);
  }
  return { servers, problems };
}

/** Of servers that were read already: what their values hold now is meant as it stands, also where it looks like `${NAME}`. */
const made = new WeakSet<object>();

function inFolder(server: McpServerConfig, folder: string): McpServerConfig {
  const { transport } = server;
  if (transport.type !== "stdio") return server;
  return { ...server, transport: { ...transport, cwd: resolve(folder, transport.cwd ?? ".") } };
}

type Entry = readonly [name: string, value: unknown];

function entriesOf(input: unknown): readonly Entry[] | undefined {
  if (Array.isArray(input)) return input.map((value: unknown) => [nameIn(value), value] as const);
  const members = membersOf(input);
  if (members === undefined) return undefined;
  for (const name of CONTAINERS) {
    const inside = Object.hasOwn(members, name) ? members[name] : undefined;
    if (inside === undefined || (isServer(members) && name !== "mcpServers")) continue;
    if (Array.isArray(inside) || membersOf(inside) !== undefined) return entriesOf(inside);
  }
  if (isServer(members)) return [[nameIn(members), members]];
  return Object.entries(members).filter(([name]) => name !== "inputs" && name !== "$schema");
}

function nameIn(value: unknown): string {
  const name = membersOf(value)?.["name"] ?? membersOf(value)?.["id"];
  return typeof name === "string" ? name : "";
}

/** Whether an object is itself a server: it says how to reach one. */
function isServer(members: Members): boolean {
  return ["command", "cmd", "url", "httpUrl", "sseUrl", "serverUrl", "uri", "server"].some(
    (name) => typeof members[name] === "string" || (name === "command" && Array.isArray(members[name])),
  );
}

function oneServer(
  given: string,
  value: unknown,
  variables: Exclude<NormalizeOptions["variables"], undefined>,
  problems: ConfigProblem[],
): McpServerConfig | undefined {
  const name = legalName(given);
  if (name === undefined) {
    const message =
      given === ""
        ? `A server has no name; give it one`
        : `${JSON.stringify(given.slice(0, 80))} has no letter to make a name of`;
    problems.push({ code: "name-invalid", message, fatal: true });
    return undefined;
  }
  const members = typeof value === "string" ? fromText(value) : flat(membersOf(value));
  if (members === undefined) {
    problems.push({
      code: "field-invalid",
      server: name,
      message: "A server is an object, a command or a URL",
      fatal: true,
    });
    return undefined;
  }
  const ready = membersOf(membersOf(value)?.["transport"]);
  const isMade = ready !== undefined && made.has(ready);
  const fields = new Fields(name, members, isMade || variables === false ? undefined : variables);
  const transport = transportOf(fields);
  const server = transport && withSettings(name, transport, fields);
  problems.push(...fields.problems);
  return fields.problems.some(({ fatal }) => fatal) ? undefined : server;
}

/** A `McpServerConfig`, as this function gives it, with its groups spread out. */
function flat(members: Members | undefined): Members | undefined {
  const transport = membersOf(members?.["transport"]);
  if (members === undefined || transport === undefined) return members;
  const { transport: _spread, timeouts, ...rest } = members;
  return { ...membersOf(timeouts), ...transport, ...rest };
}

/** `"npx -y server"` or `"https://..."`, split at spaces. */
function fromText(value: string): Members {
  if (/^https?:\/\//.test(value)) return { url: value };
  const [command = "", ...args] = value.trim().split(/\s+/);
  return { command, args };
}

function transportOf(fields: Fields): McpTransport | undefined {
  const own = fields.raw("server");
  if (isInProcess(own)) return { type: "in-process", server: own };
  const kind = kindOf(fields);
  if (kind === "stdio") return stdioOf(fields);
  if (kind === undefined) return undefined;
  const url = fields.text("url", "httpUrl", "sseUrl", "serverUrl", "uri");
  if (url === undefined || !isWebUrl(url)) {
    fields.wrong(`"url" must be an http or https URL without user and password in it`);
    return undefined;
  }
  const headers = { ...fields.record("headers", "http_headers", "requestHeaders"), ...bearerOf(fields) };
  if (!Object.entries(headers).every(([name, value]) => isHeader(name, value)))
    fields.wrong(`"headers" has one that cannot be sent`);
  return { type: kind, url, headers };
}

/** Codex names the variable that holds the token. */
function bearerOf(fields: Fields): { readonly [name: string]: string } {
  const name = fields.raw("bearer_token_env_var");
  if (typeof name !== "string") return {};
  const token = fields.variable(name);
  if (token === undefined || token === "") fields.wrong(`the variable ${name} for its token has no value here`);
  return { Authorization: `Bearer ${token ?? ""}` };
}

const HTTP = new Set(["http", "streamable-http", "streamablehttp", "streamable_http", "remote", "url"]);

function kindOf(fields: Fields): "stdio" | "http" | "sse" | undefined {
  const word = fields.raw("transport", "type");
  const said = typeof word === "string" ? word.toLowerCase() : undefined;
  const command = fields.has("command", "cmd");
  const url = fields.has("url", "httpUrl", "sseUrl", "serverUrl", "uri");
  if (command && url) return refuse(fields, `it has a command and a URL; leave one out`);
  if (said === undefined || said === "custom" || said === "extension") {
    if (command) return "stdio";
    if (fields.has("sseUrl")) return "sse";
    return url ? "http" : refuse(fields, `it has neither "command" nor "url"`);
  }
  if (said === "stdio" || said === "local")
    return command ? "stdio" : refuse(fields, `a ${said} server needs "command"`);
  if (said === "sse") return url ? "sse" : refuse(fields, `an sse server needs "url"`);
  if (HTTP.has(said)) return url ? "http" : refuse(fields, `a ${said} server needs "url"`);
  return refuse(fields, `there is no transport ${JSON.stringify(said.slice(0, 40))}; use stdio, http or sse`);
}

function refuse(fields: Fields, message: string): undefined {
  fields.unknownTransport(`How to reach it cannot be told: ${message}`);
}

function stdioOf(fields: Fields): McpTransport | undefined {
  const raw = fields.raw("command", "cmd");
  const inner = membersOf(raw); // Zed: { path, args, env }
  const from = inner === undefined ? fields : fields.inside(inner);
  const line = Array.isArray(raw) ? fields.texts("command", "cmd") : undefined; // OpenCode: the whole line as a list
  const command = line?.[0] ?? (inner === undefined ? fields.text("command", "cmd") : from.text("path", "command"));
  if (command === undefined || command.trim() === "" || command.includes("\0")) {
    fields.wrong(`"command" must name a program`);
    return undefined;
  }
  const args = [...(line?.slice(1) ?? []), ...((inner?.["args"] === undefined ? fields : from).texts("args") ?? [])];
  const env = { ...from.record("env", "envs", "environment"), ...(inner === undefined ? {} : fields.record("env")) };
  if (!Object.entries(env).every(([name, value]) => /^[^=\0]+$/.test(name) && !value.includes("\0")))
    fields.wrong(`"env" has a name or value that cannot be set`);
  const cwd = fields.text("cwd", "workingDirectory");
  if (fields.has("envFile")) fields.ignored(`"envFile" is not read; give the values in "env"`);
  const strictEnv = fields.flag("strictEnv") ?? false;
  return { type: "stdio", command, args, env, strictEnv, ...(cwd !== undefined && { cwd }) };
}

function withSettings(name: string, transport: McpTransport, fields: Fields): McpServerConfig {
  const disabled = fields.flag("disabled") ?? false;
  const enabled = fields.flag("enabled") ?? true;
  const view = membersOf(fields.raw("tools"));
  const lists = view === undefined ? fields : fields.inside(view);
  const allow = lists.texts("allow", "enabledTools", "enabled_tools", "includeTools");
  const deny = lists.texts("deny", "disabledTools", "disabled_tools", "excludeTools");
  const filter = lists.raw("filter", "toolFilter");
  if (allow !== undefined && deny !== undefined)
    fields.wrong("a list of allowed tools and one of denied ones contradict each other; leave one out");
  for (const other of ["autoApprove", "alwaysAllow", "trust"]) {
    if (fields.has(other))
      fields.ignored(`"${other}" is not taken over: allow tools with a permission rule such as mcp:${name}/*`);
  }
  const disclosure = fields.raw("disclosure", "toolDisclosure") ?? "eager";
  if (disclosure !== "eager" && disclosure !== "lazy") fields.wrong(`"disclosure" must be "eager" or "lazy"`);
  const refresh = fields.raw("refresh");
  if (refresh !== undefined && typeof refresh !== "function") fields.wrong(`"refresh" must be a function`);
  const tools: ToolView = {
    ...(allow !== undefined && { allow }),
    ...(deny !== undefined && { deny }),
    ...(typeof filter === "function" && { filter: filter as NonNullable<ToolView["filter"]> }),
  };
  return {
    name,
    transport,
    enabled: enabled && !disabled,
    timeouts: timeoutsOf(fields),
    tools,
    disclosure: disclosure === "lazy" ? "lazy" : "eager",
    trustHints: fields.flag("trustHints") ?? false,
    ...(typeof refresh === "function" && { refresh: refresh as Refresher }),
  };
}

/** Ours and Gemini's in milliseconds; Codex names its seconds, and those of Goose and Cline are too small for anything else. */
function timeoutsOf(fields: Fields): McpServerConfig["timeouts"] {
  const seconds = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1_000);
  const given = fields.positive("timeout");
  const call =
    fields.positive("callMs", "toolTimeout") ??
    seconds(fields.positive("tool_timeout_sec")) ??
    (given !== undefined && given < 1_000 ? seconds(given) : given);
  const bootstrap =
    fields.positive("bootstrapMs", "bootstrapTimeout") ?? seconds(fields.positive("startup_timeout_sec"));
  return {
    bootstrapMs: Math.min(bootstrap ?? MCP_LIMITS.bootstrapMs, MCP_LIMITS.callMaxMs),
    callMs: Math.min(call ?? MCP_LIMITS.callMs, MCP_LIMITS.callMaxMs),
  };
}

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function isHeader(name: string, value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value);
}

function isInProcess(value: unknown): value is InProcessServer {
  return membersOf(value)?.["type"] === "mcp-in-process";
}
