/** One live connection to another agent: its process, the protocol over its standard streams, and what it said it can do. */

import {
  type AgentCapabilities,
  client as acpClient,
  type ClientContext,
  type McpServer,
  methods,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { CapstanError, type Clock, messageOf, sleep } from "@capstan/core";
import { type AcpContentBlock, type AcpSessionUpdate, type AcpStopReason, parseAcpUpdate } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { messageStream } from "../message-stream.ts";
import { AgentProcess, type AgentProgram, type ProcessEnd } from "./agent-process.ts";

export type LinkHandlers = {
  /** In the order in which they came, before the answer behind them is. */
  readonly onUpdate: (sessionId: string, update: AcpSessionUpdate) => void;
  readonly onPermission: (request: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;
};

const CLIENT_INFO = { name: "capstan", title: "Capstan", version: "0.1.0" };
const STOPS: readonly AcpStopReason[] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];

export class AgentLink {
  readonly process: AgentProcess;
  /** Resolves when nothing more can come: the process has ended, or its output has. */
  readonly lost: Promise<ProcessEnd>;
  readonly #agent: ClientContext;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #close: () => void;
  #capabilities: AgentCapabilities = {};

  /** Throws `process-failed` when the program cannot be started or does not answer as an agent. */
  static async open(program: AgentProgram, handlers: LinkHandlers, clock: Clock): Promise<AgentLink> {
    const link = new AgentLink(await AgentProcess.start(program, clock), handlers, clock);
    try {
      await link.#initialize();
      return link;
    } catch (error) {
      await link.end();
      throw error;
    }
  }

  private constructor(child: AgentProcess, { onUpdate, onPermission }: LinkHandlers, clock: Clock) {
    this.process = child;
    this.#clock = clock;
    const stream = messageStream(child.output, child.input, {
      takes(method, params) {
        if (method !== methods.client.session.update) return false;
        const { sessionId, update } = (params ?? {}) as { readonly sessionId?: unknown; readonly update?: unknown }; // looked at below
        const parsed = parseAcpUpdate(update);
        if (typeof sessionId === "string" && parsed !== undefined) onUpdate(sessionId, parsed);
        return true;
      },
    });
    const app = acpClient({ name: CLIENT_INFO.name }).onRequest(
      methods.client.session.requestPermission,
      ({ params, signal }) => onPermission(params, signal),
    );
    const connection = app.connect(stream);
    this.#agent = connection.agent;
    this.#signal = connection.signal;
    this.#close = () => connection.close(new CapstanError("closed", "The connection to the agent was closed"));
    const closed = connection.closed.then(
      () => child.end(), // without its output nothing can be heard of it
      () => child.end(),
    );
    this.lost = closed.then(() => child.ended);
    child.ended.then(this.#close, this.#close);
  }

  get capabilities(): AgentCapabilities {
    return this.#capabilities;
  }

  get isLost(): boolean {
    return this.#signal.aborted;
  }

  async newSession(cwd: string, mcpServers: readonly McpServer[]): Promise<string> {
    const params = { cwd, mcpServers: [...mcpServers] };
    const { sessionId } = await this.#ask<{ readonly sessionId?: unknown }>(methods.agent.session.new, params);
    if (typeof sessionId === "string" && sessionId !== "") return sessionId;
    throw new CapstanError("process-failed", "The agent began a session without an id");
  }

  async loadSession(sessionId: string, cwd: string, mcpServers: readonly McpServer[]): Promise<void> {
    await this.#ask(methods.agent.session.load, { sessionId, cwd, mcpServers: [...mcpServers] });
  }

  async resumeSession(sessionId: string, cwd: string, mcpServers: readonly McpServer[]): Promise<void> {
    await this.#ask(methods.agent.session.resume, { sessionId, cwd, mcpServers: [...mcpServers] });
  }

  /** Takes as long as it takes. An unknown end counts as `end_turn`. */
  async prompt(sessionId: string, prompt: readonly AcpContentBlock[]): Promise<AcpStopReason> {
    const params = { sessionId, prompt: [...prompt] };
    const { stopReason } = await this.#request<{ readonly stopReason?: unknown }>(methods.agent.session.prompt, params);
    return STOPS.find((known) => known === stopReason) ?? "end_turn";
  }

  async cancel(sessionId: string): Promise<void> {
    await this.#agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined); // it is lost: `lost` tells
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#close();
    await this.process.end();
  }

  async #initialize(): Promise<void> {
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
    const params = { protocolVersion: 1, clientInfo: CLIENT_INFO, clientCapabilities };
    type Answer = { readonly protocolVersion?: unknown; readonly agentCapabilities?: unknown };
    const { protocolVersion, agentCapabilities } = await this.#ask<Answer>(methods.agent.initialize, params);
    if (protocolVersion !== 1)
      throw new CapstanError(
        "process-failed",
        `The agent speaks version ${String(protocolVersion)} of ACP; version 1 is known here`,
      );
    if (typeof agentCapabilities === "object" && agentCapabilities !== null)
      this.#capabilities = agentCapabilities as AgentCapabilities; // each is looked at as "is it there"
  }

  /** What an agent answers at once, or is broken. */
  async #ask<Answer>(method: string, params: unknown): Promise<Answer> {
    const stop = new AbortController();
    const late = sleep(this.#clock, LIMITS.openMs, stop.signal).then(() => {
      throw new CapstanError("timeout", `The agent did not answer ${method} within ${LIMITS.openMs} ms`);
    });
    late.catch(() => undefined); // only looked at when it is first
    try {
      return await Promise.race([this.#request<Answer>(method, params), late]);
    } finally {
      stop.abort();
    }
  }

  async #request<Answer>(method: string, params: unknown): Promise<Answer> {
    try {
      const answer: unknown = await this.#agent.request<unknown, unknown>(method, params);
      return (typeof answer === "object" && answer !== null ? answer : {}) as Answer; // members are looked at one by one
    } catch (error) {
      if (!this.isLost)
        throw new CapstanError("run-failed", `The agent refused ${method}: ${messageOf(error)}`, { cause: error });
      await this.process.end();
      throw lossOf(await this.process.ended, this.process.stderr);
    }
  }
}

/** Why there is no agent any more, with what it said last. */
function lossOf({ exitCode, signal }: ProcessEnd, stderr: string): CapstanError {
  const how = signal === null ? `with code ${exitCode}` : `by ${signal}`;
  const said = stderr === "" ? "" : `. It said: ${stderr}`;
  return new CapstanError("process-failed", `The agent's process ended ${how}${said}`, { retryable: true });
}
