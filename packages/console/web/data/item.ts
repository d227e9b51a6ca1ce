/** What a conversation shows, one thing below another. */

import type {
  Answer,
  Json,
  Part,
  PlanEntry,
  Problem,
  RequestBody,
  StopReason,
  ToolKind,
  ToolOutput,
  ToolStatus,
  Usage,
} from "@capstan/core";

export type CallStatus = "writing" | "proposed" | "asking" | "running" | ToolStatus;

type Place = { readonly id: string; readonly seq: number; readonly at: number };
export type UserItem = Place & { readonly kind: "user"; readonly parts: readonly Part[]; readonly steer: boolean };
export type ProseItem = Place & { readonly kind: "text" | "reasoning"; readonly text: string; readonly live: boolean };
export type CallItem = Place & {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly title: string;
  readonly toolKind: ToolKind;
  readonly status: CallStatus;
  readonly input: Json;
  /** The end of what the tool said while it ran. */
  readonly progress: string;
  readonly output?: ToolOutput;
  readonly durationMs?: number;
  /** Plugin that answered in place of the tool. */
  readonly by?: string;
  readonly confinement?: string;
  readonly childSessionId?: string;
};
export type AnsweredItem = Place & {
  readonly kind: "answered";
  readonly request: RequestBody;
  readonly answer: Answer;
  readonly by: string;
};
export type EndItem = Place & {
  readonly kind: "end";
  readonly reason: StopReason;
  readonly usage: Usage;
  readonly turns: number;
  readonly ms?: number;
  readonly error?: Problem;
};
export type PlanItem = Place & { readonly kind: "plan"; readonly entries: readonly PlanEntry[] };
export type NoteItem = Place & {
  readonly kind: "note";
  readonly tone: "info" | "warning" | "error";
  readonly title: string;
  readonly detail?: string;
};
export type Item = UserItem | ProseItem | CallItem | AnsweredItem | EndItem | PlanItem | NoteItem;
