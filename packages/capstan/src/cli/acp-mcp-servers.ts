/** The MCP servers that an editor names: connected for the sessions it names them for, shown to those only, ended with the last. */

import type { McpHook } from "@capstan/acp";
import {
  CapstanError,
  hashJson,
  type Json,
  messageOf,
  plugin,
  type Plugin,
  sleep,
  systemClock,
  type Tool,
} from "@capstan/core";
import type { McpClient, McpPlugin, McpServerConfig } from "@capstan/mcp";
import { homeFolders } from "../home-folders.ts";
import { approvedDefinitions } from "./mcp-approved.ts";
import { signInFolder } from "./mcp-servers.ts";

export type EditorServers = { readonly plugin: Plugin; readonly connect: McpHook };
export type EditorServersOptions = {
  /** Names of servers that are there already: rules that name those are not about the editor's. */
  readonly taken: readonly string[];
  readonly log: (line: string) => void;
  readonly dataFolder?: string | undefined;
};

/** Named alike by several sessions it is connected once. */
type Connected = { readonly client: McpClient; readonly name: string; readonly sessions: Set<string> };
type Given = Parameters<McpHook>[0][number];

/** How long a new session waits for its servers; slower ones have their tools in a later run. */
const CONNECT_MS = 5_000;

/** The plugin is for the runtime, `connect` for its ACP door. The editor's user named the servers; what they offer asks like all of MCP. */
export function editorServers({ taken, log, dataFolder }: EditorServersOptions): EditorServers {
  const connected = new Map<string, Connected>();
  const owners = new WeakMap<Tool, Connected>();
  const approved = approvedDefinitions(dataFolder ?? homeFolders(process.env).data);
  let addSecret: (secret: string) => void = () => undefined;
  const toolsOf = (one: Connected): readonly Tool[] =>
    one.client.tools().map((tool) => {
      const hidden = Object.freeze({ ...tool, hidden: true as const }); // other sessions are not shown it
      owners.set(hidden, one);
      return hidden;
    });
  const connect: McpHook = async (servers, { id, cwd }) => {
    const { hasSameTools, mcpAuth, mcpClient, normalizeServers } = await import("@capstan/mcp");
    const read = normalizeServers(servers.map(plainServer), { variables: false, folder: cwd });
    for (const { server = "?", message } of read.problems) log(`MCP server ${server} of the editor: ${message}`);
    const auth = mcpAuth({ folder: signInFolder(process.env, dataFolder) });
    const used = (name: string): boolean =>
      [...taken, ...Array.from(connected.values(), (one) => one.name)].some((other) => hasSameTools(name, other));
    const add = (server: McpServerConfig): Connected => {
      const name = freeName(server.name, used);
      const client = mcpClient({ servers: [{ ...server, name }], auth, approved });
      client.onSecret((secret) => addSecret(secret));
      return { client, name, sessions: new Set() };
    };
    const own = read.servers.map((server) => {
      const key = hashJson(server as unknown as Json); // plain data: the editor sends no functions
      const one = connected.get(key) ?? add(server);
      connected.set(key, one);
      one.sessions.add(id);
      return [key, one] as const;
    });
    const ready = Promise.all(own.map(async ([, { client }]) => client.connect()));
    const done = new AbortController();
    await Promise.race([ready, sleep(systemClock, CONNECT_MS, done.signal).catch(() => undefined)]);
    done.abort();
    for (const { name, failure } of own.flatMap(([, { client }]) => client.list()))
      if (failure !== undefined) log(`MCP server ${name} of the editor is not there: ${failure}`);
    return { [Symbol.asyncDispose]: () => leave(own, id, connected) };
  };
  const made = plugin({
    name: "editor-mcp",
    tools: () => {
      for (const { client } of connected.values()) client.warmUp(); // what has changed is read behind this run
      return Array.from(connected.values(), toolsOf).flat();
    },
    prepare: (_request, { sessionId }) => {
      const tools = [...connected.values()].filter(({ sessions }) => sessions.has(sessionId)).flatMap(toolsOf);
      const specs = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
      return specs.length === 0 ? undefined : { tools: specs, breaksPrefix: "the editor named MCP servers" };
    },
    tool: (call, context, next) => {
      const owner = owners.get(call.tool);
      if (owner === undefined || owner.sessions.has(context.sessionId)) return next(call);
      return context.answer(`${call.name} is of a server that the editor did not name for this session`, {
        isError: true,
      });
    },
    open: ({ redactor }) => {
      addSecret = (secret) => redactor.add(secret);
      const close = async (): Promise<void> => {
        await Promise.all(Array.from(connected.values(), ({ client }) => client.close()));
      };
      return { [Symbol.asyncDispose]: close };
    },
  });
  return { plugin: made, connect };
}

/** Names of the servers that plugins connect. */
export function serversOf(plugins: readonly Plugin[]): readonly string[] {
  return plugins.flatMap((one) => ("client" in one ? (one as McpPlugin).client.servers.map(({ name }) => name) : []));
}

async function leave(
  own: readonly (readonly [string, Connected])[],
  id: string,
  connected: Map<string, Connected>,
): Promise<void> {
  for (const [, { sessions }] of own) sessions.delete(id);
  const over = own.filter(([key, { sessions }]) => sessions.size === 0 && connected.delete(key));
  const ends = await Promise.allSettled(over.map(([, { client }]) => client.close()));
  const [failed] = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  if (failed !== undefined) throw new CapstanError("mcp-failed", messageOf(failed), { cause: failed });
}

/** ACP writes variables and headers as lists. */
function plainServer(given: Given): object {
  const record = (list: readonly { readonly name: string; readonly value: string }[]): object =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if ("command" in given) {
    const { name, command, args, env } = given;
    return { name, command, args, env: record(env) };
  }
  const { name, type, url, headers } = given;
  return { name, type, url, headers: record(headers) };
}

function freeName(name: string, used: (name: string) => boolean): string {
  let free = name;
  for (let count = 2; used(free); count += 1) free = `${name.slice(0, 36)}-${count}`;
  return free;
}
