/** One live connection to one server: its handshake, its lists, its calls. A connection that ended is not used again. */

import { CapstanError, type Clock, type Json, messageOf } from "@capstan/core";
import type {
  CallToolResult,
  Client,
  ClientOptions,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  Tool as SdkTool,
} from "@modelcontextprotocol/client";
import type { McpServerConfig, RemoteTool } from "../config/server-config.ts";
import { MCP_LIMITS } from "../limits.ts";
import { type Answering, answerRequests } from "./answer-requests.ts";
import { deadline, type Deadline } from "./deadline.ts";
import { type OpenTransport, openTransport, type ServerAuth } from "./open-transport.ts";
import { clientSdk } from "./sdk.ts";
import { shownError } from "../visible-text.ts";
import { VERSION } from "./version.ts";

/** The SDK's own limit: ours, which is longer while a person is asked, comes first. */
const NEVER_MS = 2_000_000_000;

export type ConnectionParts = {
  readonly clock: Clock;
  readonly auth?: ServerAuth | undefined;
  readonly answering: Answering;
  readonly onToolsChanged: () => void;
  /** It was of an older revision before: it is not asked again, which some servers never answer. */
  readonly legacy?: boolean;
};
export type RemoteCall = {
  readonly name: string;
  readonly input: { readonly [name: string]: Json };
  /** Of a call that is sent again with what its server asked for. */
  readonly answers?: { readonly responses: Json; readonly state?: string };
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Given the limit of time, to stop it while a person is asked. */
  readonly limited?: (limit: Pick<Deadline, "pause" | "restart">) => void;
  readonly progress?: (update: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
};

export class Connection {
  readonly #client: Client;
  readonly #transport: OpenTransport;
  readonly #clock: Clock;
  readonly #definitions = new Map<string, SdkTool>();
  #ended: string | undefined;
  #inFlight = 0;
  #retired = false;
  /** Settles with the reason once the connection has ended, whoever ended it. */
  readonly ended: Promise<string>;

  /** Connects and shakes hands within `bootstrapMs`. Throws `CapstanError`: `mcp-login-needed`, else `mcp-failed`. */
  static async open(config: McpServerConfig, parts: ConnectionParts, signal: AbortSignal): Promise<Connection> {
    const limit = deadline(parts.clock, config.timeouts.bootstrapMs, signal, `${config.name} did not answer in time`);
    try {
      return await connected(config, parts, limit, parts.legacy ?? false);
    } finally {
      limit.end();
    }
  }

  constructor(client: Client, transport: OpenTransport, clock: Clock) {
    this.#client = client;
    this.#transport = transport;
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    client.onclose = () => {
      const said = transport.stderr;
      this.#ended ??=
        transport.fault ?? `the connection ended${said === undefined || said === "" ? "" : `: ${lastLine(said)}`}`;
      resolve(this.#ended);
    };
    client.onerror = () => undefined; // what matters of it fails a request
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  get instructions(): string | undefined {
    return this.#client.getInstructions();
  }

  get revision(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  /** Spoken with by the handshake of the revisions before 2026-07-28. */
  get isLegacy(): boolean {
    return this.#client.getProtocolEra() === "legacy";
  }

  offers(what: "resources" | "prompts"): boolean {
    return this.#client.getServerCapabilities()?.[what] !== undefined;
  }

  /** One round trip, at most `MCP_LIMITS.healthMs`. */
  async check(signal: AbortSignal): Promise<void> {
    try {
      await this.#request(MCP_LIMITS.healthMs, signal, (options) =>
        this.#client.getProtocolEra() === "modern" ? this.#client.discover(options) : this.#client.ping(options),
      );
    } catch (error) {
      if (!isAnswer(error)) throw error; // a server that refuses is there
    }
  }

  async tools(timeoutMs: number, signal: AbortSignal): Promise<readonly RemoteTool[]> {
    const { tools } = await this.#request(timeoutMs, signal, (options) => this.#client.listTools(undefined, options));
    const kept = tools.slice(0, MCP_LIMITS.toolsPerServer);
    for (const { outputSchema: _checkedHere, ...tool } of kept) this.#definitions.set(tool.name, tool);
    return kept.map((tool) => ({
      name: tool.name,
      description: tool.description ?? tool.title ?? tool.annotations?.title ?? "",
      inputSchema: tool.inputSchema,
      ...(tool.outputSchema !== undefined && { outputSchema: tool.outputSchema }),
      annotations: {
        readOnly: tool.annotations?.readOnlyHint === true,
        idempotent: tool.annotations?.idempotentHint === true,
      },
    }));
  }

  /** The server's answer as it came: a result, or what it asks for first. Rejects with the SDK's errors. */
  async call(call: RemoteCall): Promise<CallToolResult> {
    const { name, input, answers } = call;
    const definition = this.#definitions.get(name);
    const params = {
      name,
      arguments: { ...input },
      ...(answers !== undefined && { inputResponses: answers.responses }),
      ...(answers?.state !== undefined && { requestState: answers.state }),
    };
    return this.#request(call.timeoutMs, call.signal, (options, limit) => {
      call.limited?.(limit);
      return this.#client.callTool(params, {
        ...options,
        allowInputRequired: true,
        ...(definition !== undefined && { toolDefinition: definition }),
        onprogress: ({ progress, total, message }) => {
          limit.restart();
          call.progress?.({
            progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message }),
          });
        },
      });
    });
  }

  async resources(signal: AbortSignal): Promise<readonly Resource[]> {
    if (!this.offers("resources")) return [];
    const { resources } = await this.#request(MCP_LIMITS.callMs, signal, (options) =>
      this.#client.listResources(undefined, options),
    );
    return resources;
  }

  readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return this.#request(MCP_LIMITS.callMs, signal, (options) => this.#client.readResource({ uri }, options));
  }

  async prompts(signal: AbortSignal): Promise<readonly Prompt[]> {
    if (!this.offers("prompts")) return [];
    const { prompts } = await this.#request(MCP_LIMITS.callMs, signal, (options) =>
      this.#client.listPrompts(undefined, options),
    );
    return prompts;
  }

  prompt(name: string, given: { readonly [name: string]: string }, signal: AbortSignal): Promise<GetPromptResult> {
    return this.#request(MCP_LIMITS.callMs, signal, (options) =>
      this.#client.getPrompt({ name, arguments: { ...given } }, options),
    );
  }

  /** Closes once nothing is under way. Nothing new may begin. */
  retire(): void {
    this.#retired = true;
    this.#closeWhenIdle();
  }

  async close(): Promise<void> {
    this.#ended ??= "it was closed";
    const closed = Promise.allSettled([this.#client.close(), this.#transport.close()]);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const most = MCP_LIMITS.closeMs + MCP_LIMITS.termMs + MCP_LIMITS.killMs;
    const cancel = this.#clock.after(most, resolve);
    await Promise.race([closed, late]);
    cancel();
  }

  async #request<T>(
    ms: number,
    signal: AbortSignal,
    work: (options: { readonly signal: AbortSignal; readonly timeout: number }, limit: Deadline) => Promise<T>,
  ): Promise<T> {
    const limit = deadline(this.#clock, ms, signal, `no answer within ${ms} ms`);
    this.#inFlight += 1;
    try {
      return await Promise.race([work({ signal: limit.signal, timeout: NEVER_MS }, limit), limit.reached]);
    } finally {
      limit.end();
      this.#inFlight -= 1;
      this.#closeWhenIdle();
    }
  }

  #closeWhenIdle(): void {
    if (this.#retired && this.#inFlight === 0) void this.close();
  }
}

async function connected(
  config: McpServerConfig,
  parts: ConnectionParts,
  limit: Deadline,
  legacy: boolean,
): Promise<Connection> {
  const { Client } = await clientSdk();
  const { roots, sampling } = parts.answering;
  const client = new Client(
    { name: "capstan", version: VERSION },
    {
      capabilities: {
        elicitation: { form: {}, url: {} },
        ...(sampling !== undefined && { sampling: {} }),
        ...(roots !== undefined && { roots: {} }),
      },
      versionNegotiation: {
        mode: "auto",
        probe: { timeoutMs: Math.min(MCP_LIMITS.probeMs, config.timeouts.bootstrapMs / 2) },
      },
      inputRequired: { autoFulfill: false },
      listMaxPages: MCP_LIMITS.listPages,
      listChanged: { tools: { autoRefresh: false, onChanged: () => parts.onToolsChanged() } },
      jsonSchemaValidator: acceptAll,
    },
  );
  answerRequests(client, config.name, parts.answering);
  const transport = await Promise.race([openTransport(config.transport, parts), limit.reached]);
  const connection = new Connection(client, transport, parts.clock);
  const options = { signal: limit.signal, timeout: NEVER_MS, ...(legacy && { prior: { kind: "legacy" as const } }) };
  try {
    const connecting = client.connect(transport, options);
    connecting.catch(() => undefined); // when the time is over nobody waits for it
    await Promise.race([connecting, limit.reached]);
    return connection;
  } catch (error) {
    await connection.close();
    await transport.close().catch(() => undefined);
    const retry =
      !legacy && config.transport.type === "stdio" && !limit.signal.aborted && transport.fault === undefined;
    // servers of the older kind may end when they are asked something before their handshake
    if (retry && isGone(error)) return connected(config, parts, limit, true);
    throw connectFailure(config.name, error, transport);
  }
}

/** What a server's result must be is checked here, by `tools/read-result.ts`, and after the call: see there. */
const acceptAll: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }), // of whatever type was asked for
};

