/** The one event union: facts (stored, numbered, folded) and live events (shown once, never stored). */

import type { Json } from "./json.ts";
import type { Message, Part, ToolOutput, Usage } from "./message.ts";
import type { Actor, Answer, RequestBody } from "./request.ts";

export type Problem = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly provider?: string;
  readonly status?: number;
};

/** `"41"` after fact 41, `"41.17"` after the 17th live event since fact 41, `"end"` for what comes from now on. */
export type Cursor = string;

export type StopReason =
  | "end-turn"
  | "max-tokens"
  | "max-turns"
  | "deadline"
  | "budget"
  | "refusal"
  | "refused-input"
  | "content-filter"
  | "context-exceeded"
  | "interrupted"
  | "error";
export type TurnReason =
  | "stop"
  | "tool-calls"
  | "length"
  | "content-filter"
  | "refusal"
  | "paused"
  | "context-exceeded"
  | "interrupted"
  | "cut"
  | "error"
  | "other";
/** What a `send` to a busy session does. */
export type IfBusy = "queue" | "steer" | "interrupt" | "reject";

/** Bounds of one run. Times in milliseconds, money in millionths of a US dollar. */
export type Limits = {
  readonly turns?: number;
  readonly wallMs?: number;
  readonly toolMs?: number;
  readonly calls?: number;
  readonly tokens?: number;
  readonly microUsd?: number;
  /** When tokens, calls or money are used up a person is asked for as much again, where one can be asked. Default: the run ends. */
  readonly ask?: boolean;
};
/** Words of the sender that mean nothing to Capstan, such as a ticket number. */
export type Tags = { readonly [name: string]: string };
export type Overrides = {
  readonly model?: string;
  readonly instructions?: string;
  readonly tools?: readonly string[];
  readonly settings?: Json;
  readonly limits?: Limits;
  readonly mode?: string;
  /** JSON Schema of the output, in place of the agent's. */
  readonly outputSchema?: Json;
  readonly tags?: Tags;
  /** Names of the plugins for single runs that take part. */
  readonly plugins?: readonly string[];
};

export type ToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch-mode"
  | "other";
export type ToolStatus = "ok" | "error" | "denied" | "cancelled" | "timeout" | "unknown";
/** What may happen to a call whose outcome a crash left open. Undeclared means `never`. */
export type Rerun = "safe" | "keyed" | "never";
export type WorkspaceRef = { readonly kind: string; readonly root: string };
export type Metadata = { readonly [key: string]: Json };
export type PlanEntry = {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in-progress" | "completed" | "cancelled";
};

/** Of the session of a sub-agent. What its ancestors forbid was written down when it was spawned. */
export type Parent = {
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: string;
  /** 1 for the child of a session without a parent. */
  readonly depth: number;
  /** Agents of the ancestors, the outermost first: their `tool` hooks stand around its calls too. */
  readonly agents: readonly string[];
  /** Rules and modes of the ancestors: a call needs the consent of each. */
  readonly policies: readonly PolicyText[];
};
export type PolicyText = {
  readonly mode: string;
  readonly approvers?: readonly string[];
  readonly tiers: readonly {
    readonly tier: string;
    readonly allow: readonly string[];
    readonly ask: readonly string[];
    readonly deny: readonly string[];
  }[];
};

