/** The conversation of a program's session: its code, the calls that it made, and their results. */

import { CapstanError, type Json, type Message, textOf, type ToolCallPart, type ToolOutput } from "@capstan/core";
import type { ProgramCall, ProgramResult } from "./program.ts";

/** Calls that were made together, with their results in their order. */
export type Round = {
  readonly ids: readonly string[];
  readonly calls: readonly ProgramCall[];
  readonly results: readonly ProgramResult[];
};
/** `answer`: what the program ended with, when it has. */
export type ProgramHistory = { readonly code: string; readonly rounds: readonly Round[]; readonly answer?: string };

/** Throws `flow-diverged` when a plugin took messages out: nothing else is known of what was done. */
export function programHistory(messages: readonly Message[]): ProgramHistory {
  const [first] = messages;
  if (first?.role !== "user" || first.id.startsWith("compaction/"))
    throw new CapstanError("flow-diverged", "The program is gone: its session was summed up. Keep compaction from it");
  const outputs = new Map(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool-result" ? [[part.callId, part.output] as const] : [])),
    ),
  );
  const rounds: Round[] = [];
  let answer: string | undefined;
  for (const { role, parts } of messages) {
    if (role !== "assistant") continue;
    const calls = parts.filter((part) => part.type === "tool-call");
    if (calls.length === 0) answer = textOf(parts);
    else rounds.push(toRound(calls, outputs));
  }
  return { code: textOf(first.parts), rounds, ...(answer !== undefined && { answer }) };
}

function toRound(calls: readonly ToolCallPart[], outputs: ReadonlyMap<string, ToolOutput>): Round {
  return {
    ids: calls.map(({ callId }) => callId),
    calls: calls.map(({ name, input }) => ({ name, input })),
    results: calls.map(({ callId, name }) => toResult(name, outputs.get(callId))),
  };
}

function toResult(name: string, output: ToolOutput | undefined): ProgramResult {
  if (output === undefined) throw new CapstanError("flow-diverged", `The result of ${name} is not in the conversation`);
  const said = textOf(output.content);
  if (output.isError === true) return { error: said === "" ? `${name} failed` : said };
  return { value: output.output ?? parsedText(shownContent(output, said)) };
}

/** What a tool returned as JSON without a schema for it is text here: an object or a list is given as such. */
function parsedText(shown: string): Json {
  if (!/^\s*[[{]/.test(shown)) return shown;
  try {
    return JSON.parse(shown) as Json;
  } catch {
    return shown;
  }
}

/** Text as it is; of files and changed files, that there are some. */
function shownContent({ content }: ToolOutput, said: string): string {
  const others = content.flatMap((part): string[] => {
    if (part.type === "file") return [`[a file: ${part.name ?? part.mediaType}]`];
    return part.type === "diff" && said === "" ? [part.after] : [];
  });
  return [said, ...others].filter((line) => line !== "").join("\n");
}
