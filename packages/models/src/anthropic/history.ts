/** The message list of a request. Each message is encoded once and kept by identity; a turn joins the kept texts. */

import type { Message, ToolCallPart } from "@capstan/core";
import { derivedId, ownSeal } from "../provider/call.ts";
import { startsWith } from "../provider/encoded-messages.ts";
import { type Blobs, blobsOf } from "../provider/files.ts";
import { memberOf } from "../provider/json.ts";
import { systemText } from "../provider/system-text.ts";
import { ANTHROPIC, type Block, type BlockContext, inAnswer, textBlock, toBlock } from "./blocks.ts";

/** One message as `,{"role":...,"content":[...]}` with the places where it can be cut. */
type Encoded = {
  readonly role: "user" | "assistant";
  readonly json: string;
  /** Where the tool results end and the other blocks begin; the same as `from` when there are none. */
  readonly resultsEnd: number;
  /** Where a cache marker goes: before the closing brace of the last block that may carry one. 0 when none may. */
  readonly markAt: number;
  readonly calls: readonly Call[];
  /** The messages whose calls this one answers: its ids come from them. */
  readonly answers?: readonly Encoded[];
};
type Call = { readonly callId: string; readonly id: string };

/** Nothing that the provider would accept is in this message. */
const NOTHING = "nothing";

const OPEN = { user: ',{"role":"user","content":[', assistant: ',{"role":"assistant","content":[' } as const;
const CLOSE = "]}";
const CACHE_CONTROL = ',"cache_control":{"type":"ephemeral"}';
const WIRE_ID = /^[a-zA-Z0-9_-]{1,128}$/;

export interface HistoryEncoder {
  /**
   * Segments of the JSON array's content. `cache` are indexes of messages that get a marker on their last block that may
   * carry one, or on the nearest such block before. Of more than `maxMarkers` the last ones count.
   */
  encode(messages: readonly Message[], cache: readonly number[], maxMarkers: number, blobs: Blobs): string[];
  /** Blobs that `encode` will need and that it has not encoded before. */
  missingBlobs(messages: readonly Message[]): readonly string[];
}

/** How far a conversation has been walked. The next turn goes on from there as long as its beginning is the same. */
type Walk = {
  readonly messages: Message[];
  readonly entries: (Encoded | undefined)[];
  readonly usedIds: Set<string>;
  /** Messages whose calls the next user message answers. */
  sources: Encoded[];
  lastRole: Encoded["role"] | undefined;
};

/** One encoder a model: thinking is encoded for `modelId` only. Forgets messages that nobody holds any more. */
export function historyEncoder(modelId: string, options: { readonly images: boolean }): HistoryEncoder {
  const known = new WeakMap<Message, Encoded | typeof NOTHING>();
  /** By the first message of the conversation. */
  const walks = new WeakMap<Message, Walk>();

  function walkOf(messages: readonly Message[]): Walk | undefined {
    const walk = messages[0] === undefined ? undefined : walks.get(messages[0]);
    return walk !== undefined && startsWith(messages, walk.messages) ? walk : undefined;
  }

  function encoded(message: Message, walk: Walk, blobs: Blobs): Encoded | undefined {
    const { sources, usedIds } = walk;
    const context = { modelId, ...options, blobs };
    let entry = known.get(message);
    if (entry === undefined || (entry !== NOTHING && !sameSources(entry.answers, sources))) {
      entry = encodeMessage(message, sources, context, false);
      known.set(message, entry);
    }
    if (entry !== NOTHING && entry.calls.some(({ id }) => usedIds.has(id))) {
      entry = encodeMessage(message, sources, context, true);
    }
    return entry === NOTHING ? undefined : entry;
  }

  return {
    missingBlobs(messages) {
      const from = walkOf(messages)?.messages.length ?? 0;
      return messages.slice(from).flatMap((message) => (known.has(message) ? [] : blobsOf(message)));
    },
    encode(messages, cache, maxMarkers, blobs) {
      const walk = walkOf(messages) ?? {
        messages: [],
        entries: [],
        usedIds: new Set(),
        sources: [],
        lastRole: undefined,
      };
      for (const message of messages.slice(walk.messages.length)) {
        take(walk, message, encoded(message, walk, blobs));
      }
      if (messages[0] !== undefined) walks.set(messages[0], walk);
      return join(walk.entries, markedEntries(walk.entries, cache, maxMarkers));
    },
  };
}

