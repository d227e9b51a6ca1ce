/** Tool calls and inputs as items of the conversation. */

import {
  type DiffPart,
  type FactOf,
  type Message,
  textOf,
  type ToolCallPart,
  type ToolOutput,
  type ToolStatus,
} from "@capstan/core";
import { TERMINAL_LIMITS } from "../limits.ts";
import type { ToolItem } from "./item.ts";

/** What names a file in an input, and is shown as one. */
const ATTACHED = /\n*<attachment>([^<>\n]{1,4096})<\/attachment>/g;

export function blankTool(id: string, name: string): ToolItem {
  return {
    type: "tool",
    id,
    name,
    title: name,
    kind: undefined,
    input: null,
    status: "proposed",
    live: false,
    progress: "",
    activity: undefined,
    durationMs: undefined,
    output: "",
    diffs: [],
    by: undefined,
  };
}

export function proposedTool({ callId, name, input }: ToolCallPart): ToolItem {
  return { ...blankTool(callId, name), input };
}

export function runningTool(fact: FactOf<"tool.started">, before: ToolItem | undefined): ToolItem {
  const { callId, name, title, kind, input } = fact;
  return { ...(before ?? blankTool(callId, name)), title, kind, input, status: "running", progress: "", live: false };
}

type Finished = {
  readonly callId: string;
  readonly name: string;
  readonly status: ToolStatus;
  readonly output: ToolOutput;
  readonly durationMs?: number;
  readonly by?: string;
};

export function finishedTool(
  { callId, name, status, output, durationMs, by }: Finished,
  before: ToolItem | undefined,
): ToolItem {
  const text = textOf(output.content);
  return {
    ...(before ?? blankTool(callId, name)),
    status,
    live: false,
    progress: "",
    activity: undefined,
    durationMs,
    output:
      text.length > TERMINAL_LIMITS.outputCharacters
        ? `${text.slice(0, TERMINAL_LIMITS.outputCharacters)}\n(${text.length - TERMINAL_LIMITS.outputCharacters} more characters)`
        : text,
    diffs: output.content.flatMap((part): readonly DiffPart[] => (part.type === "diff" ? [part] : [])).slice(0, 20),
    by,
  };
}

/** What the person said, without the marks of attached files and without what was read of them. */
export function userText({ parts }: Message): string {
  const [first] = parts.filter((part) => part.type === "text");
  return (first?.text ?? "").slice(0, TERMINAL_LIMITS.textCharacters).replace(ATTACHED, "").trim();
}

export function filesOf({ parts }: Message): readonly string[] {
  const [first] = parts.filter((part) => part.type === "text");
  const named = Array.from((first?.text ?? "").matchAll(ATTACHED), ([, path = ""]) => path);
  const files = parts.flatMap((part) => (part.type === "file" ? [part.name ?? part.mediaType] : []));
  return [...named, ...files].slice(0, 32);
}
