/** One configured server over time: connected when first needed, checked before use, connected again, swapped, switched off. */

import { CapstanError, type Clock, messageOf, sleep } from "@capstan/core";
import type { McpServerConfig, Refreshed, RemoteTool } from "../config/server-config.ts";
import { secretsIn } from "../config/config-secrets.ts";
import { MCP_LIMITS } from "../limits.ts";
import { type McpListener, tell } from "../mcp-event.ts";
import type { McpHooks } from "../mcp-hooks.ts";
import { type OfferedTool, viewTools } from "../tools/tool-view.ts";
import { shownError } from "../visible-text.ts";
import type { Answering } from "./answer-requests.ts";
import { Connection } from "./connection.ts";
import { deadline } from "./deadline.ts";
import type { ServerAuth } from "./open-transport.ts";

export type ServiceParts = {
  readonly clock: Clock;
  readonly answering: Answering;
  readonly hooks: McpHooks;
  readonly listener: McpListener | undefined;
  readonly auth: (() => ServerAuth | undefined) | undefined;
  /** Told of credentials that a refresher gave. */
  readonly onSecrets?: (secrets: readonly string[]) => void;
};
export type ServiceStatus = "off" | "idle" | "connecting" | "ready" | "failed";

export class McpService {
  readonly config: McpServerConfig;
  readonly #parts: ServiceParts;
  #enabled: boolean;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  /** Connections are made and swapped one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #refreshed: Refreshed = {};
  #tools: readonly OfferedTool[] = [];
  #failure: string | undefined;
  #stale = false;
  readonly #open = new Set<Connection>();
  #stop = new AbortController();
  #closed = false;
  /** A program that was of an older revision when it was last connected. */
  #legacy = false;

  constructor(config: McpServerConfig, parts: ServiceParts) {
    this.config = config;
    this.#parts = parts;
    this.#enabled = config.enabled;
  }