export type FactBody =
  | {
      readonly type: "session.created";
      readonly sessionId: string;
      readonly agent: string;
      /** The key that opens this session again; `key` is the fact's own. */
      readonly sessionKey?: string;
      readonly title?: string;
      readonly metadata?: Metadata;
      readonly workspace?: WorkspaceRef;
      readonly mode: string;
      readonly parent?: Parent;
      readonly forkedFrom?: { readonly sessionId: string; readonly seq: number };
      readonly actor: Actor;
    }
  | {
      readonly type: "session.updated";
      readonly title?: string;
      readonly metadata?: Metadata;
      readonly mode?: string;
      readonly model?: string;
      readonly addRules?: readonly string[];
      /** Of the model call that made this change. */
      readonly usage?: Usage;
      readonly actor: Actor;
    }
  | {
      /** `runId` of this fact is the run the input starts, unless a running one takes it as a steer. */
      readonly type: "input.accepted";
      readonly inputId: string;
      readonly parts: readonly Part[];
      readonly ifBusy: IfBusy;
      readonly overrides?: Overrides;
      readonly actor: Actor;
    }
  /** `runId` of this fact is the run that will not start. */
  | { readonly type: "input.withdrawn"; readonly inputId: string; readonly actor: Actor }
  | {
      readonly type: "run.started";
      readonly trigger: "input" | "task" | "schedule";
      readonly inputId: string;
      readonly agentHash: string;
      readonly limits: Limits;
    }
  /** `by`: a lost hold, else what the run was suspended on. */
  | { readonly type: "run.resumed"; readonly epoch: number; readonly by: "recovery" | "answer" | "timer" | "child" }
  | { readonly type: "run.suspended"; readonly on: readonly string[] }
  | {
      readonly type: "run.finished";
      readonly reason: StopReason;
      /** In charge at the end. */
      readonly agent?: string;
      readonly usage: Usage;
      readonly turns: number;
      readonly output?: Json;
      readonly error?: Problem;
      /** `usage` and that of all sub-agents, when there were some. */
      readonly treeUsage?: Usage;
      /** Tool calls of the run and of all sub-agents. */
      readonly calls?: number;
      /** Reserved, of the run and of all sub-agents, for model calls whose usage is unknown: counted as spent. */
      readonly lost?: Limits;
      /** Milliseconds that counted towards the deadline, of a sub-agent that has one. */
      readonly wallMs?: number;
    }
  /** Rendered system text and tool list, stored as a blob; requests use the stored bytes. */
  | {
      readonly type: "prefix.set";
      readonly hash: string;
      readonly blob: string;
      readonly cause: string;
      /** Hash of what the agent alone says, when a plugin added to it. */
      readonly base?: string;
    }
  | {
      readonly type: "turn.started";
      readonly turn: number;
      readonly attempt: number;
      readonly model: string;
      readonly prefixHash: string;
      readonly reserved?: Limits;
      /** What the try before this one may have cost: it had begun to answer. */
      readonly lost?: Limits;
    }
  | {
      readonly type: "turn.finished";
      readonly turn: number;
      readonly reason: TurnReason;
      readonly rawReason?: string;
      readonly model: string;
      readonly responseId?: string;
      readonly usage: Usage;
      readonly firstDeltaMs?: number;
      readonly error?: Problem;
    }
  | { readonly type: "message.added"; readonly message: Message; readonly inputId?: string; readonly turn?: number }
  | {
      readonly type: "tool.started";
      readonly callId: string;
      readonly name: string;
      readonly title: string;
      readonly kind: ToolKind;
      readonly input: Json;
      readonly attemptId: string;
      readonly rerun: Rerun;
      readonly flow: boolean;
      readonly idempotencyKey: string;
      readonly toolHash: string;
      readonly confinement: string;
      readonly requestId?: string;
      readonly locations?: readonly { readonly path: string; readonly line?: number }[];
      readonly server?: string;
    }
  | {
      readonly type: "tool.finished";
      readonly callId: string;
      readonly name: string;
      readonly status: ToolStatus;
      readonly output: ToolOutput;
      readonly durationMs: number;
      /** Plugin whose hook answered or refused the call in place of the tool. */
      readonly by?: string;
      /** The agent that takes over the session as soon as no call of the turn is left. */
      readonly handoff?: string;
    }
  /** Intent of one step of a flow or hook that is not `safe`; absent for `safe` ones. `name` is the step's key in its action. */
  | {
      readonly type: "step.started";
      readonly name: string;
      readonly attemptId: string;
      readonly rerun: Rerun;
      /** Set aside for the model that the step asks. */
      readonly reserved?: Limits;
    }
  /** `failed`: the step threw this; code that runs again gets the same error. */
  | {
      readonly type: "step.finished";
      readonly name: string;
      readonly value: Json;
      readonly failed?: string;
      /** Of the model that the step asked. */
      readonly usage?: Usage;
      /** What may have been spent where nobody said how much. */
      readonly lost?: Limits;
    }
  | {
      readonly type: "request.opened";
      readonly requestId: string;
      readonly request: RequestBody;
      readonly expiresAt: number;
    }
  | {
      readonly type: "request.resolved";
      readonly requestId: string;
      readonly answer: Answer;
      readonly by: Actor | { readonly id: "rule" | "expiry" | "interrupt" };
    }
  | {
      readonly type: "task.started";
      readonly taskId: string;
      readonly kind: "agent" | "command" | "mcp";
      readonly callId?: string;
      readonly childSessionId?: string;
      readonly title: string;
      readonly background: boolean;
      readonly grant?: Limits;
    }
  | {
      readonly type: "task.finished";
      readonly taskId: string;
      readonly status: "completed" | "failed" | "stopped" | "lost";
      readonly summary: string;
      /** The child's structured answer. */
      readonly output?: Json;
      /** Of the child and everything below it. */
      readonly usage?: Usage;
      readonly calls?: number;
      /** Beside `usage`, what may have been spent by model calls whose usage is unknown. */
      readonly lost?: Limits;
      /** Milliseconds that it worked, where there is a deadline. */
      readonly wallMs?: number;
    }
  | { readonly type: "plan.updated"; readonly entries: readonly PlanEntry[] }
  | {
      readonly type: "context.compacted";
      readonly trigger: "auto" | "manual" | "overflow";
      readonly throughSeq: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly summary: readonly Part[];
      /** Of everything summed up. */
      readonly labels?: readonly string[];
    }
  /** `plugin/<name>` is a plugin's own state, never shown at doors. */
  | { readonly type: "data"; readonly name: string; readonly id?: string; readonly data: Json };

