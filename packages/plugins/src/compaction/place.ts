/** Where a conversation may be cut in two: between turns, never between a call and its result. */

import { type Message, type Part, sizeOf } from "@capstan/core";

/**
 * How many messages from the beginning a summary is to stand for: all but the last `keepTurns` turns and the inputs right
 * before them, fewer turns where those have more than `most` tokens. 0: there is nothing to sum up.
 */
export function placeOf(messages: readonly Message[], keepTurns: number, most: number): number {
  for (let turns = keepTurns; turns >= 0; turns--) {
    const cut = beforeTurns(messages, turns);
    const kept = messages.slice(cut).reduce((sum, message) => sum + sizeOf(message), 0);
    if (kept <= most || turns === 0) return messages.slice(0, cut).some((message) => !isSummary(message)) ? cut : 0;
  }
  return 0;
}

/** A summary that an earlier compaction left. */
export function isSummary({ id }: Message): boolean {
  return id.startsWith("compaction/");
}

function beforeTurns(messages: readonly Message[], turns: number): number {
  const answers = messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
  let cut = turns === 0 ? messages.length : (answers.at(-turns) ?? 0);
  while (cut > 0 && isInput(messages[cut - 1])) cut--;
  return isAfterCalls(messages, cut) ? messages.length : cut;
}

/** Said by a person or a hook: no results, no summary. */
function isInput(message: Message | undefined): boolean {
  if (message === undefined || message.role === "assistant" || isSummary(message)) return false;
  return message.parts.every(({ type }) => type !== "tool-result");
}

function isAfterCalls(messages: readonly Message[], cut: number): boolean {
  const before = messages[cut - 1];
  return before?.role === "assistant" && before.parts.some(isOpenCall);
}

function isOpenCall(part: Part): boolean {
  return part.type === "tool-call" && part.by !== "provider";
}
