/** All servers of one configuration: connected when needed, listed, checked, switched, closed together. */

import { CapstanError, type Clock, systemClock, type Tool } from "@capstan/core";
import type { GetPromptResult, Prompt, ReadResourceResult, Resource } from "@modelcontextprotocol/client";
import { secretsIn } from "./config/config-secrets.ts";
import { normalizeServers } from "./config/normalize-servers.ts";
import type { ConfigProblem, McpServerConfig } from "./config/server-config.ts";
import type { Answering, Sampling } from "./connect/answer-requests.ts";
import type { ServerAuth } from "./connect/open-transport.ts";
import { McpService, type ServiceStatus } from "./connect/service.ts";
import type { McpListener } from "./mcp-event.ts";
import type { McpHooks } from "./mcp-hooks.ts";
import { type ApprovedDefinitions, rememberedDefinitions } from "./tools/approved-definitions.ts";
import { AskingBoard } from "./tools/asking.ts";
import { remoteTool } from "./tools/remote-tool.ts";

export type McpClientOptions = {
  /**
   * Servers in any common shape: an object by name, a list, one server, or the content of a file such as `.mcp.json`.
   * Throws `config-invalid` for what cannot be used; `normalizeServers` says what that is without throwing.
   */
  readonly servers: unknown;
  readonly hooks?: McpHooks;
  readonly onEvent?: McpListener;
  /** Signs requests to a server: `mcpAuth(...)`. */
  readonly auth?: (server: McpServerConfig, onSecret: (secret: string) => void) => ServerAuth | undefined;
  /** Folders that servers are told of. Deprecated by the specification; off unless given. */
  readonly roots?: readonly string[];
  /** Answers servers that ask for a model. Deprecated by the specification; off unless given. */
  readonly sampling?: Sampling;
  /** Where approved definitions are kept. Default: in memory. */
  readonly approved?: ApprovedDefinitions;
  /** Values for `${NAME}` in the configuration. Default: those of this process's environment. */
  readonly variables?: (name: string) => string | undefined;
};

export type ServerInfo = {
  readonly name: string;
  readonly transport: McpServerConfig["transport"]["type"];
  readonly status: ServiceStatus;
  /** Tools it offers, by their names at the server. */
  readonly tools: readonly string[];
  readonly disclosure: McpServerConfig["disclosure"];
  readonly failure?: string;
  /** Revision of the protocol that is spoken with it. */
  readonly revision?: string;
};

export class McpClient implements AsyncDisposable {
  readonly #services: ReadonlyMap<string, McpService>;
  readonly #hooks: McpHooks;
  readonly #board = new AskingBoard();
  readonly #answering: Omit<Answering, "elicit">;
  readonly #approved: ApprovedDefinitions;
  /** Servers that failed once: no run waits for them again. */
  readonly #failedBefore = new Set<string>();
  readonly #warm = new Set<Promise<void>>();
  #stop = new AbortController();
  readonly #secrets = new Set<string>();
  readonly #onSecret = new Set<(secret: string) => void>();
  /** What was left out of the configuration, and what was not taken over from it. */
  readonly problems: readonly ConfigProblem[];

