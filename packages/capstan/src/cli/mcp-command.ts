/** `capstan mcp`: the MCP servers that agents get their tools from: lists, adds, removes, tests them, and signs in to them. */

import { mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { CapstanError, messageOf, systemClock, systemIds } from "@capstan/core";
import type { McpServerConfig } from "@capstan/mcp";
import type { Config } from "../config.ts";
import { makePrivateFolder } from "../home-folders.ts";
import { trustOf, type Trust, type TrustOptions } from "../trust.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { foundServers, type FoundServer, mcpFile, signInFolder } from "./mcp-servers.ts";
import { type Screen, screen as newScreen } from "./screen.ts";
import { isOfAgent } from "./trust-command.ts";

export type AddFlags = {
  readonly env: readonly string[];
  readonly header: readonly string[];
  readonly transport?: string;
  readonly lazy?: boolean;
};
export type LoginFlags = { readonly clientId?: string; readonly scope?: string; readonly port?: number };

const ids = systemIds(() => systemClock.now());

/** Lists what is configured and starts nothing. */
export async function listServers(config: Config | undefined, flags: { readonly json?: boolean }): Promise<number> {
  const screen = newScreen();
  const { servers } = await configured(screen, config);
  if (servers.length === 0)
    screen.note("There are no MCP servers here. Add one with: capstan mcp add <name> <command or URL>");
  for (const { server, from } of servers) {
    const where = whereOf(server);
    if (flags.json === true)
      screen.data(
        JSON.stringify({ name: server.name, from, enabled: server.enabled, transport: server.transport.type, where }),
      );
    else
      screen.data(
        inertLine(`${server.name}  ${server.transport.type}  ${from}${server.enabled ? "" : "  off"}  ${where}`),
      );
  }
  await screen.flush();
  return EXIT.done;
}

/** Writes a server into the user's own file. Throws `usage`. */
export async function addServer(name: string, words: readonly string[], flags: AddFlags): Promise<number> {
  refuseAgents();
  const screen = newScreen();
  const { normalizeServers } = await import("@capstan/mcp");
  const [first = "", ...args] = words;
  const isUrl = /^https?:\/\//.test(first);
  const entry = {
    ...(flags.transport !== undefined && { type: flags.transport }),
    ...(isUrl ? { url: first } : { command: first, args }),
    ...(flags.env.length > 0 && { env: pairs(flags.env, "=", "--env NAME=value") }),
    ...(flags.header.length > 0 && { headers: pairs(flags.header, ":", "--header 'Name: value'") }),
    ...(flags.lazy === true && { disclosure: "lazy" }),
  };
  const { servers, problems } = normalizeServers(
    { [name]: entry },
    { variables: (variable) => process.env[variable] ?? "" },
  );
  const [problem] = problems.filter(({ fatal }) => fatal);
  const [server] = servers;
  if (problem !== undefined || server === undefined)
    throw usage(`The server cannot be added: ${problem?.message ?? name}`);
  await changeServers((all) => {
    if (Object.hasOwn(all, server.name)) throw usage(`There is a server ${server.name} already; remove it first`);
    return { ...all, [server.name]: entry };
  });
  screen.data(inertLine(`Added ${server.name} to ${mcpFile(process.env)}.`));
  screen.note(`See what it offers with: capstan mcp test ${server.name}`);
  await screen.flush();
  return EXIT.done;
}

/** Takes a server out of the user's own file. Throws `usage` when it is not there. */
export async function removeServer(name: string): Promise<number> {
  refuseAgents();
  const screen = newScreen();
  await changeServers((all) => {
    const { [name]: _removed, ...rest } = all;
    if (!Object.hasOwn(all, name)) throw usage(`There is no server ${JSON.stringify(name)} in ${mcpFile(process.env)}`);
    return rest;
  });
  screen.data(inertLine(`Removed ${name}.`));
  await screen.flush();
  return EXIT.done;
}

/** Connects to one server or all, shows what they offer, and ends with 1 when one cannot be reached. */
export async function testServers(config: Config | undefined, name: string | undefined): Promise<number> {
  const screen = newScreen();
  const { servers } = await configured(screen, config);
  const tested = name === undefined ? servers.filter(({ server }) => server.enabled) : [named(servers, name)];
  const { mcpClient, mcpAuth } = await import("@capstan/mcp");
  let failed = false;
  await using client = mcpClient({
    servers: tested.map(({ server }) => ({ ...server, enabled: true })),
    auth: mcpAuth({ folder: signInFolder(process.env, config?.dataFolder) }),
    onEvent: (event) => {
      if (event.type === "tool.noticed") screen.note(`  ! ${inertLine(`${event.server}: ${event.message}`)}`, "yellow");
    },
  });
  await client.connect();
  for (const { name: server, status, tools, failure, revision } of client.list()) {
    if (status === "ready") {
      screen.data(inertLine(`${server}: ok, MCP ${revision}, ${tools.length} tools`));
      for (const tool of tools) screen.data(`  ${inertLine(`mcp:${server}/${tool}`)}`);
    } else {
      failed = true;
      screen.data(inertLine(`${server}: ${failure ?? status}`));
    }
  }
  if (tested.length === 0) screen.note("There are no MCP servers here.");
  await screen.flush();
  return failed ? EXIT.failed : EXIT.done;
}

/** Signs in to a server in the browser. */
export async function loginServer(config: Config | undefined, name: string, flags: LoginFlags): Promise<number> {
  refuseAgents();
  const screen = newScreen();
  const { server } = named((await configured(screen, config)).servers, name);
  const { loginMcp } = await import("@capstan/mcp");
  const secret = process.env["CAPSTAN_MCP_CLIENT_SECRET"]; // a command line is read by others
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new CapstanError("interrupted", "The sign-in was interrupted"));
  process.once("SIGINT", onSignal);
  try {
    const done = await loginMcp(server, {
      folder: signInFolder(process.env, config?.dataFolder),
      show: (page) => screen.note(`Open this page and sign in:\n\n  ${inertLine(page.href)}\n`),
      signal: stop.signal,
      ...(flags.scope !== undefined && { scope: flags.scope }),
      ...(flags.port !== undefined && { port: flags.port }),
      ...(flags.clientId !== undefined && { client: { id: flags.clientId, ...(secret !== undefined && { secret }) } }),
    });
    screen.data(
      inertLine(done === "already" ? `You are signed in to ${name} already.` : `You are signed in to ${name}.`),
    );
  } finally {
    process.removeListener("SIGINT", onSignal);
  }
  await screen.flush();
  return EXIT.done;
}

