/** The ACP client: another agent as a supervised child process behind the protocol-neutral interface. */

import type { McpServer } from "@agentclientprotocol/sdk";
import { CapstanError, type Clock, messageOf, sleep, systemClock, systemIds } from "@capstan/core";
import { type AcpStopReason, acpPromptOf, type UiChunk, type UiMessage } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import type { AcpEvent } from "./acp-events.ts";
import { AgentLink } from "./agent-link.ts";
import type { AgentProgram } from "./agent-process.ts";
import type { AutoApprove, PermissionRecord } from "./auto-approve.ts";
import type { ChunkCallback, EnvironmentUpdate, ExternalAgent, PromptEnd } from "./external-agent.ts";
import { KeptState } from "./kept-state.ts";
import { MessageStore } from "./message-store.ts";
import { OpenPrompt } from "./open-prompt.ts";
import { PermissionDesk } from "./permission-desk.ts";
import { type Recovered, recoverSession } from "./recover-session.ts";
import type { ReplayedMessages } from "./replayed-messages.ts";
import { RestartBudget } from "./restart-budget.ts";

export type AcpClientOptions = AgentProgram & {
  /** File that keeps the session's id, so that a later process goes on with it. */
  readonly stateFile?: string;
  /**
   * Keeps the messages in that file too: for agents that resume without showing the past again. Default: what the
   * variable PERSIST_MESSAGES says ("true" or "false"), else false.
   */
  readonly persistMessages?: boolean;
  /** Default: nothing is approved by itself. */
  readonly permission?: AutoApprove;
  readonly mcpServers?: readonly McpServer[];
  readonly onEvent?: (event: AcpEvent) => void;
  /** How long the function of `permission` may think about one question; then it is refused. */
  readonly permissionMs?: number;
  readonly clock?: Clock;
};
export interface AcpClient extends ExternalAgent {
  /** What was asked and how it was answered, the newest last; at most the last 1,000. */
  permissions(): readonly PermissionRecord[];
  /** Whether the agent's process keeps this one alive; it does unless it is told otherwise. */
  hold(held: boolean): void;
}

const ids = systemIds(() => systemClock.now());

/** Nothing is started before `connect` or the first prompt. Throws `usage` for messages that are to be kept nowhere. */
export function acpClient(options: AcpClientOptions): AcpClient {
  return new Client(options);
}