  get status(): ServiceStatus {
    if (!this.#enabled) return "off";
    if (this.#live !== undefined) return "ready";
    if (this.#connecting !== undefined) return "connecting";
    return this.#failure === undefined ? "idle" : "failed";
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** As they were last listed: empty before the first connection and while it is switched off. */
  get tools(): readonly OfferedTool[] {
    return this.#enabled ? this.#tools : [];
  }

  get connection(): Connection | undefined {
    return this.#live;
  }

  /** Connected, with a current list of tools. */
  async connect(signal: AbortSignal): Promise<void> {
    const connection = await this.#connected(signal);
    if (this.#stale) await this.#list(connection, signal).catch((error: unknown) => this.#failed(error));
  }

  /** A connection that has just answered: refreshed, checked, and made again when it did not. Throws `mcp-failed`, `mcp-login-needed`. */
  async ready(signal: AbortSignal): Promise<Connection> {
    this.#refuseWhenOff();
    await this.#refresh(signal);
    const live = this.#live;
    if (live !== undefined && (await this.#isWell(live, signal))) {
      if (this.#stale) await this.#list(live, signal); // a call is made of what is offered now
      return live;
    }
    if (live !== undefined) this.#drop(live, "it did not answer the check before a call");
    return this.#again(signal);
  }

  /** Whether it answers; connects when it was not connected. */
  async check(signal: AbortSignal): Promise<boolean> {
    try {
      const connection = await this.#connected(signal);
      await connection.check(signal);
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** A new connection in place of the present one, which ends once its calls have. When none can be made, it stays. */
  async reconnect(signal: AbortSignal): Promise<void> {
    this.#refuseWhenOff();
    await this.#inTurn(() => this.#swap(signal));
  }

  /** Switched off it offers no tools and refuses calls; calls under way finish. */
  toggle(enabled: boolean): void {
    this.#enabled = enabled;
    this.#failure = undefined;
    if (!enabled && this.#connection !== undefined) this.#drop(this.#connection, "it was switched off");
  }

  /** Ends all connections, and what is under way or waits for its turn with them. The next use connects again. */
  async disconnect(): Promise<void> {
    this.#stop.abort(new CapstanError("closed", `MCP server ${this.config.name} was closed`));
    await this.#connecting?.catch(() => undefined);
    await Promise.all(Array.from(this.#open, (connection) => connection.close()));
    this.#connection = undefined;
    this.#stop = new AbortController();
  }

  /** For good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.disconnect();
  }

  get #live(): Connection | undefined {
    return this.#connection?.isEnded === true ? undefined : this.#connection;
  }

  async #connected(signal: AbortSignal): Promise<Connection> {
    this.#refuseWhenOff();
    return this.#live ?? this.#inTurn(async () => this.#live ?? this.#make(signal));
  }

  /** Up to `MCP_LIMITS.reconnects` attempts, each after a longer wait. */
  async #again(signal: AbortSignal): Promise<Connection> {
    return this.#inTurn(async () => {
      for (let attempt = 1; ; attempt += 1) {
        const live = this.#live;
        if (live !== undefined) return live; // somebody else was first
        try {
          return await this.#make(signal);
        } catch (error) {
          const over = attempt >= MCP_LIMITS.reconnects || CapstanError.is(error, "mcp-login-needed");
          if (over || signal.aborted || this.#stop.signal.aborted) throw error;
        }
        await sleep(
          this.#parts.clock,
          MCP_LIMITS.reconnectBaseMs * 2 ** (attempt - 1),
          AbortSignal.any([signal, this.#stop.signal]),
        );
      }
    });
  }

  async #swap(signal: AbortSignal): Promise<void> {
    const old = this.#live;
    await this.#make(signal, old === undefined ? {} : { keeps: old });
    old?.retire();
  }

  async #make(signal: AbortSignal, { keeps }: { readonly keeps?: Connection } = {}): Promise<Connection> {
    this.#refuseWhenOff();
    signal.throwIfAborted();
    const making = this.#bootstrap(signal);
    this.#connecting = making;
    try {
      const connection = await making;
      this.#connection = connection;
      this.#failure = undefined;
      return connection;
    } catch (error) {
      if (keeps === undefined) this.#failed(error);
      throw error;
    } finally {
      this.#connecting = undefined;
    }
  }

  async #bootstrap(outer: AbortSignal): Promise<Connection> {
    const { clock, listener, answering, auth } = this.#parts;
    const { name: server, transport } = this.config;
    const told = { server, transport: transport.type };
    const startedAt = clock.monotonic();
    const since = (): number => Math.round(clock.monotonic() - startedAt);
    tell(listener, { type: "bootstrap.started", ...told });
    const signal = AbortSignal.any([outer, this.#stop.signal]);
    let connection: Connection | undefined;
    try {
      const config = this.#config();
      const parts = {
        clock,
        answering,
        auth: auth?.(),
        legacy: this.#legacy,
        onToolsChanged: () => (this.#stale = true),
      };
      connection = await Connection.open(config, parts, signal);
      await this.#list(connection, signal);
    } catch (error) {
      await connection?.close();
      tell(listener, {
        type: "bootstrap.finished",
        ...told,
        durationMs: since(),
        ok: false,
        message: messageOf(error),
      });
      throw error;
    }
    this.#watch(connection);
    this.#legacy = transport.type === "stdio" && connection.isLegacy;
    const tools = this.#tools.map(({ name }) => name);
    tell(listener, { type: "bootstrap.finished", ...told, durationMs: since(), ok: true, toolCount: tools.length });
    tell(listener, { type: "server.connected", server, revision: connection.revision ?? "", tools });
    return connection;
  }

  #watch(connection: Connection): void {
    this.#open.add(connection);
    void connection.ended.then((reason) => {
      this.#open.delete(connection);
      tell(this.#parts.listener, { type: "server.closed", server: this.config.name, reason });
    });
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<void> {
    const { name: server, timeouts } = this.config;
    this.#stale = false;
    let found: readonly RemoteTool[];
    try {
      found = await connection.tools(timeouts.bootstrapMs, signal);
    } catch (error) {
      this.#stale = true;
      throw new CapstanError(
        "mcp-failed",
        `MCP server ${server} did not list its tools: ${shownError(messageOf(error), MCP_LIMITS.errorChars)}`,
        { cause: error },
      );
    }
    const { tools, problems } = await viewTools(this.config, found, this.#parts.hooks.filterTools);
    const changed =
      this.#tools.length > 0 && this.#tools.map(({ name }) => name).join() !== tools.map(({ name }) => name).join();
    this.#tools = tools;
    for (const message of problems) tell(this.#parts.listener, { type: "tool.noticed", server, message });
    if (changed) tell(this.#parts.listener, { type: "tools.changed", server, tools: tools.map(({ name }) => name) });
  }

  /** The configuration with what the refresher gave last. */
  #config(): McpServerConfig {
    const { transport } = this.config;
    const { url, headers, env } = this.#refreshed;
    if (transport.type === "in-process") return this.config;
    if (transport.type === "stdio")
      return { ...this.config, transport: { ...transport, env: { ...transport.env, ...env } } };
    return {
      ...this.config,
      transport: { ...transport, url: url ?? transport.url, headers: { ...transport.headers, ...headers } },
    };
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { refresh, name } = this.config;
    if (refresh === undefined) return;
    await this.#inTurn(async () => {
      const before = this.#refreshed;
      const ends = AbortSignal.any([signal, this.#stop.signal]);
      const limit = deadline(this.#parts.clock, MCP_LIMITS.refreshMs, ends, "the refresher took too long");
      try {
        const given = await Promise.race([refresh({ signal: limit.signal }), limit.reached]);
        if (given === undefined || given === null) return;
        this.#refreshed = { ...before, ...given };
        this.#parts.onSecrets?.(secretsIn(this.#config().transport));
        await this.#swap(signal);
      } catch (error) {
        this.#refreshed = before;
        tell(this.#parts.listener, {
          type: "server.failed",
          server: name,
          message: `The old connection stays: ${messageOf(error)}`,
        });
      } finally {
        limit.end();
      }
    });
  }

  async #isWell(connection: Connection, signal: AbortSignal): Promise<boolean> {
    try {
      await connection.check(signal);
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  #drop(connection: Connection, reason: string): void {
    if (this.#connection === connection) this.#connection = undefined;
    if (!connection.isEnded)
      tell(this.#parts.listener, { type: "server.failed", server: this.config.name, message: reason });
    connection.retire();
  }

  #failed(error: unknown): void {
    this.#failure = messageOf(error);
    tell(this.#parts.listener, { type: "server.failed", server: this.config.name, message: this.#failure });
  }

  #refuseWhenOff(): void {
    if (this.#closed) throw new CapstanError("closed", `MCP server ${this.config.name} was closed`);
    this.#stop.signal.throwIfAborted();
    if (!this.#enabled) throw new CapstanError("mcp-failed", `MCP server ${this.config.name} is switched off`);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const stop = this.#stop.signal;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    try {
      stop.throwIfAborted(); // closed while it waited
      this.#refuseWhenOff();
      return await work();
    } finally {
      resolve();
    }
  }
}
