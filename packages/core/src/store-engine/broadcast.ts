/** One session's events to any number of readers, each with a bounded queue. Facts can always be read again from the store. */

import { CapstanError } from "../words/errors.ts";
import { type Cursor, type Envelope, type Fact, isLive, type Live, type LiveBody } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";

/** Reads stored facts after a `seq`, one page, oldest first. Empty at the end of the log. */
type ReadPage = (after: number) => Promise<readonly Fact[]>;

type OpenBlock = { readonly started: Live; delta: Delta | undefined };

/** What one session's readers share. Publishing costs nothing when nobody reads, but for the open blocks that late readers need. */
export class Channel {
  readonly sessionId: string;
  /** In charge now, as far as this process has heard. */
  agent: string;
  readonly #readers = new Set<Reader>();
  readonly #blocks = new Map<string, OpenBlock>();
  #bufferedChars = 0;
  #position: Position = { seq: 0, eph: 0 };

  constructor(sessionId: string, agent: string) {
    this.sessionId = sessionId;
    this.agent = agent;
  }

  get watched(): boolean {
    return this.#readers.size > 0;
  }

  /** Where the newest event stands that was published. */
  get position(): Position {
    return this.#position;
  }

  publishFact(fact: Fact): void {
    this.#position = { seq: fact.seq, eph: 0 };
    if (fact.type === "turn.finished" || fact.type === "run.finished") this.#forget();
    this.agent = inCharge(fact) ?? this.agent;
    this.#push(fact);
  }

  publishLive(events: readonly Live[]): void {
    for (const event of events) {
      this.#position = { seq: event.seq, eph: event.eph };
      this.#keep(event);
      this.#push(event);
    }
  }

  /** What was shown live is no longer true: another holder may begin the turn again. */
  holdEnded(): void {
    this.#forget();
    this.poke();
  }

