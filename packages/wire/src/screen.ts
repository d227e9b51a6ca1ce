/** What a screen shows of a session's events: live blocks and stored messages joined, each text once, whatever the reader missed. */

import { type Event, type FactOf, INTERRUPT_MARKER, isLive, type Live, type Part, type Problem } from "@capstan/core";

export type ShownBlock = {
  /** 0, 1, 2 ... in its turn. */
  readonly index: number;
  readonly id: string;
  readonly messageId: string;
  readonly kind: "text" | "reasoning" | "tool-input";
  readonly callId?: string;
  readonly name?: string;
};
export type Shown =
  | { readonly type: "turn-started"; readonly turn?: number; readonly model?: string }
  /** All that was shown since `turn-started` is void; what is shown next takes its place. */
  | { readonly type: "turn-reset"; readonly error?: Problem }
  | { readonly type: "block-started"; readonly block: ShownBlock }
  /** New text only: the deltas of a block, joined, are its text. */
  | { readonly type: "block-delta"; readonly block: ShownBlock; readonly delta: string }
  | { readonly type: "block-finished"; readonly block: ShownBlock; readonly part: Part }
  /** A part of an answer that is no block: a file, a source, a result of the provider's own tool. */
  | { readonly type: "part"; readonly part: Part }
  | { readonly type: "turn-finished"; readonly event: FactOf<"turn.finished"> }
  /** Every other event, as it is. */
  | { readonly type: "event"; readonly event: Event };

/** One session's events go in, in order, from any cursor on. Pure: holds what is open in the turn of now, and no more. */
export type Screen = { push(event: Event): readonly Shown[] };

type Open = ShownBlock & { shown: number; finished: boolean };

export function screen(): Screen {
  return new SessionScreen();
}

class SessionScreen implements Screen {
  #turn: { number: number | undefined; stored: boolean } | undefined;
  #blocks = new Map<string, Open>();
  #out: Shown[] = [];

  push(event: Event): readonly Shown[] {
    this.#out = [];
    if (isLive(event)) this.#live(event);
    else this.#fact(event);
    return this.#out;
  }

  #live(event: Live): void {
    switch (event.type) {
      case "turn.reset":
        if (this.#turn !== undefined) this.#reset(event.error);
        return this.#pass(event);
      case "block.started":
        return this.#start(event);
      case "text.delta":
      case "reasoning.delta":
      case "tool-input.delta":
        return this.#delta(event);
      case "block.finished":
        return this.#finish(this.#blocks.get(event.blockId), event.part);
      default:
        return this.#pass(event);
    }
  }