/**
 * A fact to be appended. `key` is derived and unique in the session (`<runId>/turn/3/message`, `call/<callId>/started`):
 * appending a known key returns the stored fact.
 */
export type NewFact = FactBody & { readonly key: string; readonly runId?: string };
/** A stored fact: `seq` is 1, 2, 3 ... in its session, `at` the time of its append. */
export type Fact = NewFact & { readonly seq: number; readonly at: number };
export type FactOf<Type extends FactBody["type"]> = Extract<Fact, { readonly type: Type }>;

export type LiveBody =
  | {
      readonly type: "turn.reset";
      readonly turn: number;
      readonly attempt: number;
      readonly error: Problem;
      readonly delayMs: number;
    }
  | {
      readonly type: "block.started";
      readonly messageId: string;
      readonly blockId: string;
      readonly block:
        | { readonly type: "text" | "reasoning" }
        | { readonly type: "tool-input"; readonly callId: string; readonly name: string };
    }
  /** `offset` in UTF-16 units from the start of the block: deltas are idempotent. */
  | {
      readonly type: "text.delta" | "reasoning.delta" | "tool-input.delta";
      readonly blockId: string;
      readonly offset: number;
      readonly delta: string;
    }
  | { readonly type: "block.finished"; readonly messageId: string; readonly blockId: string; readonly part: Part }
  | {
      readonly type: "tool.progress";
      readonly callId: string;
      readonly stream?: "stdout" | "stderr";
      readonly chunk?: string;
      readonly offset?: number;
      readonly progress?: number;
      readonly total?: number;
      readonly message?: string;
    }
  | { readonly type: "task.progress"; readonly taskId: string; readonly message: string }
  | {
      readonly type: "usage.updated";
      readonly contextTokens: number;
      readonly contextSize: number;
      readonly session: Usage;
    }
  | {
      readonly type: "notice";
      readonly severity: "info" | "warning" | "error";
      readonly code: string;
      readonly title: string;
      readonly detail?: string;
    }
  | { readonly type: "data.live"; readonly name: string; readonly data: Json };
/** A live event carries the `seq` of the last fact before it and `eph` = 1, 2, 3 ... since that fact. */
export type Live = LiveBody & {
  readonly seq: number;
  readonly eph: number;
  readonly at: number;
  readonly runId?: string;
};

export type Event = Fact | Live;
/** What a subscriber receives. */
export type Envelope = {
  readonly sessionId: string;
  readonly agent: string;
  readonly parent?: { readonly sessionId: string; readonly callId: string };
  readonly event: Event;
};

export function isLive(event: Event): event is Live {
  return "eph" in event;
}

/** The cursor after this event. */
export function cursorOf(event: Event): Cursor {
  return isLive(event) ? `${event.seq}.${event.eph}` : String(event.seq);
}
