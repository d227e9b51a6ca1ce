/** One session as an editor sees it: its events go out as updates in order, its questions are asked, its prompts are runs. */

import { type AgentContext, methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import {
  CapstanError,
  type Envelope,
  type Event,
  type FactOf,
  isLive,
  messageOf,
  type Part,
  type Run,
  type Runtime,
  type Session,
  type SessionView,
  systemClock,
  systemIds,
  textOf,
  type Tool,
} from "@capstan/core";
import { type AcpElicitationModes, type AcpSessionUpdate, type AcpStopReason, acpUpdates } from "@capstan/wire/acp";
import { isAbsolute, resolve } from "node:path";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { AskClient } from "./ask-client.ts";
import { type CallLook, callLook } from "./call-look.ts";
import type { Change, Chosen, SessionConfig } from "./session-config.ts";
import { stopReasonOf } from "./stop-reason.ts";

export type ServedSessionOptions = {
  readonly runtime: Runtime;
  readonly session: Session<unknown>;
  readonly state: SessionView;
  readonly client: AgentContext;
  readonly connection: AbortSignal;
  readonly config: SessionConfig;
  /** Of the agent, as far as they are known. */
  readonly tools: readonly Tool[];
  /** In force unless the session says otherwise. */
  readonly defaultModel: string | undefined;
  readonly shows: {
    readonly notices: boolean;
    readonly compaction: boolean;
    readonly elicitation: AcpElicitationModes;
  };
  readonly log: (line: string) => void;
};
type Prompt = {
  cancelled: boolean;
  run?: Run<unknown>;
  runId?: string;
  readonly ended: PromiseWithResolvers<AcpStopReason>;
};

/** Marks the inputs of this door in `input.accepted`: their text is on the screen already. */
const TAG = "capstan.acp";
const ids = systemIds(() => systemClock.now());

export class ServedSession {
  readonly #options: ServedSessionOptions;
  readonly #ask: AskClient;
  readonly #absolute: (path: string) => string;
  readonly #look: CallLook;
  readonly #prompts = new Map<string, Prompt>();
  readonly #ownInputs = new Set<string>();
  #chosen: Chosen;
  #title: string | undefined;
  #pump = new AbortController();

  constructor(options: ServedSessionOptions) {
    const { session, client, connection: signal, state, shows, log, tools } = options;
    const root = state.workspace?.root ?? "/";
    this.#options = options;
    this.#absolute = (path) => (isAbsolute(path) ? path : resolve(root, path));
    this.#look = callLook(tools, this.#absolute);
    this.#ask = new AskClient({ session, client, look: this.#look, modes: shows.elicitation, signal, log });
    this.#chosen = { mode: state.mode, model: state.model ?? options.defaultModel };
    this.#title = state.title;
  }

  get chosen(): Chosen {
    return this.#chosen;
  }

  /** Shows what comes from now on, once the client knows of the session, and asks what is open. */
  follow(known: Promise<void>): void {
    const { head } = this.#options.state;
    this.#start(String(head), known);
    known.then(() => this.#askOpen()).catch((error: unknown) => this.#fail(error));
  }

  /** Shows all that was said and done, then what comes. Resolves when the past has been shown. */
  replay(head: number): Promise<void> {
    const { promise, resolve: shown, reject } = Promise.withResolvers<void>();
    this.#pump.abort();
    this.#ask.closeAll(); // the client begins anew
    this.#start(undefined, Promise.resolve(), { head, shown, reject });
    return promise;
  }

  /** Resolves when everything of its run has been shown. */
  async prompt(parts: readonly Part[], signal: AbortSignal): Promise<AcpStopReason> {
    const tag = ids.random();
    const prompt: Prompt = { cancelled: false, ended: Promise.withResolvers() };
    prompt.ended.promise.catch(() => undefined); // awaited below, when the input is durable
    this.#prompts.set(tag, prompt);
    const onAbort = (): void => {
      if (!this.#options.connection.aborted) this.#stop(prompt); // a client that goes away cancels nothing
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const run = await this.#options.session.send(parts, { tags: { [TAG]: tag } });
      prompt.run = run;
      if (prompt.cancelled) this.#stop(prompt);
      const reason = await prompt.ended.promise;
      return prompt.cancelled ? "cancelled" : reason;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#prompts.delete(tag);
    }
  }

  /** Ends the prompts that are open, the last one first; without one, what another door has begun. */
  cancel(): void {
    const prompts = [...this.#prompts.values()].toReversed();
    for (const prompt of prompts) this.#stop(prompt);
    if (prompts.length === 0) this.#interrupt(undefined);
  }

  async change(change: Change): Promise<void> {
    await this.#options.session.update(change);
    this.#chosen = { ...this.#chosen, ...change };
  }

  async show(update: AcpSessionUpdate): Promise<void> {
    const { client, session } = this.#options;
    await client.notify(methods.client.session.update, { sessionId: session.id, update: update as SessionUpdate }); // the same but for `readonly`
  }

  /** Resolves when no prompt is open. */
  async idle(): Promise<void> {
    await Promise.allSettled(Array.from(this.#prompts.values(), ({ ended }) => ended.promise));
  }

  /** Shows nothing more. Prompts that are open end as cancelled; their runs go on unless they were cancelled before. */
  end(): void {
    this.#pump.abort();
    this.#ask.closeAll();
    for (const { ended } of this.#prompts.values()) ended.resolve("cancelled");
  }

  #start(after: string | undefined, known: Promise<void>, past?: Past): void {
    this.#pump = new AbortController();
    const signal = AbortSignal.any([this.#pump.signal, this.#options.connection]);
    this.#show(after, { signal, known }, past).catch((error: unknown) => {
      past?.reject(error);
      if (!signal.aborted) this.#fail(error);
    });
  }

  async #show(
    after: string | undefined,
    { signal, known }: { readonly signal: AbortSignal; readonly known: Promise<void> },
    past: Past | undefined,
  ): Promise<void> {
    const { session, shows } = this.#options;
    let isPast = past !== undefined;
    const updates = acpUpdates({
      absolute: this.#absolute,
      kindOf: (name) => this.#look.kindOf(name),
      notices: shows.notices,
      compaction: shows.compaction,
      isOwnInput: (inputId) => !isPast && this.#ownInputs.has(inputId),
    });
    for await (const envelope of session.events({ ...(after !== undefined && { after }), children: true, signal })) {
      const { event, parent } = envelope;
      if (parent === undefined) this.#before(event);
      await known;
      for (const update of updates.push(envelope)) await this.show(update);
      await this.#after(envelope, isPast);
      if (!isPast || parent !== undefined || isLive(event) || event.seq < (past?.head ?? 0)) continue;
      isPast = false;
      past?.shown();
      await this.#askOpen();
    }
    if (!signal.aborted)
      throw new CapstanError("closed", "The session has no more events: it was deleted, or the runtime was closed");
  }

  #before(event: Event): void {
    if (event.type !== "input.accepted") return;
    const prompt = this.#prompts.get(event.overrides?.tags?.[TAG] ?? "");
    if (prompt === undefined) return;
    this.#ownInputs.add(event.inputId);
    if (event.runId !== undefined) prompt.runId = event.runId;
  }

  async #after({ event, parent, sessionId }: Envelope, isPast: boolean): Promise<void> {
    if (event.type === "request.opened" && (parent !== undefined || !isPast)) {
      const { requestId, request: body, expiresAt, at: openedAt, runId = "" } = event;
      const isOpen = parent === undefined || (await this.#isOpenBelow(parent.sessionId, requestId));
      if (isOpen) this.#ask.open({ requestId, sessionId, runId, body, openedAt, expiresAt });
    }
    if (event.type === "request.resolved") this.#ask.close(event.requestId);
    if (parent !== undefined) return;
    switch (event.type) {
      case "run.finished":
        return this.#settle(event);
      case "input.withdrawn":
        this.#ownInputs.delete(event.inputId);
        return this.#promptOf(event.runId)?.ended.resolve("cancelled");
      case "notice": // nobody drives the session: nothing is lost, but nothing comes either
        if (event.severity === "error" && event.runId === undefined) this.#failPrompts(new Error(event.title));
        return;
      case "message.added":
        return isPast ? undefined : this.#nameAfter(event);
      case "session.updated":
        this.#title = event.title ?? this.#title;
        return isPast ? undefined : await this.#configured(event);
      default:
        return;
    }
  }

  #settle(event: FactOf<"run.finished">): void {
    const prompt = this.#promptOf(event.runId);
    if (prompt === undefined) return;
    const reason = stopReasonOf(event);
    if (typeof reason === "string") prompt.ended.resolve(reason);
    else if (prompt.cancelled) prompt.ended.resolve("cancelled");
    else prompt.ended.reject(reason);
  }

  #promptOf(runId: string | undefined): Prompt | undefined {
    return [...this.#prompts.values()].find((prompt) => prompt.runId !== undefined && prompt.runId === runId);
  }

  /** A session without a title gets the first words of its first prompt, as the log keeps them: without secrets. */
  #nameAfter({ message, inputId }: FactOf<"message.added">): void {
    if (this.#title !== undefined || inputId === undefined || !this.#ownInputs.delete(inputId)) return;
    const line = textOf(message.parts)
      .replaceAll(/[\s\p{Cc}]+/gu, " ")
      .trim();
    if (line === "") return;
    const title = line.slice(0, LIMITS.titleCharacters).toWellFormed();
    this.#title = title;
    this.#options.session.update({ title }).catch((error: unknown) => this.#options.log(messageOf(error)));
  }

  async #configured({ mode, model }: FactOf<"session.updated">): Promise<void> {
    if (mode === undefined && model === undefined) return;
    const { config } = this.#options;
    this.#chosen = { mode: mode ?? this.#chosen.mode, model: model ?? this.#chosen.model };
    if (mode !== undefined) await this.show({ sessionUpdate: "current_mode_update", currentModeId: mode });
    const configOptions = config.options(this.#chosen) as Extract<
      AcpSessionUpdate,
      { sessionUpdate: "config_option_update" }
    >["configOptions"]; // selects only
    await this.show({ sessionUpdate: "config_option_update", configOptions });
  }

  async #askOpen(): Promise<void> {
    const { session, runtime } = this.#options;
    const { requests } = await session.state();
    for (const request of Object.values(requests)) this.#ask.open(request);
    for (const request of await runtime.requests({ parent: session.id })) this.#ask.open(request);
  }

  /** A sub-agent's events come from its beginning: what it asked long ago is not asked again. */
  async #isOpenBelow(parent: string, requestId: string): Promise<boolean> {
    const open = await this.#options.runtime.requests({ parent });
    return open.some((request) => request.requestId === requestId);
  }

  #stop(prompt: Prompt): void {
    prompt.cancelled = true;
    if (prompt.run !== undefined) this.#interrupt(prompt.run.id);
  }

  #interrupt(runId: string | undefined): void {
    const { session, log } = this.#options;
    session.interrupt(runId).catch((error: unknown) => log(`The run could not be interrupted: ${messageOf(error)}`));
  }

  #fail(error: unknown): void {
    this.#options.log(`Session ${this.#options.session.id} is not shown any more: ${messageOf(error)}`);
    this.#failPrompts(error);
  }

  #failPrompts(error: unknown): void {
    for (const { ended } of this.#prompts.values()) ended.reject(error);
  }
}

type Past = { readonly head: number; readonly shown: () => void; readonly reject: (error: unknown) => void };