/** Forgets a sign-in. */
export async function logoutServer(config: Config | undefined, name: string): Promise<number> {
  const screen = newScreen();
  const { server } = named((await configured(screen, config)).servers, name);
  const { logoutMcp } = await import("@capstan/mcp");
  const done = await logoutMcp(server, signInFolder(process.env, config?.dataFolder));
  screen.data(inertLine(done ? `The sign-in to ${name} is forgotten.` : `There was no sign-in to ${name}.`));
  await screen.flush();
  return EXIT.done;
}

async function configured(
  screen: Screen,
  config: Config | undefined,
): Promise<{ readonly servers: readonly FoundServer[] }> {
  const options: TrustOptions = config?.dataFolder === undefined ? {} : { dataFolder: config.dataFolder };
  const trust: Trust = await trustOf(process.cwd(), options);
  const { servers, notes } = await foundServers(trust);
  for (const { line, verbose } of notes) screen.note(`  ${verbose ? "·" : "!"} ${line}`, verbose ? "dim" : "yellow");
  if (trust.state !== "trusted" && trust.files.includes(".mcp.json"))
    screen.note(
      "  ! .mcp.json of this folder is not used: you have not trusted the folder, see capstan trust",
      "yellow",
    );
  return { servers };
}

function named(servers: readonly FoundServer[], name: string): FoundServer {
  const found = servers.find(({ server }) => server.name === name);
  if (found !== undefined) return found;
  const names = servers.map(({ server }) => server.name).join(", ") || "none";
  throw usage(`There is no MCP server ${JSON.stringify(name)}; there are: ${names}`);
}

/** Names the command or the address, never values of variables or headers. */
function whereOf({ transport }: McpServerConfig): string {
  switch (transport.type) {
    case "stdio":
      return [transport.command, ...transport.args].join(" ");
    case "http":
    case "sse": {
      const { origin, pathname } = new URL(transport.url);
      return origin + pathname; // what comes behind may be a secret
    }
    case "in-process":
      return "in this process";
    default:
      return transport satisfies never;
  }
}

/** A program that an agent starts must not give the next one servers or sign-ins. */
function refuseAgents(): void {
  if (!isOfAgent()) return;
  throw new CapstanError("permission-denied", "This is for a person to do, not for a command that an agent runs");
}

function pairs(given: readonly string[], mark: string, form: string): { readonly [name: string]: string } {
  return Object.fromEntries(
    given.map((one) => {
      const at = one.indexOf(mark);
      if (at <= 0) throw usage(`Write it as ${form}`);
      return [one.slice(0, at).trim(), one.slice(at + 1).trim()];
    }),
  );
}

type Servers = { readonly [name: string]: unknown };

/** The file is private and replaced whole; one that cannot be read is left as it is. */
async function changeServers(change: (servers: Servers) => Servers): Promise<void> {
  const path = mcpFile(process.env);
  await makePrivateFolder(dirname(path));
  await mkdir(dirname(path), { recursive: true });
  const content = await readServers(path);
  const before = content["mcpServers"] ?? {};
  const isMap = typeof before === "object" && !Array.isArray(before);
  // beside `mcpServers` nothing else would be read any more
  if (!isMap || (content["mcpServers"] === undefined && Object.keys(content).length > 0))
    throw new CapstanError(
      "config-invalid",
      `${path}: its servers are not under "mcpServers"; put them there, by name`,
    );
  const changed = { ...content, mcpServers: change(before as Servers) };
  const draft = `${path}.${ids.random()}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(changed, null, 2)}\n`);
    await file.sync();
    await rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

async function readServers(path: string): Promise<Servers> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return {};
    throw new CapstanError("config-invalid", `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Servers;
  } catch (cause) {
    throw new CapstanError("config-invalid", `${path}: not JSON: ${messageOf(cause)}; correct it or move it away`, {
      cause,
    });
  }
  throw new CapstanError(
    "config-invalid",
    `${path}: it must be an object with "mcpServers"; correct it or move it away`,
  );
}
