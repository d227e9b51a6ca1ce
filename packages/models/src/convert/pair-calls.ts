/** Which result belongs to which call, in a conversation where ids may be repeated and results lie anywhere. Pure. */

import type { Part, ToolCallPart, ToolResultPart } from "@capstan/core";
import type { Draft, RepairCode } from "./draft.ts";

export type PairedCall = {
  /** With an id that no other call of the conversation has. */
  readonly part: ToolCallPart;
  /** Index of the draft that holds it. */
  readonly draft: number;
  result?: ToolResultPart;
  /** Index of the draft that held the result. */
  from?: number;
};

/** By their parts; a result that belongs to nothing has no entry. */
export type Pairs = ReadonlyMap<Part, PairedCall>;

export function pairCalls(
  drafts: readonly Draft[],
  note: (code: RepairCode, at: number, detail: string) => void,
): Pairs {
  const pairs = new Map<Part, PairedCall>();
  const open = new Map<string, PairedCall[]>();
  const used = new Set<string>();
  let lastAnswer = -1;
  /** Whether anything but results came since the last message of the assistant. */
  let interrupted = false;
  for (const [index, { at, role, parts }] of drafts.entries()) {
    if (role === "assistant") {
      lastAnswer = index;
      interrupted = false;
    }
    for (const part of parts) {
      if (part.type === "tool-call") {
        const call: PairedCall = { part: { ...part, callId: freshId(part.callId, used) }, draft: index };
        if (used.has(part.callId) && part.callId !== call.part.callId) note("id-repeated", at, part.callId);
        used.add(call.part.callId);
        pairs.set(part, call);
        if (part.by === "provider") continue;
        const before = open.get(part.callId) ?? [];
        // an id that comes again in a later message names the new call
        open.set(part.callId, before[0]?.draft === index ? [...before, call] : [call]);
      } else if (part.type === "tool-result") {
        const calls = open.get(part.callId);
        const call = calls?.find(({ result }) => result === undefined);
        if (call === undefined) note(calls === undefined ? "result-orphaned" : "result-repeated", at, part.callId);
        else {
          Object.assign(call, { result: part, from: index });
          pairs.set(part, call);
          if (call.draft !== lastAnswer || interrupted || role === "assistant") note("result-moved", at, part.callId);
        }
      } else if (role !== "assistant") interrupted = true;
    }
  }
  return pairs;
}

function freshId(id: string, used: ReadonlySet<string>): string {
  const base = id === "" ? "call" : id;
  let fresh = base;
  for (let count = 2; used.has(fresh); count++) fresh = `${base}/${count}`;
  return fresh;
}
