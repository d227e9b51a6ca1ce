/** One conversation and its runs, as an author of agents holds them. All of it works from any process that opens the same store. */

import type { FollowOptions } from "../ports/engine.ts";
import type { ModelSettings } from "../ports/model.ts";
import type { SessionState, SessionStatus } from "../state/session-state.ts";
import type { Envelope, IfBusy, Limits, Metadata, Problem, StopReason, Tags, ToolStatus } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Message, Part, Usage } from "../words/message.ts";
import type { Answer, OpenRequest } from "../words/request.ts";
import type { Schema } from "../words/schema.ts";

export type SendOptions = {
  /** Default "queue". */
  readonly ifBusy?: IfBusy;
  /** The same key and input give the same run, also after a crash. */
  readonly idempotencyKey?: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly settings?: ModelSettings;
  /** Names of the agent's tools that this run may use. */
  readonly tools?: readonly string[];
  readonly limits?: Limits;
  readonly mode?: string;
  /** Names of plugins with `scope: "run"` that take part in this run. An unknown one ends it before it begins. */
  readonly plugins?: readonly string[];
  /** What the sender wants to find again: in the facts, in hooks (`state.run.overrides.tags`) and in the result of the run. */
  readonly tags?: Tags;
};
/** `output`: what this run must answer, in place of the agent's `output`. */
export type SendOptionsOf<Output> = SendOptions & { readonly output: Schema<Output> };
export type SessionView = SessionState & { readonly status: SessionStatus };

export interface Session<Output = string> {
  readonly id: string;
  readonly key?: string;
  /** In charge when this handle was made; `state()` tells who is now. */
  readonly agent: string;
  /** Resolves when the input is durable. A busy session queues it unless told otherwise. */
  send(input: string | readonly Part[], options?: SendOptions): Promise<Run<Output>>;
  send<Own>(input: string | readonly Part[], options: SendOptionsOf<Own>): Promise<Run<Own>>;
  /** Default the newest run. */
  run(id?: string): Promise<Run<Output> | undefined>;
  /** Takes an input back that no run has taken up yet. */
  withdraw(inputId: string): Promise<void>;
  /** Durable when it resolves. Throws `request-closed` for late and foreign answers, `request-invalid` for unfitting ones. */
  respond(requestId: string, answer: Answer): Promise<void>;
  /** Resolves after `run.finished`. Without an active run it changes nothing. */
  interrupt(runId?: string): Promise<void>;
  update(change: {
    readonly title?: string;
    readonly metadata?: Metadata;
    readonly mode?: string;
    readonly model?: string;
    /** Of the model call that made this change: counted with the session's own. */
    readonly usage?: Usage;
  }): Promise<void>;
  events(options?: FollowOptions): AsyncIterable<Envelope>;
  /** Oldest first; with `limit` the newest that many before message id `before`. */
  messages(options?: { readonly before?: string; readonly limit?: number }): Promise<readonly Message[]>;
  /** Status, queue, open requests, usage; no message bodies. */
  state(): Promise<SessionView>;
  /** Whether a run is at work or an input waits for one. False while only an answer or a timer can move the session. */
  isRunning(): Promise<boolean>;
  /**
   * Resolves when no run is left and nothing is queued. A run that waits for a person is not done. Throws the signal's
   * reason; `session-not-found`.
   */
  waitForIdle(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** A new session with the facts up to `at` (default all). `keepKey`: the key now names the fork. */
  fork(options?: { readonly at?: number; readonly keepKey?: boolean }): Promise<Session<Output>>;
  remove(): Promise<void>;
}

/** What a plugin wrote down with `record`, or that it ended a call in place of its tool. */
export type HookRecord =
  | { readonly type: "recorded"; readonly plugin: string; readonly data: Json }
  | { readonly type: "decided"; readonly plugin: string; readonly callId: string; readonly status: ToolStatus };

export type RunResult<Output = string> = {
  readonly status: "finished" | "waiting";
  readonly reason?: StopReason;
  /** Text of the last message of the model. */
  readonly text: string;
  readonly output?: Output;
  /** Open requests of a waiting run. */
  readonly requests: readonly OpenRequest[];
  /** What this run added to the conversation. */
  readonly messages: readonly Message[];
  readonly usage: Usage;
  /** `usage` with that of all sub-agents. */
  readonly treeUsage: Usage;
  readonly turns: number;
  readonly error?: Problem;
  /** Of the input that started the run. */
  readonly tags?: Tags;
  /** What plugins recorded and decided in this run, in order. */
  readonly hooks: readonly HookRecord[];
};

export interface Run<Output = string> {
  /** For a steer: the run that took it, once it did. */
  readonly id: string;
  readonly inputId: string;
  readonly session: Session<Output>;
  /** From its first fact to `run.finished`, whenever called. Leaving the loop does not stop the run. */
  events(options?: {
    readonly signal?: AbortSignal;
    readonly children?: boolean;
    /** Default true; `false` gives facts only, without deltas, progress and notices. */
    readonly live?: boolean;
  }): AsyncIterable<Envelope>;
  /** Text as it comes; `reset` means that all text since the last turn is void. */
  deltas(): AsyncIterable<{ readonly text: string; readonly reset: boolean }>;
  /** Never throws for what happened in the run. `waiting` when only an answer can move it and this process has no `onRequest`. */
  result(): Promise<RunResult<Output>>;
  /** The final text. Throws unless the run ended with `end-turn`; `error.code` says why. */
  text(): Promise<string>;
  /** The final output, checked by the agent's `output` schema; the text without one. Throws as `text` and `output-invalid`. */
  output(): Promise<Output>;
}
