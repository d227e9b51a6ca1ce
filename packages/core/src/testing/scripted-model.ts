/** A model that answers from a script: the same history always gets the same reply, also after a crash. */

import type { TurnReason } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Part, Usage } from "../words/message.ts";
import type { Model, ModelCapabilities, ModelEvent, ModelRequest, Price } from "../ports/model.ts";

export type ScriptedTurn = {
  readonly reasoning?: string;
  /** Goes out as the seal of the reasoning. */
  readonly seal?: Json;
  readonly text?: string;
  /** An `input` that is a string stands for arguments that were not JSON. */
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  /** Default `tool-calls` with calls, else `stop`. */
  readonly reason?: TurnReason;
  /** Default: a token for every 4 characters. */
  readonly usage?: Usage;
  /** Thrown before anything is emitted. */
  readonly error?: Error;
  /** The stream ends, without `finish`, after this many deltas. */
  readonly cutAfter?: number;
  /** Awaited after the first delta, or before the finish when there is none. */
  readonly hold?: Promise<unknown>;
  /** Pieces each block is cut into. Default 2. */
  readonly deltas?: number;
};
/** `attempt` is 1 for the first request of a session with this many replies in its history, then 2, 3, ... */
export type ScriptedReply = ScriptedTurn | ((request: ModelRequest, attempt: number) => ScriptedTurn);
export type ScriptedModelOptions = {
  readonly id?: string;
  readonly capabilities?: ModelCapabilities;
  readonly price?: Price;
};
/** `requests`: all that it was asked, oldest first. */
export type ScriptedModel = Model & { readonly requests: readonly ModelRequest[] };

/** Takes the turn by the number of assistant messages in the request; when the script is over it says "Done." */
export function scriptedModel(turns: readonly ScriptedReply[], options: ScriptedModelOptions = {}): ScriptedModel {
  const { id = "scripted/model", capabilities = {}, price } = options;
  const requests: ModelRequest[] = [];
  const attempts = new Map<string, number>();
  return {
    id,
    capabilities,
    ...(price !== undefined && { price: () => price }),
    requests,
    async *stream(request) {
      request.signal.throwIfAborted();
      requests.push({ ...request, messages: [...request.messages] });
      const replies = request.messages.filter(({ role }) => role === "assistant").length;
      const attempt = (attempts.get(`${request.sessionId} ${replies}`) ?? 0) + 1;
      attempts.set(`${request.sessionId} ${replies}`, attempt);
      const reply = turns[replies] ?? { text: "Done." };
      const turn = typeof reply === "function" ? reply(request, attempt) : reply;
      if (turn.error !== undefined) throw turn.error;
      yield* emitted(id, turn, request);
    },
  };
}

async function* emitted(id: string, turn: ScriptedTurn, request: ModelRequest): AsyncGenerator<readonly ModelEvent[]> {
  const { signal } = request;
  let deltas = 0;
  let hold = turn.hold;
  yield [{ type: "start", model: id }];
  for (const batch of batches(turn)) {
    if (deltas === turn.cutAfter) return;
    signal.throwIfAborted();
    yield batch;
    if (!batch.some(({ type }) => type === "block-delta")) continue;
    deltas++;
    if (hold !== undefined) await unlessAborted(hold, signal);
    hold = undefined;
  }
  if (hold !== undefined) await unlessAborted(hold, signal);
  if (turn.cutAfter !== undefined) return;
  signal.throwIfAborted();
  const calls = turn.calls ?? [];
  yield [
    {
      type: "finish",
      reason: turn.reason ?? (calls.length > 0 ? "tool-calls" : "stop"),
      usage: turn.usage ?? usageOf(turn, request),
    },
  ];
}

/** One batch a delta; the first brings the start of its block, the end of a block comes alone. */
function* batches(turn: ScriptedTurn): Generator<readonly ModelEvent[]> {
  for (const [index, { start, whole, part }] of blocksOf(turn).entries()) {
    const [first = "", ...others] = pieces(whole, turn.deltas ?? 2);
    yield first === "" ? [start(index)] : [start(index), { type: "block-delta", index, delta: first }];
    for (const delta of others) yield [{ type: "block-delta", index, delta }];
    yield [{ type: "block-end", index, part }];
  }
}

type Block = { readonly start: (index: number) => ModelEvent; readonly whole: string; readonly part: Part };

function blocksOf({ reasoning, seal, text, calls = [] }: ScriptedTurn): readonly Block[] {
  const blocks: Block[] = [];
  if (reasoning !== undefined) {
    blocks.push({
      start: (index) => ({ type: "block-start", index, block: { type: "reasoning" } }),
      whole: reasoning,
      part: {
        type: "reasoning",
        text: reasoning,
        ...(seal !== undefined && { seal: { provider: "scripted", data: seal } }),
      },
    });
  }
  if (text !== undefined) {
    blocks.push({
      start: (index) => ({ type: "block-start", index, block: { type: "text" } }),
      whole: text,
      part: { type: "text", text },
    });
  }
  for (const [at, { name, input }] of calls.entries()) {
    blocks.push({
      start: (index) => ({ type: "block-start", index, block: { type: "tool-input", name } }),
      whole: typeof input === "string" ? input : JSON.stringify(input),
      part: { type: "tool-call", callId: `call_${at}`, name, input, by: "capstan" },
    });
  }
  return blocks;
}

/** The text in at most `count` pieces of equal length; never cuts a character in two. */
function pieces(text: string, count: number): readonly string[] {
  const characters = Array.from(text);
  const size = Math.max(Math.ceil(characters.length / Math.max(count, 1)), 1);
  const found: string[] = [];
  for (let at = 0; at < characters.length; at += size) found.push(characters.slice(at, at + size).join(""));
  return found;
}

/** What messages and tool lists weigh: their objects keep their identity from turn to turn. */
const weights = new WeakMap<object, number>();

function usageOf(turn: ScriptedTurn, { system, tools, messages }: ModelRequest): Usage {
  const input = system.length + [tools, ...messages].reduce((sum, item) => sum + weightOf(item), 0);
  const output = blocksOf(turn).reduce((sum, { whole }) => sum + whole.length, 0);
  return { inputTokens: Math.ceil(input / 4), outputTokens: Math.ceil(output / 4) };
}

function weightOf(item: object): number {
  const known = weights.get(item);
  if (known !== undefined) return known;
  const weight = JSON.stringify(item).length;
  weights.set(item, weight);
  return weight;
}

async function unlessAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
