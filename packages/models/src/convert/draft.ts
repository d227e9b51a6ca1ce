/** A foreign message on its way to ours, and what had to be put right. */

import type { Json, Message, Part, ToolOutput } from "@capstan/core";
import type { JsonObject } from "../provider/json.ts";

export type RepairCode =
  | "call-unanswered"
  | "file-unreadable"
  | "id-repeated"
  | "message-empty"
  | "message-unreadable"
  | "name-invalid"
  | "part-misplaced"
  | "part-unknown"
  | "result-moved"
  | "result-orphaned"
  | "result-repeated"
  | "role-unknown"
  | "start-missing";

/** One thing that was put right. `at` is the index of the message in the history that was given. */
export type Repair = { readonly code: RepairCode; readonly at: number; readonly detail: string };
export type Note = (code: RepairCode, detail: string) => void;

/**
 * One message as its format has it, with parts of ours. Calls and results are paired by the format's own ids; results may
 * stand in messages of any role. `at` as in `Repair`.
 */
export type Draft = {
  readonly at: number;
  readonly id?: string;
  readonly role: Message["role"];
  readonly parts: readonly Part[];
  readonly labels?: readonly string[];
};
/** Reads one message. A format may put into one message what are several of ours. */
export type ReadMessage = (message: JsonObject, note: Note) => readonly Omit<Draft, "at">[];

/** Undefined for a role that we do not have, which is told. */
export function roleOf(role: Json | undefined, note: Note): Message["role"] | undefined {
  if (role === "user" || role === "assistant" || role === "system") return role;
  note("role-unknown", `a message of role ${JSON.stringify(role ?? null)}`);
  return undefined;
}

/** A result on its way: its call tells the name. */
export function resultOf(callId: string, output: ToolOutput, name = ""): Part {
  return { type: "tool-result", callId, name, output };
}