/** Whether it is an error that the server sent, with a code of JSON-RPC. */
function isAnswer(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "number";
}

function isGone(error: unknown): boolean {
  const message = messageOf(error);
  return /closed|ended|EPIPE|probe/i.test(message) && !/ENOENT|EACCES/.test(message);
}

function connectFailure(name: string, error: unknown, transport: OpenTransport): CapstanError {
  if (CapstanError.is(error)) return error;
  if (isUnauthorized(error)) {
    return new CapstanError(
      "mcp-login-needed",
      `MCP server ${name} wants a sign-in: run \`capstan mcp login ${name}\``,
      { cause: error },
    );
  }
  const said =
    transport.stderr === undefined || transport.stderr === "" ? "" : `; it said: ${lastLine(transport.stderr)}`;
  const why = shownError(transport.fault ?? messageOf(error), MCP_LIMITS.errorChars);
  return new CapstanError("mcp-failed", `MCP server ${name} cannot be reached: ${why}${said}`, {
    cause: error,
    retryable: true,
  });
}

/** Whether a sign-in is missing or over. */
export function isUnauthorized(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "UnauthorizedError" || error.constructor.name === "UnauthorizedError") return true;
  return "data" in error && (error.data as { readonly status?: unknown } | undefined)?.status === 401;
}

function lastLine(text: string): string {
  return shownError(text.trim().split("\n").at(-1) ?? "", 500);
}
