/** The message list of a request: messages of one role become one, results stand first, cache markers where they may. */

import type { Message, ModelRequest } from "@capstan/core";
import { type EncodeContext, messageEncoder } from "../provider/encoded-messages.ts";
import { systemText } from "../provider/system-text.ts";
import { ANTHROPIC, type Block, type BlockContext, inAnswer, textBlock, toBlock } from "./blocks.ts";

/** One message as `,{"role":...,"content":[...]}` with the places where it can be cut. */
type Encoded = {
  readonly role: "user" | "assistant";
  readonly json: string;
  /** Where the tool results end and the other blocks begin; where the list begins when there are none. */
  readonly resultsEnd: number;
  /** Where a cache marker goes: before the closing brace of the last block that may carry one. 0 when none may. */
  readonly markAt: number;
};

const OPEN = { user: ',{"role":"user","content":[', assistant: ',{"role":"assistant","content":[' } as const;
const CLOSE = "]}";
const CACHE_CONTROL = ',"cache_control":{"type":"ephemeral"}';

/**
 * Segments of the JSON array's content. `cache` are indexes of messages that get a marker on their last block that may
 * carry one, or on the nearest such block before. Of more than `maxMarkers` the last ones count.
 */
export type HistoryEncoder = (
  request: Pick<ModelRequest, "messages" | "blob">,
  cache: readonly number[],
  maxMarkers: number,
) => Promise<string[]>;

export type HistoryOptions = Omit<BlockContext, keyof EncodeContext>;

/** One encoder a model. */
export function historyEncoder({ modelId, images }: HistoryOptions): HistoryEncoder {
  const encode = messageEncoder(ANTHROPIC.id, (message, context) =>
    encodeMessage(message, { ...context, modelId, images }),
  );
  return async ({ messages, blob }, cache, maxMarkers) => {
    const entries = await encode(messages, blob);
    return join(entries, markedEntries(entries, cache, maxMarkers));
  };
}

function markedEntries(entries: readonly (Encoded | undefined)[], cache: readonly number[], max: number): number[] {
  const marked = new Set<number>();
  for (const index of cache.toSorted((a, b) => a - b)) {
    let at = Math.min(index, entries.length - 1);
    while (at >= 0 && (entries[at]?.markAt ?? 0) === 0) at--;
    if (at >= 0) marked.add(at);
  }
  return max === 0 ? [] : [...marked].slice(-max);
}

/** Messages of the same role that stand side by side become one; tool results come first in it. */
function join(entries: readonly (Encoded | undefined)[], marked: readonly number[]): string[] {
  const segments: string[] = [];
  let start = 0;
  let role: string | undefined;
  let size = 0;
  const flush = (end: number): void => {
    const only = size === 1 && !marked.some((index) => index >= start && index < end) ? entries[start] : undefined;
    if (only !== undefined) segments.push(only.json);
    else if (size > 0) joinGroup(segments, entries, start, end, marked);
  };
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index];
    if (entry === undefined) continue;
    if (entry.role === role) size++;
    else {
      flush(index);
      ({ role } = entry);
      start = index;
      size = 1;
    }
  }
  flush(entries.length);
  const [first] = segments;
  if (first !== undefined) segments[0] = first.slice(1);
  return segments;
}

function joinGroup(
  segments: string[],
  entries: readonly (Encoded | undefined)[],
  start: number,
  end: number,
  marked: readonly number[],
): void {
  const results: string[] = [];
  const others: string[] = [];
  let open = "";
  for (let index = start; index < end; index++) {
    const entry = entries[index];
    if (entry === undefined) continue;
    open = OPEN[entry.role];
    const { json, resultsEnd, markAt } = entry;
    const cut = json.length - CLOSE.length;
    const mark = marked.includes(index) ? markAt : 0;
    if (resultsEnd > open.length) results.push(slice(json, open.length, resultsEnd, mark));
    const from = resultsEnd > open.length ? resultsEnd + 1 : open.length; // behind the comma
    if (from < cut) others.push(slice(json, from, cut, mark));
  }
  segments.push(open, [...results, ...others].join(","), CLOSE);
}

function slice(json: string, from: number, to: number, mark: number): string {
  if (mark <= from || mark >= to) return json.slice(from, to);
  return json.slice(from, mark) + CACHE_CONTROL + json.slice(mark, to);
}

/** Undefined when the provider would accept nothing of it. */
function encodeMessage(message: Message, context: BlockContext): Encoded | undefined {
  if (message.role === "system") {
    const block = textBlock(systemText(message));
    return block && encodedOf("user", [block]);
  }
  const parts = message.role === "assistant" ? message.parts.map((part) => inAnswer(part)) : message.parts;
  const blocks = parts.map((part) => toBlock(part, context)).filter((block) => block !== undefined);
  if (message.role === "assistant") trimEnd(blocks);
  return blocks.length === 0 ? undefined : encodedOf(message.role, blocks);
}

/** An assistant message may end neither with thinking nor with white space. */
function trimEnd(blocks: Block[]): void {
  while (blocks.at(-1)?.kind === "thinking") blocks.pop();
  const last = blocks.at(-1);
  if (last?.kind !== "content" || !last.json.startsWith('{"type":"text"')) return;
  const { text } = JSON.parse(last.json) as { readonly text: string }; // textBlock made it
  if (text.trimEnd() !== text) blocks.splice(-1, 1, textBlock(text.trimEnd()) ?? last);
}

function encodedOf(role: Encoded["role"], blocks: readonly Block[]): Encoded {
  const results = blocks.filter((block) => block.kind === "result").map((block) => block.json);
  const others = blocks.filter((block) => block.kind !== "result");
  // An array's join makes one flat text; `+` and templates would be put together again on every turn.
  const json = [OPEN[role], [...results, ...others.map((block) => block.json)].join(","), CLOSE].join("");
  const resultsEnd = OPEN[role].length + results.join(",").length;
  let markAt = json.length - CLOSE.length - 1;
  for (let index = others.length - 1; index >= 0 && others[index]?.kind !== "content"; index--) {
    markAt -= (others[index]?.json.length ?? 0) + 1;
    if (index === 0 && results.length === 0) markAt = 0;
  }
  return { role, json, resultsEnd, markAt };
}
