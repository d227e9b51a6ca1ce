/** What stands in the conversation, one thing an item. Items are replaced, never changed: what was drawn of one stays right. */

import type { DiffPart, Json, ToolKind, ToolStatus, Usage } from "@capstan/core";

export type Item = UserItem | TextItem | ToolItem | NoteItem | EndItem;
export type UserItem = {
  readonly type: "user";
  readonly id: string;
  readonly text: string;
  /** Names of files that came with it. */
  readonly files: readonly string[];
};
export type TextItem = {
  readonly type: "text" | "reasoning";
  readonly id: string;
  readonly text: string;
  /** Still being written, or void if the turn is tried again. */
  readonly live: boolean;
};
export type ToolItem = {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind | undefined;
  readonly input: Json;
  readonly status: "writing" | "proposed" | "running" | ToolStatus;
  readonly live: boolean;
  /** The end of what it wrote so far, or what it says of its progress. */
  readonly progress: string;
  /** What a sub-agent does now. */
  readonly activity: string | undefined;
  readonly durationMs: number | undefined;
  readonly output: string;
  readonly diffs: readonly DiffPart[];
  readonly by: string | undefined;
};
export type NoteItem = {
  readonly type: "note";
  readonly id: string;
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
};
export type EndItem = {
  readonly type: "end";
  readonly id: string;
  readonly reason: string;
  readonly problem: string | undefined;
  readonly usage: Usage;
  readonly turns: number;
  readonly durationMs: number | undefined;
};
