/** What a session is at one point of its log, and one run of it: all that `decide` needs, without the bodies of the conversation. */

import type {
  FactOf,
  IfBusy,
  Limits,
  Metadata,
  Overrides,
  Parent,
  Problem,
  StopReason,
  TurnReason,
  WorkspaceRef,
} from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Part, ToolCallPart, Usage } from "../words/message.ts";
import type { Actor, Answer, OpenRequest } from "../words/request.ts";

export type QueuedInput = {
  readonly inputId: string;
  /** The run that this input starts, unless a running one takes it as a steer. */
  readonly runId: string;
  readonly parts: readonly Part[];
  readonly ifBusy: IfBusy;
  /** The run that it was sent to interrupt. */
  readonly interrupts?: string;
  readonly overrides?: Overrides;
  readonly actor: Actor;
};

export type CallState = {
  readonly part: ToolCallPart;
  readonly status: "proposed" | "started" | "finished";
  /** Intents written so far, the newest last in effect. */
  readonly attempts: number;
  readonly intent?: FactOf<"tool.started">;
  /** The agent that this call handed the session over to. */
  readonly handoff?: string;
};

export type TurnState = {
  readonly number: number;
  readonly attempt: number;
  /** Absent while the model call is unfinished. */
  readonly reason?: TurnReason;
  readonly error?: Problem;
  /** Set aside for the unfinished call. */
  readonly reserved?: Limits;
  readonly model?: string;
  readonly prefixHash?: string;
};

/** A sub-agent that has not ended, or whose end this session has not heard of. */
export type TaskState = {
  readonly taskId: string;
  readonly runId: string;
  readonly callId?: string;
  readonly childSessionId: string;
  readonly title: string;
  readonly background: boolean;
  readonly grant?: Limits;
};

export type RunState = {
  readonly id: string;
  readonly inputId: string;
  /** In charge when it began: what its input says of instructions is meant for this one. */
  readonly agent: string;
  readonly actor: Actor;
  readonly overrides?: Overrides;
  readonly limits: Limits;
  readonly startedAt: number;
  /** `seq` of its `run.started`. */
  readonly startedSeq: number;
  /** Time spent suspended, not counted by deadlines; `suspendedAt` while it is. */
  readonly suspendedMs: number;
  readonly suspendedAt?: number;
  readonly suspendedForTask?: true;
  /** While sub-agents are waited for: how long it has been, and how long those that have ended worked. */
  readonly awaited?: { readonly ms: number; readonly workedMs: number };
  /** Finished turns. */
  readonly turns: number;
  readonly turn?: TurnState;
  readonly calls: readonly CallState[];
  readonly callsMade: number;
  /** Something was said to the model that it has not answered yet. */
  readonly unanswered: boolean;
  /** Results of `keyed` or `never` calls that are not synced yet: the next turn starts with a sync. */
  readonly unsyncedEffects: boolean;
  /** A hook answered the input itself: the model is not asked. */
  readonly settled: boolean;
  readonly usage: Usage;
  /** Of the sub-agents that have ended. */
  readonly childUsage: Usage;
  readonly childCalls: number;
  /** Reserved for model calls, also of sub-agents, whose end and usage nobody saw: it may have been spent. */
  readonly lost: Limits;
  /** Sub-agents started so far. */
  readonly spawned: number;
  /** Finished steps and resolved requests of the unfinished action, by name and id. */
  readonly steps: { readonly [name: string]: Json };
  /** Messages of the finished steps that failed. */
  readonly stepFailures: { readonly [name: string]: string };
  readonly stepIntents: { readonly [name: string]: string };
  /** Set aside for models that unfinished steps ask. */
  readonly stepReserved: { readonly [name: string]: Limits };
  /** The turn that did not fit, for which room was made last. */
  readonly madeRoomAt?: number;
  readonly answers: { readonly [requestId: string]: ResolvedRequest };
};
export type ResolvedRequest = { readonly answer: Answer; readonly by: FactOf<"request.resolved">["by"] };

export type SessionState = {
  readonly sessionId: string;
  /** In charge now. */
  readonly agent: string;
  readonly openedWith: string;
  readonly key?: string;
  readonly title?: string;
  readonly metadata: Metadata;
  readonly mode: string;
  readonly model?: string;
  /** Rules remembered for this session. */
  readonly rules: readonly string[];
  readonly workspace?: WorkspaceRef;
  readonly parent?: Parent;
  readonly createdAt: number;
  /** `seq` of the newest fact. */
  readonly head: number;
  readonly queue: readonly QueuedInput[];
  readonly run?: RunState | undefined;
  readonly lastRun?: { readonly id: string; readonly reason: StopReason; readonly error?: Problem };
  readonly requests: { readonly [requestId: string]: OpenRequest };
  /** Open sub-agents by task id. */
  readonly tasks: { readonly [taskId: string]: TaskState };
  readonly usage: Usage;
  /** Tokens of the newest model call, in and out: what the context holds. */
  readonly contextTokens: number;
  /** The call that `contextTokens` is of: its answer, its model and its prefix. */
  readonly counted?: { readonly messageId: string; readonly model: string; readonly prefixHash: string } | undefined;
  /** Of `agent`; `base` is the hash of what that alone says. */
  readonly prefix?: { readonly hash: string; readonly blob: string; readonly base: string; readonly agent: string };
  /** What the `instructions` functions returned, by agent. */
  readonly instructions: { readonly [agent: string]: string };
  /** Facts up to here are summed up by the newest compaction. */
  readonly compactedThrough: number;
};

export type SessionStatus = "idle" | "running" | "waiting" | "parked" | "quarantined";
