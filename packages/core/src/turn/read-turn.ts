/** Reads one model stream: shows each batch live, keeps the finished parts, and says how the stream ended. */

import type { Hold } from "../hold/hold.ts";
import { endedOrIgnored, IGNORED } from "../hold/stop.ts";
import type { ModelEvent } from "../ports/model.ts";
import type { Clock } from "../words/clock.ts";
import { CapstanError, toProblem } from "../words/errors.ts";
import type { LiveBody, Problem, TurnReason } from "../words/event.ts";
import { NO_USAGE, type Part, type Usage } from "../words/message.ts";
import { answerCut, checkedPart, checkedReason, checkedUsage, checkLength } from "../words/model-part.ts";

/** Plain data: engines may store it as the value of the model step. */
export type TurnResult = {
  readonly reason: TurnReason;
  readonly parts: readonly Part[];
  readonly usage: Usage;
  readonly model?: string;
  readonly responseId?: string;
  readonly rawReason?: string;
  readonly firstDeltaMs?: number;
  readonly problem?: Problem;
  readonly retryAfterMs?: number;
};
type TurnNames = { readonly turn: number; readonly attempt: number; readonly runId: string };

type Block = {
  readonly id: string;
  readonly kind: "text" | "reasoning" | "tool-input";
  readonly callId?: string;
  text: string;
  shown: number;
  readonly redact?: Cleaner;
};
type Cleaner = { push(delta: string): string; end(): string };
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Never throws for what the model or its wire did; an abort ends as `interrupted` with what had come by then. */
export async function readTurn(
  hold: Hold,
  names: TurnNames,
  open: (signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>,
): Promise<TurnResult> {
  const reader = new TurnReader(hold, names);
  const stop = hold.stop({ halts: true });
  const stream = (): AsyncIterable<readonly ModelEvent[]> => open(stop.signal);
  try {
    // a model that does not hear its signal must not hold up an interrupt
    if ((await endedOrIgnored(hold.definitions.clock, reader.readAll(stream), stop)) === IGNORED)
      return reader.end("interrupted");
  } catch (error) {
    if (reader.finished !== undefined) return reader.end(reader.finished); // what comes after the end changes nothing
    if (hold.stopping) return reader.end("interrupted");
    const known = CapstanError.is(error) ? error : undefined;
    const problem = known === undefined ? { ...toProblem(error), code: "model-failed" } : toProblem(known);
    const reason = known?.code === "model-context-exceeded" ? "context-exceeded" : "error";
    return {
      ...reader.end(reason),
      problem,
      ...(known?.retryAfterMs !== undefined &&
        !Number.isNaN(known.retryAfterMs) && { retryAfterMs: known.retryAfterMs }),
    };
  } finally {
    stop.end();
  }
  if (reader.finished !== undefined) return reader.end(reader.finished);
  if (hold.halted.aborted) return reader.end("interrupted");
  return { ...reader.end("cut"), problem: toProblem(answerCut()) };
}

class TurnReader {
  finished: TurnReason | undefined;
  readonly #hold: Hold;
  readonly #clock: Clock;
  readonly #messageId: string;
  readonly #prefix: string;
  readonly #callPrefix: string;
  #calls = 0;
  #received = 0;
  #ended = false;
  readonly #startedAt: number;
  readonly #blocks = new Map<number, Block>();
  readonly #parts = new Map<number, Part>();
  #meta: Partial<Mutable<TurnResult>> = {};
  #usage: Usage = NO_USAGE;

  constructor(hold: Hold, { turn, attempt, runId }: TurnNames) {
    this.#hold = hold;
    this.#clock = hold.definitions.clock;
    this.#messageId = `${runId}/turn/${turn}/message`;
    this.#prefix = `${runId}/turn/${turn}/${attempt}`;
    this.#callPrefix = `${runId}/${turn}`;
    this.#startedAt = this.#clock.monotonic();
  }

  async readAll(open: () => AsyncIterable<readonly ModelEvent[]>): Promise<void> {
    for await (const batch of open()) {
      if (this.#ended) return;
      this.take(batch);
    }
  }

  take(batch: readonly ModelEvent[]): void {
    const live: LiveBody[] = [];
    for (const event of batch) this.#takeOne(event, live);
    if (live.length > 0) this.#hold.live(live);
  }

  /** Finished parts in the order of their blocks; of an unfinished block only its text is kept. */
  end(reason: TurnReason): TurnResult {
    this.#ended = true;
    const indexes = [...new Set([...this.#blocks.keys(), ...this.#parts.keys()])].toSorted((a, b) => a - b);
    const parts = indexes.flatMap((index) => this.#parts.get(index) ?? this.#unfinished(index));
    return { ...this.#meta, reason, parts, usage: this.#usage };
  }

  #unfinished(index: number): Part[] {
    const block = this.#blocks.get(index);
    return block?.kind === "text" && block.text !== "" ? [{ type: "text", text: block.text }] : [];
  }

  #takeOne(event: ModelEvent, live: LiveBody[]): void {
    switch (event.type) {
      case "start":
        if (typeof event.model === "string") this.#meta.model = event.model;
        if (typeof event.responseId === "string") this.#meta.responseId = event.responseId;
        return;
      case "block-start":
        return this.#startBlock(event, live);
      case "block-delta":
        return this.#delta(event.index, event.delta, live);
      case "block-end":
        return this.#endBlock(event.index, checkedPart(event.part), live);
      case "finish":
        this.finished = checkedReason(event.reason);
        this.#usage = checkedUsage(event.usage);
        if (typeof event.rawReason === "string") this.#meta.rawReason = event.rawReason;
        return;
      case "notice":
        return this.#hold.notice("warning", event.code, event.title, event.detail);
      default:
        return event satisfies never;
    }
  }

  #startBlock(event: Extract<ModelEvent, { type: "block-start" }>, live: LiveBody[]): void {
    const { index, block } = event;
    const { redactor } = this.#hold.definitions;
    const id = `${this.#prefix}/${index}`;
    const callId = block.type === "tool-input" ? `${this.#callPrefix}/${this.#calls++}` : undefined;
    const redact = redactor.active ? { redact: redactor.stream() } : {};
    this.#blocks.set(index, {
      id,
      kind: block.type,
      text: "",
      shown: 0,
      ...(callId !== undefined && { callId }),
      ...redact,
    });
    const shown = block.type === "tool-input" ? { type: block.type, callId: callId ?? "", name: block.name } : block;
    live.push({ type: "block.started", messageId: this.#messageId, blockId: id, block: shown });
  }

  #delta(index: number, delta: string, live: LiveBody[]): void {
    const block = this.#blocks.get(index);
    if (block === undefined || delta === "") return;
    this.#received += delta.length;
    checkLength(this.#received);
    this.#meta.firstDeltaMs ??= Math.round(this.#clock.monotonic() - this.#startedAt);
    if (block.kind === "text") block.text += delta;
    this.#show(block, block.redact === undefined ? delta : block.redact.push(delta), live);
  }

  #show(block: Block, delta: string, live: LiveBody[]): void {
    if (delta === "") return;
    live.push({ type: `${block.kind}.delta`, blockId: block.id, offset: block.shown, delta });
    block.shown += delta.length;
  }

  #endBlock(index: number, part: Part, live: LiveBody[]): void {
    const block = this.#blocks.get(index);
    this.#parts.set(index, part);
    if (block === undefined) return;
    if (block.redact !== undefined) this.#show(block, block.redact.end(), live);
    const { redactor } = this.#hold.definitions;
    const named: Part =
      part.type === "tool-call" && block.callId !== undefined ? { ...part, callId: block.callId } : part;
    live.push({
      type: "block.finished",
      messageId: this.#messageId,
      blockId: block.id,
      part: redactor.active ? redactor.json(named) : named,
    });
  }
}