  #fact(event: Exclude<Event, Live>): void {
    if (event.type === "turn.started") {
      const again = this.#turn !== undefined && this.#turn.number === event.turn;
      if (!again) return this.#begin(event.turn, event.model);
      if (this.#blocks.size > 0 || this.#turn?.stored === true) this.#reset();
      return;
    }
    if (event.type === "message.added" && event.message.role === "assistant" && event.turn !== undefined)
      return this.#stored(event);
    if (event.type === "turn.finished") {
      // nothing of it was kept
      if (this.#turn?.stored === false && this.#blocks.size > 0) this.#reset(event.error);
      this.#ensureTurn();
      this.#out.push({ type: "turn-finished", event });
      this.#turn = undefined;
      this.#blocks.clear();
      return;
    }
    // a run may end in the middle of a turn: what was not kept of it is void
    if ((event.type === "run.started" || event.type === "run.finished") && this.#turn !== undefined) {
      if (!this.#turn.stored && this.#blocks.size > 0) this.#reset();
      this.#turn = undefined;
      this.#blocks.clear();
    }
    this.#pass(event);
  }

  #pass(event: Event): void {
    this.#out.push({ type: "event", event });
  }

  #begin(turn?: number, model?: string): void {
    this.#turn = { number: turn, stored: false };
    this.#blocks.clear();
    this.#out.push({
      type: "turn-started",
      ...(turn !== undefined && { turn }),
      ...(model !== undefined && { model }),
    });
  }

  /** A reader may come in the middle of a turn. */
  #ensureTurn(): void {
    if (this.#turn === undefined) this.#begin();
  }

  #reset(error?: Problem): void {
    this.#blocks.clear();
    if (this.#turn !== undefined) this.#turn.stored = false;
    this.#out.push({ type: "turn-reset", ...(error !== undefined && { error }) });
  }

  #start({ messageId, blockId, block }: Extract<Live, { type: "block.started" }>): void {
    if (this.#turn?.stored === true || this.#blocks.has(blockId)) return; // shown already
    this.#ensureTurn();
    const { type: kind } = block;
    const call = block.type === "tool-input" ? { callId: block.callId, name: block.name } : {};
    this.#open({ index: this.#blocks.size, id: blockId, messageId, kind, ...call });
  }

  #open(block: ShownBlock): Open {
    const open = { ...block, shown: 0, finished: false };
    this.#blocks.set(block.id, open);
    this.#out.push({ type: "block-started", block });
    return open;
  }

  #delta({ blockId, offset, delta }: Extract<Live, { delta: string }>): void {
    const block = this.#blocks.get(blockId);
    // beyond what was shown: something is missing, which the end of the block brings
    if (block === undefined || block.finished || offset > block.shown) return;
    this.#show(block, delta.slice(block.shown - offset));
  }

  #show(block: Open, delta: string): void {
    if (delta === "") return;
    block.shown += delta.length;
    this.#out.push({ type: "block-delta", block, delta });
  }

  #finish(block: Open | undefined, part: Part): void {
    if (block === undefined || block.finished) return;
    this.#show(block, wholeOf(part, block.shown).slice(block.shown));
    block.finished = true;
    this.#out.push({ type: "block-finished", block, part });
  }

  /** The stored answer is what counts: what was not shown of it is shown now. */
  #stored({ message, turn }: FactOf<"message.added">): void {
    if (this.#turn !== undefined && this.#turn.number === undefined && turn !== undefined) this.#turn.number = turn;
    else if (this.#turn === undefined || this.#turn.number !== turn) this.#begin(turn);
    const parts = message.parts.filter((part) => !isMarker(part));
    const shown = [...this.#blocks.values()];
    const said = parts.filter(isBlock);
    const same = said.length === shown.length && said.every((part, at) => continues(shown[at], part));
    if (!same && shown.length > 0) this.#reset();
    for (const [at, part] of said.entries()) {
      const block = (same ? shown[at] : undefined) ?? this.#open(blockOf(message.id, part, at));
      this.#finish(block, part);
    }
    for (const part of parts) if (!isBlock(part) && part.type !== "opaque") this.#out.push({ type: "part", part });
    if (this.#turn !== undefined) this.#turn.stored = true;
  }
}

type BlockPart = Extract<Part, { type: "text" | "reasoning" | "tool-call" }>;

function isBlock(part: Part): part is BlockPart {
  return part.type === "text" || part.type === "reasoning" || part.type === "tool-call";
}

/** For the model, not for people. */
function isMarker(part: Part): boolean {
  return part.type === "text" && part.text === INTERRUPT_MARKER;
}

function kindOf(part: BlockPart): ShownBlock["kind"] {
  return part.type === "tool-call" ? "tool-input" : part.type;
}

/** Whether what was shown of the block is the beginning of this part. */
function continues(block: Open | undefined, part: BlockPart): boolean {
  if (block === undefined || block.kind !== kindOf(part)) return false;
  if (block.finished) return true;
  return part.type === "tool-call" ? block.shown === 0 : block.shown <= part.text.length;
}

function blockOf(messageId: string, part: BlockPart, index: number): ShownBlock {
  const call = part.type === "tool-call" ? { callId: part.callId, name: part.name } : {};
  return { index, id: `${messageId}/${index}`, messageId, kind: kindOf(part), ...call };
}

/** The text of a block, as far as its part tells it: that of arguments only where none of it was shown. */
function wholeOf(part: Part, shown: number): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  if (part.type !== "tool-call" || shown > 0) return "";
  return typeof part.input === "string" ? part.input : JSON.stringify(part.input);
}