  /** Somebody else wrote: readers look into the store. */
  poke(): void {
    for (const reader of this.#readers) reader.poke();
  }

  end(): void {
    for (const reader of this.#readers) reader.end();
  }

  /** Facts after `after.seq`, then what comes, with one merged delta for each block that is open. `left` is told of the end. */
  subscribe(after: Position, read: ReadPage, left?: () => void): AsyncIterableIterator<Envelope> & { end(): void } {
    const reader = new Reader(this, after, read, () => {
      this.#readers.delete(reader);
      left?.();
    });
    this.#readers.add(reader);
    return reader;
  }

  wrap(event: Fact | Live, agent: string = this.agent): Envelope {
    return { sessionId: this.sessionId, agent, event };
  }

  /**
   * Events that bring a reader up to what is on the screen now: the blocks in which something came after `seen`. They stand
   * at `at`, because facts may have come since the block began.
   */
  openBlocks(seen?: Position, at: Position = this.#position): readonly Live[] {
    const open = [...this.#blocks.values()].filter(({ started, delta }) => isAfter(delta ?? started, seen));
    const events = open.flatMap(({ started, delta }) => (delta === undefined ? [started] : [started, delta]));
    return events.map((event) => ({ ...event, ...at }));
  }

  #push(event: Fact | Live): void {
    if (this.#readers.size === 0) return;
    const envelope = this.wrap(event);
    for (const reader of this.#readers) reader.push(envelope);
  }

  #keep(event: Live): void {
    if (event.type === "block.started") this.#blocks.set(event.blockId, { started: event, delta: undefined });
    else if (event.type === "turn.reset") this.#forget();
    else if (isDelta(event)) {
      const block = this.#blocks.get(event.blockId);
      if (block === undefined || this.#bufferedChars > LIMITS.liveBufferBytes) return;
      this.#bufferedChars += event.delta.length;
      block.delta = { ...event, offset: 0, delta: (block.delta?.delta ?? "") + event.delta };
    }
  }

  #forget(): void {
    if (this.#blocks.size === 0) return;
    this.#blocks.clear();
    this.#bufferedChars = 0;
  }
}

type Delta = Extract<Live, { readonly delta: string }>;

function isDelta(event: Live | LiveBody): event is Delta {
  return "delta" in event;
}

/** Who takes charge by this fact, if somebody does. */
function inCharge(fact: Fact): string | undefined {
  if (fact.type === "tool.finished") return fact.handoff;
  return fact.type === "session.created" ? fact.agent : undefined;
}

type Position = { readonly seq: number; readonly eph: number };

function positionOf(event: Fact | Live): Position {
  return { seq: event.seq, eph: isLive(event) ? event.eph : 0 };
}

function isAfter(position: Position, other: Position | undefined): boolean {
  return other === undefined || position.seq > other.seq || (position.seq === other.seq && position.eph > other.eph);
}

/** Throws `cursor-invalid` for what is no cursor or lies beyond the head. */
export function parseCursor(cursor: Cursor | undefined, head: number): Position {
  if (cursor === undefined) return { seq: 0, eph: 0 };
  if (cursor === "end") return { seq: head, eph: 0 };
  const match = /^(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,14}))?$/.exec(cursor);
  const seq = Number(match?.[1]);
  if (match === null || seq > head) {
    throw new CapstanError(
      "cursor-invalid",
      `Cursor ${JSON.stringify(cursor)} names no event of this session (its head is ${head}); start from the beginning or from "end"`,
    );
  }
  return { seq, eph: Number(match[2] ?? 0) };
}

class Reader implements AsyncIterableIterator<Envelope> {
  readonly #channel: Channel;
  readonly #read: ReadPage;
  readonly #left: () => void;
  /** Everything up to here was delivered. */
  #at: Position;
  /** The newest live event that was delivered: facts that are read from the store do not tell what was seen before them. */
  #seen: Position | undefined;
  /** Read from the store or rebuilt from open blocks: comes before what was pushed. */
  #page: readonly Envelope[] = [];
  #nextOfPage = 0;
  /** In charge as of what was delivered; `undefined`: whoever is now. */
  #agent: string | undefined;
  /** The page holds open blocks, not facts. */
  #pageIsLive = false;
  #pushed: Envelope[] = [];
  #nextPushed = 0;
  /** The store may hold facts that this reader has not seen. */
  #stale = true;
  #ended = false;
  #arrived: (() => void) | undefined;
  #waiting: Promise<IteratorResult<Envelope>> | undefined;

  constructor(channel: Channel, after: Position, read: ReadPage, left: () => void) {
    this.#channel = channel;
    this.#at = after;
    this.#seen = after.eph > 0 ? after : undefined;
    this.#read = read;
    this.#left = left;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Envelope>> {
    if (this.#waiting !== undefined) return this.#waiting.then(() => this.next());
    const value = this.#take();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return (this.#waiting = this.#wait());
  }

  return(): Promise<IteratorResult<Envelope>> {
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#left();
    this.#arrived?.();
  }

  poke(): void {
    this.#stale = true;
    this.#arrived?.();
  }

  push(envelope: Envelope): void {
    this.#pushed.push(envelope);
    if (this.#pushed.length - this.#nextPushed > LIMITS.subscriberEvents) {
      // too slow: what waits is given up, facts come again from the store, open blocks as one delta each
      this.#pushed = [];
      this.#nextPushed = 0;
      this.#stale = true;
    }
    this.#arrived?.();
  }

  async #wait(): Promise<IteratorResult<Envelope>> {
    try {
      for (;;) {
        if (this.#stale) await this.#refill();
        else await new Promise<void>((resolve) => (this.#arrived = resolve));
        this.#arrived = undefined;
        const value = this.#take();
        if (value !== undefined) return { value, done: false };
        if (this.#ended) return { value: undefined, done: true };
      }
    } catch (error) {
      this.end();
      throw error;
    } finally {
      this.#waiting = undefined;
    }
  }

  async #refill(): Promise<void> {
    this.#stale = false;
    const facts = await this.#read(this.#at.seq);
    const { position } = this.#channel;
    // there may be another page, or facts that were stored since
    if (facts.length > 0 || position.seq > this.#at.seq) this.#stale = true;
    if (this.#stale && facts.length === 0) await new Promise((resolve) => setImmediate(resolve)); // the store is behind: let others run
    const at = isAfter(position, this.#at) ? position : this.#at;
    const open = this.#stale ? [] : this.#channel.openBlocks(this.#seen, at);
    const last = open.length - 1;
    // only the last of them moves the cursor: who leaves before it gets all of them again
    const events = this.#stale ? facts : open.map((event, index) => (index < last ? { ...event, ...this.#at } : event));
    this.#pageIsLive = !this.#stale;
    this.#page = events.map((event) => this.#asOf(event));
    this.#nextOfPage = 0;
  }

  /** A log that is read from its beginning tells who was in charge when. */
  #asOf(event: Fact | Live): Envelope {
    this.#agent = (isLive(event) ? undefined : inCharge(event)) ?? this.#agent;
    return this.#channel.wrap(event, this.#agent);
  }

  /** The next event to deliver; `undefined` when there is none, or when facts are missing before it. */
  #take(): Envelope | undefined {
    while (this.#nextOfPage < this.#page.length) {
      const envelope = this.#page[this.#nextOfPage++] as Envelope; // within bounds
      if (this.#pageIsLive || this.#advance(envelope.event)) {
        if (this.#pageIsLive) this.#at = this.#seen = positionOf(envelope.event);
        return envelope;
      }
    }
    while (!this.#stale && this.#nextPushed < this.#pushed.length) {
      const envelope = this.#pushed[this.#nextPushed] as Envelope; // within bounds
      const { event } = envelope;
      const isNext = isLive(event) ? event.seq <= this.#at.seq : event.seq <= this.#at.seq + 1;
      if (!isNext) {
        this.#stale = true;
        return undefined;
      }
      this.#dropPushed();
      this.#agent = envelope.agent;
      if (this.#advance(event)) return envelope;
    }
    return undefined;
  }

  /** Moves the cursor; false for what was delivered before. */
  #advance(event: Fact | Live): boolean {
    const { seq, eph } = this.#at;
    if (isLive(event)) {
      if (event.seq < seq || (event.seq === seq && event.eph <= eph)) return false;
      this.#at = { seq, eph: event.eph };
      this.#seen = this.#at;
      return true;
    }
    if (event.seq <= seq) return false;
    this.#at = { seq: event.seq, eph: 0 };
    return true;
  }

  #dropPushed(): void {
    this.#nextPushed += 1;
    if (this.#nextPushed === this.#pushed.length) {
      this.#pushed = [];
      this.#nextPushed = 0;
    } else if (this.#nextPushed > 256 && this.#nextPushed * 2 > this.#pushed.length) {
      this.#pushed = this.#pushed.slice(this.#nextPushed);
      this.#nextPushed = 0;
    }
  }
}