class Client implements AcpClient {
  readonly #options: AcpClientOptions;
  readonly #clock: Clock;
  readonly #store: MessageStore;
  readonly #kept: KeptState;
  readonly #desk: PermissionDesk;
  readonly #budget: RestartBudget;
  #env: { [name: string]: string };
  #callback: ChunkCallback | null = null;
  #link: AgentLink | undefined;
  /** Open at the agent that runs now; the one to be recovered is what is kept. */
  #sessionId: string | undefined;
  #prompt: OpenPrompt | undefined;
  #isBusy = false;
  #isCancelled = false;
  #replay: ReplayedMessages | undefined;
  /** Whether an agent that ends by itself is started again. */
  #isWanted = false;
  #stop = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AcpClientOptions) {
    const { env = {}, clock = systemClock, cwd, permission, permissionMs = LIMITS.permissionMs, stateFile } = options;
    this.#options = options;
    this.#clock = clock;
    this.#env = { ...env };
    this.#budget = new RestartBudget(clock);
    this.#store = new MessageStore(() => this.#changed());
    this.#kept = new KeptState({ path: stateFile, withMessages: keepsMessages(options), store: this.#store });
    this.#desk = new PermissionDesk({
      clock,
      cwd,
      permission,
      permissionMs,
      told: (record) => this.#tell({ type: "permission.answered", record }),
    });
  }

  get isConnected(): boolean {
    return this.#link !== undefined && !this.#link.isLost;
  }

  async connect(): Promise<void> {
    this.#isWanted = true;
    await this.#inTurn(() => this.#connect());
  }

  async ensureSession(): Promise<string> {
    this.#isWanted = true;
    return this.#inTurn(async () => (await this.#ready()).sessionId);
  }

  async disconnect(): Promise<void> {
    this.#isWanted = false;
    this.#stop.abort();
    this.#stop = new AbortController();
    await this.#endLink(); // at once: whoever waits in turn finds it gone
    await this.#inTurn(() => this.#endLink());
    await this.#keep();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disconnect();
  }

  setUpdateCallback(callback: ChunkCallback | null): void {
    this.#callback = callback;
  }

  async prompt(message: UiMessage | string): Promise<PromptEnd> {
    if (this.#isBusy)
      throw new CapstanError("session-busy", "The agent is answering a prompt; wait for it or cancel it");
    this.#isBusy = true;
    this.#isCancelled = false;
    this.#isWanted = true;
    try {
      const { link, sessionId } = await this.#inTurn(() => this.#ready());
      const said = toMessage(message);
      const blocks = acpPromptOf(said, link.capabilities.promptCapabilities ?? {});
      if (this.#store.find(said.id) === undefined) this.#store.add(said);
      const open = this.#openPrompt();
      return await this.#answered(open, link, this.#isCancelled ? undefined : link.prompt(sessionId, blocks));
    } finally {
      this.#prompt = undefined;
      this.#isBusy = false;
      await this.#keep();
    }
  }

  async cancel(): Promise<void> {
    if (!this.#isBusy) return;
    this.#isCancelled = true;
    const open = this.#prompt;
    const link = this.#link;
    if (open === undefined || link === undefined || this.#sessionId === undefined) return;
    open.over.abort(); // what it asks is answered as cancelled
    await link.cancel(this.#sessionId);
    const stop = new AbortController();
    const late = sleep(this.#clock, LIMITS.cancelMs, stop.signal).then(
      () => link.process.end(), // it does not listen
      () => undefined,
    );
    await Promise.race([open.ended, late]);
    stop.abort();
  }

  async updateEnvironment(update: EnvironmentUpdate): Promise<void> {
    const next = { ...this.#env, ...update };
    this.#env = Object.fromEntries(
      Object.entries(next).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    if (this.#link === undefined) return;
    await this.cancel();
    await this.#inTurn(async () => {
      const hadSession = this.#sessionId !== undefined;
      await this.#endLink();
      if (hadSession) await this.#ready();
      else await this.#connect();
    });
  }

  getEnvironment(): { [name: string]: string } {
    return { ...this.#env };
  }

  permissions(): readonly PermissionRecord[] {
    return this.#desk.records();
  }

  hold(held: boolean): void {
    this.#link?.process.hold(held);
  }

  getMessages(): UiMessage[] {
    return structuredClone(this.#store.all());
  }

  addMessage(message: UiMessage): void {
    this.#store.add(structuredClone(message));
  }

  updateMessage(id: string, updates: Partial<UiMessage>): void {
    this.#store.update(id, structuredClone(updates));
  }

  getLastAssistantMessage(): UiMessage | undefined {
    return structuredClone(this.#store.lastAssistant());
  }

  clearMessages(): void {
    this.#store.replace([]);
  }

  async clearSession(): Promise<void> {
    await this.cancel();
    await this.#inTurn(async () => {
      this.#sessionId = undefined;
      this.#kept.sessionId = undefined;
      this.#store.replace([]);
    });
    await this.#keep();
  }

  /** What changes the connection is done one after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #connect(): Promise<AgentLink> {
    if (this.#link !== undefined && !this.#link.isLost) return this.#link;
    await this.#kept.load();
    const program = { ...this.#options, env: this.#env };
    const link = await AgentLink.open(program, this.#handlers(), this.#clock);
    this.#link = link;
    this.#sessionId = undefined;
    this.#tell({ type: "agent.started", pid: link.process.pid });
    link.lost.then(({ exitCode, signal }) => this.#lost(link, signal ?? `code ${exitCode}`)).catch(() => undefined); // it never rejects
    return link;
  }

  async #ready(): Promise<{ readonly link: AgentLink; readonly sessionId: string }> {
    const link = await this.#connect();
    if (this.#sessionId !== undefined) return { link, sessionId: this.#sessionId };
    const { cwd, mcpServers = [] } = this.#options;
    const recovered = await recoverSession({
      link,
      cwd,
      mcpServers,
      sessionId: this.#kept.sessionId,
      hasHistory: this.#store.all().length > 0,
      newId: () => ids.next("msg"),
      replaying: (replay) => (this.#replay = replay),
    });
    this.#opened(recovered);
    await this.#keep();
    return { link, sessionId: recovered.sessionId };
  }

  #opened({ sessionId, by, failed, messages }: Recovered): void {
    const before = this.#kept.sessionId;
    this.#sessionId = sessionId;
    this.#kept.sessionId = sessionId;
    if (by === "new" && before !== undefined) this.#store.replace([]); // the agent knows nothing of them
    if (messages !== undefined && messages.length > 0) this.#store.replace(messages);
    this.#tell({ type: "session.opened", sessionId, by, failed });
  }

  #handlers(): Parameters<typeof AgentLink.open>[1] {
    return {
      onUpdate: (sessionId, update) => {
        if (this.#replay !== undefined) this.#replay.push(update);
        else if (sessionId === this.#sessionId) this.#prompt?.update(update);
      },
      onPermission: (request, signal) => {
        const open = request.sessionId === this.#sessionId ? this.#prompt : undefined;
        return this.#desk.answer(request, open, signal);
      },
    };
  }

  #openPrompt(): OpenPrompt {
    const show = (chunk: UiChunk): void => {
      try {
        this.#callback?.(chunk);
      } catch {
        // a listener's own affair
      }
    };
    const open = new OpenPrompt(ids.next("msg"), show, ({ id, parts }) => {
      if (this.#store.find(id) !== undefined) this.#store.update(id, { parts });
    });
    this.#store.add(open.message);
    this.#prompt = open;
    return open;
  }

  async #answered(open: OpenPrompt, link: AgentLink, answer: Promise<AcpStopReason> | undefined): Promise<PromptEnd> {
    try {
      const reason = answer === undefined ? "cancelled" : await answer;
      return open.end(this.#isCancelled ? "cancelled" : reason);
    } catch (error) {
      if (this.#isCancelled) return open.end("cancelled");
      open.failed(messageOf(error));
      if (link.isLost) await this.#inTurn(async () => undefined); // its restart has begun
      throw error;
    }
  }

  /** It ended by itself: it is started again, a few times, and takes its session up again. */
  #lost(link: AgentLink, how: string): void {
    if (this.#link !== link) return;
    const hadSession = this.#sessionId !== undefined;
    this.#link = undefined;
    this.#sessionId = undefined;
    const said = link.process.stderr;
    this.#tell({ type: "agent.lost", message: said === "" ? how : `${how}: ${said}` });
    if (this.#isWanted) this.#restart(hadSession);
  }

  #restart(withSession: boolean): void {
    const next = this.#budget.take();
    if (next === undefined) {
      this.#isWanted = false;
      const message = `The agent was lost more than ${LIMITS.restarts} times within ${LIMITS.restartWindowMs} ms`;
      return this.#tell({ type: "agent.given-up", message });
    }
    this.#tell({ type: "agent.restarting", ...next });
    const { signal } = this.#stop;
    this.#inTurn(async () => {
      await sleep(this.#clock, next.delayMs, signal);
      if (!this.#isWanted || this.isConnected) return;
      if (withSession) await this.#ready();
      else await this.#connect();
    }).catch(() => {
      if (this.#isWanted && !signal.aborted && !this.isConnected) this.#restart(withSession);
    });
  }

  async #endLink(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    this.#sessionId = undefined;
    await link?.end();
  }

  #changed(): void {
    if (!this.#isBusy) void this.#keep(); // of a prompt, at its end
  }

  async #keep(): Promise<void> {
    try {
      await this.#kept.save();
    } catch (error) {
      this.#tell({ type: "messages.not-kept", message: messageOf(error) });
    }
  }

  #tell(event: AcpEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // a listener's own affair
    }
  }
}

function keepsMessages({ persistMessages, stateFile }: AcpClientOptions): boolean {
  if (persistMessages === true && stateFile === undefined)
    throw new CapstanError("usage", "persistMessages needs a stateFile to keep them in");
  return stateFile !== undefined && (persistMessages ?? process.env["PERSIST_MESSAGES"] === "true");
}

function toMessage(message: UiMessage | string): UiMessage {
  if (typeof message !== "string") return structuredClone(message);
  return { id: ids.next("msg"), role: "user", parts: [{ type: "text", text: message }] };
}