function take(walk: Walk, message: Message, entry: Encoded | undefined): void {
  walk.messages.push(message);
  walk.entries.push(entry);
  if (entry === undefined) return;
  if (entry.role === "assistant" && walk.lastRole !== "assistant") walk.sources = [];
  walk.lastRole = entry.role;
  if (entry.calls.length === 0) return;
  walk.sources.push(entry);
  for (const { id } of entry.calls) walk.usedIds.add(id);
}

function sameSources(answers: readonly Encoded[] | undefined, sources: readonly Encoded[]): boolean {
  if (answers === undefined) return true;
  return answers.length === sources.length && answers.every((answer, index) => answer === sources[index]);
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

type EncodeContext = Pick<BlockContext, "modelId" | "images" | "blobs">;

function encodeMessage(
  message: Message,
  sources: readonly Encoded[],
  given: EncodeContext,
  freshIds: boolean,
): Encoded | typeof NOTHING {
  const calls: Call[] = [];
  const context: BlockContext = {
    ...given,
    idOfCall: (part) => {
      const own = freshIds ? undefined : ownId(part);
      const id = own === undefined || calls.some((call) => call.id === own) ? derivedId(part.callId) : own;
      calls.push({ callId: part.callId, id });
      return id;
    },
    idOfResult: (callId) => idAmong(sources, callId) ?? derivedId(callId),
  };
  const role = message.role === "assistant" ? "assistant" : "user";
  if (message.role === "system") {
    const block = textBlock(systemText(message));
    return encodedOf(role, block === undefined ? [] : [block], [], undefined);
  }
  const parts = role === "assistant" ? message.parts.map((part) => inAnswer(part)) : message.parts;
  const blocks = parts.map((part) => toBlock(part, context)).filter((block) => block !== undefined);
  if (role === "assistant") trimEnd(blocks);
  const answers = blocks.some((block) => block.kind === "result") ? [...sources] : undefined;
  return encodedOf(role, blocks, calls, answers);
}

/** An assistant message may end neither with thinking nor with white space. */
function trimEnd(blocks: Block[]): void {
  while (blocks.at(-1)?.kind === "thinking") blocks.pop();
  const last = blocks.at(-1);
  if (last?.kind !== "content" || !last.json.startsWith('{"type":"text"')) return;
  const { text } = JSON.parse(last.json) as { readonly text: string }; // textBlock made it
  if (text.trimEnd() !== text) blocks.splice(-1, 1, textBlock(text.trimEnd()) ?? last);
}

function encodedOf(
  role: Encoded["role"],
  blocks: readonly Block[],
  calls: readonly Call[],
  answers: readonly Encoded[] | undefined,
): Encoded | typeof NOTHING {
  if (blocks.length === 0) return NOTHING;
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
  return { role, json, resultsEnd, markAt, calls, ...(answers !== undefined && { answers }) };
}

function ownId(part: ToolCallPart): string | undefined {
  const id = memberOf(ownSeal(part.seal, ANTHROPIC.id), "id");
  return typeof id === "string" && WIRE_ID.test(id) ? id : undefined;
}

function idAmong(sources: readonly Encoded[], callId: string): string | undefined {
  for (const source of sources) {
    // results stand in the order of their calls: the last segment of our ids counts the calls of a message
    const near = source.calls[Number(callId.slice(callId.lastIndexOf("/") + 1))];
    const call = near?.callId === callId ? near : source.calls.find((item) => item.callId === callId);
    if (call !== undefined) return call.id;
  }
  return undefined;
}
