/** The sessions that one connection shows, and what a client may ask of them. */

import { realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import {
  type AgentContext,
  type ListSessionsRequest,
  type LoadSessionRequest,
  type LoadSessionResponse,
  type McpServer,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type ResumeSessionRequest,
  type SetSessionConfigOptionRequest,
  type SetSessionConfigOptionResponse,
  type SetSessionModeRequest,
} from "@agentclientprotocol/sdk";
import { messageOf, type Part, type Session, sleep, systemClock } from "@capstan/core";
import { partsOfAcpPrompt } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { listSessions, type SessionPage } from "./list-sessions.ts";
import { invalidParams } from "./rpc-errors.ts";
import type { ServeAcpOptions } from "./serve-options.ts";
import { ServedSession, type ServedSessionOptions } from "./served-session.ts";
import { SessionConfig } from "./session-config.ts";

type Open = { readonly served: ServedSession; readonly mcp: AsyncDisposable | undefined };
type Empty = { readonly [name: string]: never };

export class OpenSessions {
  /** As the client said in `initialize`. */
  shows: ServedSessionOptions["shows"] = {
    notices: false,
    compaction: false,
    elicitation: { form: false, url: false },
  };
  readonly #options: ServeAcpOptions & { readonly log: (line: string) => void };
  readonly #config: SessionConfig;
  readonly #open = new Map<string, Open>();
  readonly #turns = new Map<string, Promise<void>>();
  #client: AgentContext | undefined;
  #connection = AbortSignal.abort();

  constructor(options: ServeAcpOptions & { readonly log: (line: string) => void }) {
    this.#options = options;
    this.#config = new SessionConfig(options.models ?? []);
  }

  get connectsMcp(): boolean {
    return this.#options.mcpServers !== undefined;
  }

  connected(client: AgentContext, connection: AbortSignal): void {
    this.#client = client;
    this.#connection = connection;
  }

  async begin({ cwd, mcpServers }: NewSessionRequest): Promise<NewSessionResponse> {
    this.#roomForOne();
    const session = await this.#options.runtime.session({ agent: this.#options.agent, workspace: absolute(cwd) });
    const served = await this.#serve(session, cwd, mcpServers);
    served.follow(answered());
    return { sessionId: session.id, ...this.#settings(served) };
  }

  /** Answers when all of the past has been shown. */
  load({ sessionId, cwd, mcpServers }: LoadSessionRequest): Promise<LoadSessionResponse> {
    return this.#inTurn(sessionId, async () => {
      const session = await this.#existing(sessionId, cwd);
      const served = this.#open.get(sessionId)?.served ?? (await this.#serve(session, cwd, mcpServers));
      await served.replay((await session.state()).head);
      return this.#settings(served);
    });
  }

  resume({ sessionId, cwd, mcpServers = [] }: ResumeSessionRequest): Promise<LoadSessionResponse> {
    return this.#inTurn(sessionId, async () => {
      const session = await this.#existing(sessionId, cwd);
      const known = this.#open.get(sessionId)?.served;
      const served = known ?? (await this.#serve(session, cwd, mcpServers));
      if (known === undefined) served.follow(answered());
      return this.#settings(served);
    });
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<SessionPage> {
    const { runtime, agent } = this.#options;
    const folder = cwd ?? undefined;
    return listSessions(runtime, {
      agent: typeof agent === "string" ? agent : agent.name,
      cwd: folder === undefined ? undefined : await realpath(absolute(folder)).catch(() => folder),
      cursor: cursor ?? undefined,
    });
  }

  async prompt({ sessionId, prompt }: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    const served = this.#shown(sessionId);
    let parts: readonly Part[];
    try {
      parts = partsOfAcpPrompt(prompt);
    } catch (error) {
      throw invalidParams(messageOf(error));
    }
    return { stopReason: await served.prompt(parts, signal) };
  }

  cancel(sessionId: string): void {
    this.#open.get(sessionId)?.served.cancel();
  }

  async setMode({ sessionId, modeId }: SetSessionModeRequest): Promise<Empty> {
    const served = this.#shown(sessionId);
    await served.change(this.#config.change("mode", modeId, served.chosen));
    return {};
  }

  async setOption(params: SetSessionConfigOptionRequest): Promise<SetSessionConfigOptionResponse> {
    const served = this.#shown(params.sessionId);
    await served.change(this.#config.change(params.configId, params.value, served.chosen));
    return { configOptions: this.#config.options(served.chosen) };
  }

  /** What it does is cancelled. One that is not shown needs no end. */
  end(sessionId: string): Promise<Empty> {
    return this.#inTurn(sessionId, () => this.#end(sessionId));
  }

  remove(sessionId: string): Promise<Empty> {
    return this.#inTurn(sessionId, async () => {
      const session = await this.#options.runtime.session(sessionId);
      await this.#end(sessionId);
      await session.remove();
      return {};
    });
  }

  async #end(sessionId: string): Promise<Empty> {
    const open = this.#open.get(sessionId);
    if (open === undefined) return {};
    this.#open.delete(sessionId);
    open.served.cancel();
    await Promise.race([open.served.idle(), sleep(systemClock, LIMITS.cancelMs)]);
    await this.#leave(open);
    return {};
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map((open) => this.#leave(open)));
  }

  async #leave({ served, mcp }: Open): Promise<void> {
    served.end();
    try {
      await mcp?.[Symbol.asyncDispose]();
    } catch (error) {
      this.#options.log(`MCP servers could not be ended: ${messageOf(error)}`);
    }
  }

  /** Never another one in its place, and never another folder. */
  async #existing(sessionId: string, cwd: string): Promise<Session<unknown>> {
    if (!this.#open.has(sessionId)) this.#roomForOne();
    const session = await this.#options.runtime.session(sessionId);
    const { workspace } = await session.state();
    if (workspace === undefined) return session;
    const folder = await realpath(absolute(cwd)).catch(() => cwd);
    if (folder !== workspace.root) throw invalidParams(`The session works in ${workspace.root}, not in ${cwd}`);
    return session;
  }

  async #serve(session: Session<unknown>, cwd: string, servers: readonly McpServer[]): Promise<ServedSession> {
    const { runtime, agent, log, commands = [] } = this.#options;
    if (this.#client === undefined) throw new Error("a session is served before the connection is there");
    const mcp = await this.#connectMcp(session.id, cwd, servers);
    const model = typeof agent === "string" ? undefined : agent.model;
    const served = new ServedSession({
      runtime,
      session,
      state: await session.state(),
      client: this.#client,
      connection: this.#connection,
      config: this.#config,
      tools: typeof agent === "string" ? [] : agent.tools,
      defaultModel: typeof model === "object" ? model.id : model,
      shows: this.shows,
      log,
    });
    this.#open.set(session.id, { served, mcp });
    if (commands.length > 0)
      answered()
        .then(() => served.show({ sessionUpdate: "available_commands_update", availableCommands: commands }))
        .catch(() => undefined); // the client is gone
    return served;
  }

  async #connectMcp(id: string, cwd: string, servers: readonly McpServer[]): Promise<AsyncDisposable | undefined> {
    if (servers.length === 0) return undefined;
    const connect = this.#options.mcpServers;
    if (connect !== undefined) return (await connect(servers, { id, cwd })) ?? undefined;
    const names = servers.map(({ name }) => JSON.stringify(name)).join(", ");
    this.#options.log(`MCP servers of the editor are not connected: ${names}`);
    return undefined;
  }

  /** What is asked of one session at once is done in order. */
  async #inTurn<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(sessionId) ?? Promise.resolve();
    const done = before.then(work);
    const settled = done.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(sessionId, settled);
    try {
      return await done;
    } finally {
      if (this.#turns.get(sessionId) === settled) this.#turns.delete(sessionId);
    }
  }

  #settings(served: ServedSession): Required<Pick<NewSessionResponse, "modes" | "configOptions">> {
    return { modes: this.#config.modes(served.chosen), configOptions: this.#config.options(served.chosen) };
  }

  #shown(sessionId: string): ServedSession {
    const open = this.#open.get(sessionId);
    if (open === undefined) throw RequestError.sessionNotFound(sessionId);
    return open.served;
  }

  #roomForOne(): void {
    if (this.#open.size >= LIMITS.shownSessions)
      throw RequestError.internalError(
        undefined,
        `At most ${LIMITS.shownSessions} sessions are open at once; close some`,
      );
  }
}

function absolute(cwd: string): string {
  if (isAbsolute(cwd)) return cwd;
  throw invalidParams("cwd must be an absolute path");
}

/** The client knows a session by the answer that names it: what is said of it comes behind. */
function answered(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