  constructor(options: McpClientOptions, clock: Clock = systemClock) {
    const variables = options.variables ?? ((name: string) => process.env[name]);
    const { servers, problems } = normalizeServers(options.servers, { variables });
    const fatal = problems.filter((problem) => problem.fatal);
    if (fatal.length > 0) throw new CapstanError("config-invalid", `MCP servers: ${fatal.map(said).join("; ")}`);
    this.problems = problems;
    this.#hooks = options.hooks ?? {};
    this.#approved = options.approved ?? rememberedDefinitions();
    const { roots, sampling, auth, onEvent: listener } = options;
    this.#answering = { ...(roots !== undefined && { roots }), ...(sampling !== undefined && { sampling }) };
    const answering: Answering = {
      ...this.#answering,
      elicit: (server, question) => this.#board.ask(server, question),
    };
    const onSecrets = (secrets: readonly string[]): void => secrets.forEach((secret) => this.#tellSecret(secret));
    for (const { transport } of servers) onSecrets(secretsIn(transport));
    const parts = { clock, answering, hooks: this.#hooks, listener, onSecrets };
    const service = (server: McpServerConfig): McpService =>
      new McpService(server, { ...parts, auth: () => auth?.(server, (secret) => this.#tellSecret(secret)) });
    this.#services = new Map(servers.map((server) => [server.name, service(server)]));
  }

  /** Servers of the configuration, those that are switched off too. */
  get count(): number {
    return this.#services.size;
  }

  get servers(): readonly McpServerConfig[] {
    return Array.from(this.#services.values(), ({ config }) => config);
  }

  list(): readonly ServerInfo[] {
    return Array.from(this.#services.values(), (service) => {
      const { config, status, tools, failure, connection } = service;
      const revision = connection?.revision;
      return {
        name: config.name,
        transport: config.transport.type,
        status,
        tools: tools.map(({ name }) => name),
        disclosure: config.disclosure,
        ...(failure !== undefined && { failure }),
        ...(revision !== undefined && { revision }),
      };
    });
  }

  /**
   * Connects every server that is not. Resolves when each is connected or has failed; a server that failed before is
   * tried without being waited for.
   */
  async connect(signal: AbortSignal = this.#stop.signal): Promise<void> {
    const waited = [...this.#services.values()].flatMap((service) => {
      const { name } = service.config;
      if (service.status === "off") return [];
      const trying = this.#try(service, signal);
      return this.#failedBefore.has(name) ? [] : [trying];
    });
    await Promise.all(waited);
  }

  /** Begins to connect and does not wait: what is slow is under way before a run needs it. */
  warmUp(): void {
    void this.connect();
  }

  /** The tools of all connected servers, as they are now. */
  tools(): readonly Tool[] {
    return [...this.#services.values()].flatMap((service) => {
      const parts = {
        service,
        hooks: this.#hooks,
        board: this.#board,
        answering: this.#answering,
        approved: this.#approved,
      };
      const { disclosure } = service.config;
      return service.tools.map((tool) => {
        const made = remoteTool(tool, parts);
        return disclosure === "lazy" ? Object.freeze({ ...made, hidden: true as const }) : made;
      });
    });
  }

  /** Throws `mcp-failed` when it cannot be connected; the connection there was then stays. */
  async reconnect(name: string, signal: AbortSignal = this.#stop.signal): Promise<void> {
    await this.#service(name).reconnect(signal);
    this.#failedBefore.delete(name);
  }

  /** Switches a server off or on for this client. */
  toggle(name: string, enabled: boolean): void {
    this.#service(name).toggle(enabled);
    this.#failedBefore.delete(name);
  }

  /** Asks every server that is not switched off for a sign of life; connects those that are not connected. */
  async health(signal: AbortSignal = this.#stop.signal): Promise<Readonly<Record<string, boolean>>> {
    const services = [...this.#services.values()].filter(({ status }) => status !== "off");
    const checked = await Promise.all(
      services.map(async (service) => [service.config.name, await service.check(signal)] as const),
    );
    return Object.fromEntries(checked);
  }

  async resources(name: string, signal: AbortSignal = this.#stop.signal): Promise<readonly Resource[]> {
    return (await this.#service(name).ready(signal)).resources(signal);
  }

  async readResource(name: string, uri: string, signal: AbortSignal = this.#stop.signal): Promise<ReadResourceResult> {
    return (await this.#service(name).ready(signal)).readResource(uri, signal);
  }

  async prompts(name: string, signal: AbortSignal = this.#stop.signal): Promise<readonly Prompt[]> {
    return (await this.#service(name).ready(signal)).prompts(signal);
  }

  async prompt(
    name: string,
    prompt: string,
    given: { readonly [name: string]: string } = {},
    signal: AbortSignal = this.#stop.signal,
  ): Promise<GetPromptResult> {
    return (await this.#service(name).ready(signal)).prompt(prompt, given, signal);
  }

  /** What connected servers say about how to use them. */
  instructions(): readonly { readonly server: string; readonly text: string }[] {
    return [...this.#services.values()].flatMap(({ config, connection }) => {
      const text = connection?.instructions;
      return text === undefined || text === "" ? [] : [{ server: config.name, text }];
    });
  }

  /** Whether a connected server has resources or prompts. */
  offers(name: string, what: "resources" | "prompts"): boolean {
    return this.#service(name).connection?.offers(what) ?? false;
  }

  /** Told of every credential that is used, those of before too: they are to enter no log, stream or error. */
  onSecret(listener: (secret: string) => void): void {
    this.#onSecret.add(listener);
    for (const secret of this.#secrets) listener(secret);
  }

  /** Ends all connections, and what is under way. The next use connects again. */
  async disconnect(): Promise<void> {
    this.#stop.abort(new CapstanError("closed", "The MCP client was closed"));
    await Promise.all(Array.from(this.#services.values(), (service) => service.disconnect()));
    await Promise.all(this.#warm);
    this.#stop = new AbortController();
  }

  /** For good. */
  async close(): Promise<void> {
    this.#stop.abort(new CapstanError("closed", "The MCP client was closed"));
    await Promise.all(Array.from(this.#services.values(), (service) => service.close()));
    await Promise.all(this.#warm);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #tellSecret(secret: string): void {
    if (this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    for (const listener of this.#onSecret) listener(secret);
  }

  async #try(service: McpService, signal: AbortSignal): Promise<void> {
    const { name } = service.config;
    const trying = service.connect(signal).then(
      () => void this.#failedBefore.delete(name),
      () => void this.#failedBefore.add(name), // the service has told it
    );
    this.#warm.add(trying);
    await trying;
    this.#warm.delete(trying);
  }

  #service(name: string): McpService {
    const service = this.#services.get(name);
    if (service !== undefined) return service;
    const names = [...this.#services.keys()].join(", ") || "none";
    throw new CapstanError("usage", `There is no MCP server ${JSON.stringify(name)}; there are: ${names}`);
  }
}

/** A client of its own, without a runtime: the caller closes it. */
export function mcpClient(options: McpClientOptions): McpClient {
  return new McpClient(options);
}

function said({ server, message }: ConfigProblem): string {
  return server === undefined ? message : `${server}: ${message}`;
}
