/** A run as it went, in one file: what each model was asked and said, what each call came to, what people answered, how it ended. */

import { readFile, writeFile } from "node:fs/promises";
import { CapstanError, messageOf, toProblem } from "../words/errors.ts";
import type { Problem, StopReason, ToolStatus, TurnReason } from "../words/event.ts";
import { isArray, type Json } from "../words/json.ts";
import type { Message, Part, ToolOutput, Usage } from "../words/message.ts";
import type { ModelSettings, ToolSpec } from "../ports/model.ts";
import type { Answer, RequestBody } from "../words/request.ts";

/** Messages without ids; calls are numbered in the order in which the session made them. */
export type RecordedMessage = { readonly role: Message["role"]; readonly parts: readonly Part[] };
export type RecordedExchange = {
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly settings: ModelSettings;
  /** So many messages of the request before this one came first. */
  readonly kept: number;
  /** Those behind them. */
  readonly messages: readonly RecordedMessage[];
  /** The provider's parts as the model gave them, or why there are none. */
  readonly reply:
    | { readonly parts: readonly Part[]; readonly reason: TurnReason; readonly usage: Usage }
    | { readonly problem: Problem };
};
export type RecordedCall = {
  readonly name: string;
  readonly input: Json;
  readonly status: ToolStatus;
  readonly output: ToolOutput;
  /** It gave work to sub-agents: it is done again, with their recorded models. */
  readonly spawned: boolean;
};
export type RecordedSession = {
  readonly agent: string;
  /** Text of the first message, which tells sub-agents of one agent apart. */
  readonly task: string;
  readonly exchanges: readonly RecordedExchange[];
  readonly calls: readonly RecordedCall[];
  readonly answers: readonly { readonly type: RequestBody["type"]; readonly answer: Answer }[];
};
export type Recording = {
  readonly type: "capstan-recording";
  readonly version: 1;
  readonly input: readonly Part[];
  /** The session of the run, then those of its sub-agents. */
  readonly sessions: readonly RecordedSession[];
  readonly end: { readonly reason: StopReason; readonly text: string; readonly output?: Json };
};

/** Private to the user: it holds all that was said. */
export async function writeRecording(path: string, recording: Recording): Promise<void> {
  await writeFile(path, `${JSON.stringify(recording, undefined, 1)}\n`, { mode: 0o600 });
}

/** Throws `path-not-found` and `input-invalid`. */
export async function readRecording(path: string): Promise<Recording> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new CapstanError("path-not-found", `The recording cannot be read: ${messageOf(cause)}`, { cause });
  }
  try {
    return parseRecording(JSON.parse(text));
  } catch (cause) {
    throw new CapstanError("input-invalid", `${path} is no recording: ${messageOf(cause)}`, { cause });
  }
}

/** Throws `input-invalid` for what is no recording of this version. */
export function parseRecording(value: unknown): Recording {
  const wrong = (what: string): CapstanError => new CapstanError("input-invalid", `The recording ${what}`);
  if (!isObject(value) || value["type"] !== "capstan-recording") throw wrong("does not say that it is one");
  if (value["version"] !== 1) throw wrong(`is of version ${JSON.stringify(value["version"])}; this Capstan knows 1`);
  const { input, sessions, end } = value;
  if (!isList(input) || !isObject(end) || typeof end["reason"] !== "string" || typeof end["text"] !== "string")
    throw wrong("has no input or no end");
  if (!isList(sessions) || sessions.length === 0 || !sessions.every(isSession)) throw wrong("has no whole sessions");
  return value as Recording; // checked as far as a replay reads it
}

type Members = { readonly [name: string]: Json };

function isSession(value: Json): boolean {
  if (!isObject(value) || typeof value["agent"] !== "string" || typeof value["task"] !== "string") return false;
  const { exchanges, calls, answers } = value;
  if (!isList(exchanges) || !isList(calls) || !isList(answers)) return false;
  return exchanges.every(isExchange) && calls.every(isCall) && answers.every((answer) => isObject(answer));
}

function isExchange(value: Json): boolean {
  if (!isObject(value)) return false;
  const { system, tools, settings, kept, messages, reply } = value;
  const request = typeof system === "string" && isList(tools) && isObject(settings) && Number.isSafeInteger(kept);
  if (!request || !isList(messages) || !isObject(reply)) return false;
  return isObject(reply["problem"]) || (isList(reply["parts"]) && isObject(reply["usage"]));
}

function isCall(value: Json): boolean {
  if (!isObject(value)) return false;
  const { name, input, status, output } = value;
  return (
    typeof name === "string" &&
    input !== undefined &&
    typeof status === "string" &&
    isObject(output) &&
    isList(output["content"])
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return value !== undefined && isArray(value);
}

/** The problem that an error of a model is recorded as. */
export function recordedProblem(error: unknown): Problem {
  return toProblem(error);
}
