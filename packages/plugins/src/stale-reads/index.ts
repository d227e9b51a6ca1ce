/** Leaves what was read of a file before it was edited out of the requests to the model; the conversation keeps it. */

import { CapstanError, type Message, type ModelRequest, type Part, type Plugin, plugin, text } from "@capstan/core";
import { diffSize } from "../diff-size.ts";
import { nextReads, type Own, PLUGIN_NAME, type Read, type Recorded, START } from "./edited-files.ts";

export type StaleReadsOptions = {
  /** How long the provider keeps its cache of a conversation; default 5 minutes, 0 for one that keeps none. */
  readonly cacheMs?: number;
};

const CACHE_MS = 300_000;
/** Shorter results stay: the line in their place would save little. UTF-16 units. */
const LEAST_CHARACTERS = 500;

/**
 * A change in the middle of a conversation voids the provider's cache of all that follows, so it is made where that costs
 * nothing (after a pause longer than the cache, a compaction, a new prefix) or where what is left out is more than what
 * follows it. What was left out once stays left out. Throws `plugin-invalid` for a time that is none.
 */
export function staleReads({ cacheMs = CACHE_MS }: StaleReadsOptions = {}): Plugin {
  if (!Number.isSafeInteger(cacheMs) || cacheMs < 0) {
    throw new CapstanError("plugin-invalid", "staleReads: cacheMs is a whole number of milliseconds from 0 on");
  }
  /** Messages keep their identity from turn to turn, also those that were changed. */
  const changed = new WeakMap<Message, Changed>();
  return plugin<Own>({
    name: PLUGIN_NAME,
    fold: { start: START, next: nextReads },
    async prepare({ messages }, context) {
      const { own } = context;
      if (own.stale.length === 0) return;
      const isCold = own.isCold || own.now - own.askedAt >= cacheMs;
      const chosen = isCold ? staleIn(messages, own.stale).map(({ callId }) => callId) : paying(messages, own.stale);
      if (chosen.length === 0) return;
      await context.record({ leftOut: chosen } satisfies Recorded);
      const cache = isCold ? "" : "; the provider's cache is built anew from there on";
      context.notice("Out-of-date reads left out", `${chosen.length} results of files that were edited since${cache}`);
    },
    model(request, { own }, next) {
      if (own.leftOut.length === 0) return next(request);
      const byCall = new Map(own.leftOut.map((read) => [read.callId, read]));
      const messages = request.messages.map((message) => withoutStale(message, byCall, changed));
      return next({ ...request, messages });
    },
  });
}

type Found = { readonly callId: string; readonly index: number; readonly characters: number };

/** Results that may be left out, in the order of the conversation. */
function staleIn(messages: ModelRequest["messages"], stale: readonly Read[]): readonly Found[] {
  const ids = new Set(stale.map(({ callId }) => callId));
  return messages.flatMap((message, index) =>
    message.parts.flatMap((part) => {
      if (part.type !== "tool-result" || !ids.has(part.callId)) return [];
      const characters = weightOf(part);
      return characters < LEAST_CHARACTERS ? [] : [{ callId: part.callId, index, characters }];
    }),
  );
}

/** From which result on leaving out saves more than what must be cached anew behind it; those from there on. */
function paying(messages: ModelRequest["messages"], stale: readonly Read[]): readonly string[] {
  const found = staleIn(messages, stale);
  let best = { gain: 0, from: found.length };
  let saved = 0;
  let behind = 0;
  let index = messages.length;
  for (let at = found.length - 1; at >= 0; at--) {
    const { index: place, characters } = found[at] ?? { index: 0, characters: 0 };
    while (index > place) behind += messages[--index]?.parts.reduce((sum, part) => sum + weightOf(part), 0) ?? 0;
    saved += characters;
    const gain = saved - (behind - saved);
    if (gain > best.gain) best = { gain, from: at };
  }
  return found.slice(best.from).map(({ callId }) => callId);
}

/** Weights of parts: their objects keep their identity from turn to turn. */
const weights = new WeakMap<Part, number>();

function weightOf(part: Part): number {
  const known = weights.get(part);
  if (known !== undefined) return known;
  const weight =
    part.type === "tool-result"
      ? part.output.content.reduce((sum, item) => sum + (item.type === "diff" ? diffSize(item) : textSize(item)), 0)
      : textSize(part);
  weights.set(part, weight);
  return weight;
}

function textSize(part: Part): number {
  return part.type === "text" ? part.text.length : JSON.stringify(part).length;
}

/** The changed copy of a message, and how many results were left out of it. */
type Changed = { readonly count: number; readonly message: Message };

function withoutStale(
  message: Message,
  leftOut: ReadonlyMap<string, Read>,
  changed: WeakMap<Message, Changed>,
): Message {
  const isOut = (part: Part): Read | undefined => (part.type === "tool-result" ? leftOut.get(part.callId) : undefined);
  const count = message.parts.filter((part) => isOut(part) !== undefined).length;
  if (count === 0) return message;
  const known = changed.get(message);
  if (known?.count === count) return known.message; // what is left out once stays so
  const parts = message.parts.map((part): Part => {
    const read = isOut(part);
    if (read === undefined || part.type !== "tool-result") return part;
    const { output: _structured, content: _content, ...output } = part.output;
    return { ...part, output: { ...output, content: [text(line(read))] } };
  });
  const made = { ...message, parts };
  changed.set(message, { count, message: made });
  return made;
}

function line({ name }: Read): string {
  return `[Left out: ${JSON.stringify(name)} was edited after this was read. Read it again for what it holds now.]`;
}
