/** The MCP servers that an editor names: connected for the sessions it names them for, shown to those only, ended with the last. */

import type { McpHook } from "@capstan/acp";
import { hashJson, type Json, plugin, type Plugin, sleep, systemClock, type Tool } from "@capstan/core";
import type * as McpPackage from "@capstan/mcp";
import type { ApprovedDefinitions, McpClient, McpPlugin, McpServerConfig } from "@capstan/mcp";
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
export function editorServers(options: EditorServersOptions): EditorServers {
  const servers = new NamedServers(options);
  const made = plugin({
    name: "editor-mcp",
    tools: () => servers.tools(),
    prepare: (_request, { sessionId }) => {
      const specs = servers
        .toolsOf(sessionId)
        .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
      return specs.length === 0 ? undefined : { tools: specs, breaksPrefix: "the editor named MCP servers" };
    },
    tool: (call, context, next) => {
      if (servers.allows(call.tool, context.sessionId)) return next(call);
      const said = `${call.name} is of a server that the editor did not name for this session`;
      return context.answer(said, { isError: true });
    },
    open: ({ redactor }) => {
      servers.onSecret = (secret) => redactor.add(secret);
      return { [Symbol.asyncDispose]: () => servers.close() };
    },
  });
  return { plugin: made, connect: (given, session) => servers.connect(given, session) };
}

class NamedServers {
  onSecret: (secret: string) => void = () => undefined;
  readonly #options: EditorServersOptions;
  readonly #approved: ApprovedDefinitions;
  /** By what was named: the same for several sessions is connected once. */
  readonly #connected = new Map<string, Connected>();
  readonly #owners = new WeakMap<Tool, Connected>();

  constructor(options: EditorServersOptions) {
    this.#options = options;
    this.#approved = approvedDefinitions(options.dataFolder ?? homeFolders(process.env).data);
  }

  async connect(given: readonly Given[], { id, cwd }: Parameters<McpHook>[1]): Promise<AsyncDisposable> {
    const { log } = this.#options;
    const mcp = await import("@capstan/mcp");
    const { servers, problems } = mcp.normalizeServers(given.map(plainServer), { variables: false, folder: cwd });
    for (const { server = "?", message } of problems) log(`MCP server ${server} of the editor: ${message}`);
    const own = servers.map((server) => {
      const key = hashJson(server as unknown as Json); // plain data: the editor sends no functions
      const one = this.#connected.get(key) ?? this.#add(server, mcp);
      this.#connected.set(key, one);
      one.sessions.add(id);
      return [key, one] as const;
    });
    const ready = Promise.all(own.map(async ([, { client }]) => client.connect()));
    const done = new AbortController();
    await Promise.race([ready, sleep(systemClock, CONNECT_MS, done.signal).catch(() => undefined)]);
    done.abort();
    for (const { name, failure } of own.flatMap(([, { client }]) => client.list()))
      if (failure !== undefined) log(`MCP server ${name} of the editor is not there: ${failure}`);
    return { [Symbol.asyncDispose]: () => this.#leave(own, id) };
  }

  /** Of all sessions, hidden: which of them a session is shown is told by `toolsOf`. */
  tools(): readonly Tool[] {
    for (const { client } of this.#connected.values()) client.warmUp(); // what has changed is read behind this run
    return Array.from(this.#connected.values(), (one) => this.#hiddenTools(one)).flat();
  }

  toolsOf(sessionId: string): readonly Tool[] {
    const own = [...this.#connected.values()].filter(({ sessions }) => sessions.has(sessionId));
    return own.flatMap((one) => this.#hiddenTools(one));
  }

  /** A tool that is not of these servers is no concern of theirs. */
  allows(tool: Tool, sessionId: string): boolean {
    return this.#owners.get(tool)?.sessions.has(sessionId) ?? true;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connected.values(), ({ client }) => client.close()));
  }

  #add(server: McpServerConfig, { hasSameTools, mcpAuth, mcpClient }: typeof McpPackage): Connected {
    const { taken, dataFolder } = this.#options;
    const names = [...taken, ...Array.from(this.#connected.values(), (one) => one.name)];
    const name = freeName(server.name, (free) => names.some((other) => hasSameTools(free, other)));
    const auth = mcpAuth({ folder: signInFolder(process.env, dataFolder) });
    const client = mcpClient({ servers: [{ ...server, name }], auth, approved: this.#approved });
    client.onSecret((secret) => this.onSecret(secret));
    return { client, name, sessions: new Set() };
  }

  #hiddenTools(one: Connected): readonly Tool[] {
    return one.client.tools().map((tool) => {
      const hidden = Object.freeze({ ...tool, hidden: true as const });
      this.#owners.set(hidden, one);
      return hidden;
    });
  }

  async #leave(own: readonly (readonly [string, Connected])[], id: string): Promise<void> {
    for (const [, { sessions }] of own) sessions.delete(id);
    const over = own.filter(([key, { sessions }]) => sessions.size === 0 && this.#connected.delete(key));
    await Promise.all(over.map(([, { client }]) => client.close()));
  }
}

/** Names of the servers that plugins connect. */
export function serversOf(plugins: readonly Plugin[]): readonly string[] {
  return plugins.flatMap((one) => ("client" in one ? (one as McpPlugin).client.servers.map(({ name }) => name) : []));
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
