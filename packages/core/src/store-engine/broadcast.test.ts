import { describe, expect, it } from "vitest";
import { Channel, parseCursor } from "./broadcast.ts";
import { cursorOf, type Envelope, type Event, type Fact, isLive, type Live, type LiveBody } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";

/** A log and its channel, as the holder of a session has them. */
class Session {
  readonly channel = new Channel("ses_1", "guide");
  readonly facts: Fact[] = [];
  reads = 0;
  #eph = 0;

  fact(body: Partial<Fact> & { readonly type: Fact["type"] } = { type: "data" }): Fact {
    const seq = this.facts.length + 1;
    const fact = { name: "n", data: null, key: `k${seq}`, at: 0, ...body, seq } as Fact;
    this.facts.push(fact);
    this.#eph = 0;
    this.channel.publishFact(fact);
    return fact;
  }

  live(...bodies: readonly LiveBody[]): readonly Live[] {
    const events = bodies.map((body): Live => ({ ...body, seq: this.facts.length, eph: ++this.#eph, at: 0 }));
    this.channel.publishLive(events);
    return events;
  }

  start(blockId: string): void {
    this.live({ type: "block.started", messageId: "m", blockId, block: { type: "text" } });
  }

  say(blockId: string, offset: number, delta: string): void {
    this.live({ type: "text.delta", blockId, offset, delta });
  }

  subscribe(after?: string): AsyncIterableIterator<Envelope> & { end(): void } {
    return this.channel.subscribe(parseCursor(after, this.facts.length), async (seq) => {
      this.reads += 1;
      return this.facts.slice(seq, seq + LIMITS.readPage);
    });
  }
}

/** What the reader has to give now, without waiting for more. */
async function drain(reader: AsyncIterableIterator<Envelope>): Promise<readonly Event[]> {
  const seen: Event[] = [];
  for (;;) {
    const next = await Promise.race([
      reader.next(),
      new Promise<undefined>((resolve) => setImmediate(() => setImmediate(() => resolve(undefined)))),
    ]);
    if (next === undefined || next.done === true) return seen;
    seen.push(next.value.event);
  }
}

/** A reader that is read all the time, so that no `next` is left hanging. */
function follow(reader: AsyncIterableIterator<Envelope>): { readonly seen: Event[]; readonly ended: Promise<void> } {
  const seen: Event[] = [];
  const ended = (async () => {
    for await (const { event } of reader) seen.push(event);
  })();
  return { seen, ended };
}
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** The text that a reader has on its screen for a block. */
function screen(events: readonly Event[], blockId: string): string {
  let text = "";
  for (const event of events) {
    if (!isLive(event) || event.type !== "text.delta" || event.blockId !== blockId) continue;
    expect(event.offset).toBeLessThanOrEqual(text.length);
    text = text.slice(0, event.offset) + event.delta;
  }
  return text;
}

describe("parseCursor", () => {
  it("DUR-07 reads all forms of a cursor", () => {
    expect(parseCursor(undefined, 9)).toEqual({ seq: 0, eph: 0 });
    expect(parseCursor("end", 9)).toEqual({ seq: 9, eph: 0 });
    expect(parseCursor("0", 9)).toEqual({ seq: 0, eph: 0 });
    expect(parseCursor("9", 9)).toEqual({ seq: 9, eph: 0 });
    expect(parseCursor("4.17", 9)).toEqual({ seq: 4, eph: 17 });
    expect(parseCursor("4.0", 9)).toEqual({ seq: 4, eph: 0 });
  });

  it("DUR-07 refuses what is no cursor and what lies beyond the head", () => {
    for (const cursor of [
      "",
      "x",
      "-1",
      "1.",
      "01",
      "1.2.3",
      "10",
      "10.1",
      "1e3",
      " 1",
      "9999999999999999",
      "Infinity",
    ])
      expect(() => parseCursor(cursor, 9)).toThrow(expect.objectContaining({ code: "cursor-invalid" }));
  });
});

describe("a channel", () => {
  it("gives events that are asked for at once in their order, and ends for all when the store cannot be read", async () => {
    const session = new Session();
    session.fact();
    const reader = session.subscribe();
    const asked = Promise.all([reader.next(), reader.next(), reader.next()]);
    session.fact();
    session.fact();
    expect((await asked).map(({ value }) => value?.event.seq)).toEqual([1, 2, 3]);
    reader.end();
    expect((await reader.next()).done).toBe(true);

    let left = 0;
    const failing = session.channel.subscribe(
      parseCursor("0", 3),
      () => Promise.reject(new Error("no store")),
      () => left++,
    );
    await expect(failing.next()).rejects.toThrow("no store");
    expect(left).toBe(1);
    expect((await failing.next()).done).toBe(true);
  });

  it("STREAM-02 gives every reader everything, in order, from any cursor", async () => {
    const session = new Session();
    for (let count = 0; count < 5; count++) session.fact();
    const readers = [undefined, "3", "end"].map((after) => follow(session.subscribe(after)));
    await settled();
    session.fact();
    session.start("b");
    session.say("b", 0, "hi");
    session.fact();
    await settled();
    session.channel.end();
    const cursors = readers.map(({ seen }) => seen.map(cursorOf));
    expect(cursors).toEqual([
      ["1", "2", "3", "4", "5", "6", "6.1", "6.2", "7"],
      ["4", "5", "6", "6.1", "6.2", "7"],
      ["6", "6.1", "6.2", "7"],
    ]);
    await Promise.all(readers.map(({ ended }) => ended));
    expect(session.channel.watched).toBe(false);
  });

  it("DUR-16 a fact that is read and pushed is delivered once", async () => {
    const session = new Session();
    session.fact();
    const reader = session.subscribe();
    const first = reader.next();
    session.fact();
    session.fact();
    expect((await first).value?.event.seq).toBe(1);
    expect((await drain(reader)).map(cursorOf)).toEqual(["2", "3"]);
  });

  it("STREAM-02 a late reader gets one merged delta for each open block", async () => {
    const session = new Session();
    session.fact();
    session.start("a");
    session.say("a", 0, "one ");
    session.say("a", 4, "two ");
    session.start("b");
    session.say("b", 0, "other");
    const late = follow(session.subscribe());
    await settled();
    session.say("a", 8, "three");
    await settled();
    expect(late.seen.filter((event) => isLive(event) && event.type === "block.started")).toHaveLength(2);
    expect([screen(late.seen, "a"), screen(late.seen, "b")]).toEqual(["one two three", "other"]);
    session.channel.end();
  });

  it("STREAM-02 a late reader gets the open blocks also when a fact came in mid-turn", async () => {
    const session = new Session();
    session.fact();
    session.start("a");
    session.say("a", 0, "before ");
    session.fact(); // an input that was queued while the model speaks
    const early = follow(session.subscribe("end"));
    await settled();
    session.say("a", 7, "after");
    const late = follow(session.subscribe());
    await settled();
    session.say("a", 12, "!");
    await settled();
    for (const { seen } of [early, late]) {
      for (const event of seen) expect(() => parseCursor(cursorOf(event), 9)).not.toThrow();
      expect(seen.filter((event) => isLive(event) && event.type === "block.started")).toHaveLength(1);
      expect(screen(seen, "a")).toBe("before after!");
    }
    session.channel.end();
  });

  it("STREAM-09 a reader that comes back with its cursor misses nothing and sees no fact twice", async () => {
    const session = new Session();
    session.fact();
    session.start("a");
    session.say("a", 0, "one ");
    const first = session.subscribe();
    const before = await drain(first);
    first.end();
    session.say("a", 4, "two");
    const last = before.at(-1);
    if (last === undefined) throw new Error("nothing seen");
    const again = follow(session.subscribe(cursorOf(last)));
    await settled();
    session.say("a", 7, "!");
    session.fact();
    await settled();
    expect(screen([...before, ...again.seen], "a")).toBe("one two!");
    expect(again.seen.filter((event) => !isLive(event)).map(cursorOf)).toEqual(["2"]);
    session.channel.end();
  });

  it("forgets the blocks of a turn that was reset or has ended", async () => {
    const end = { type: "turn.finished", turn: 1 } as Partial<Fact> & { readonly type: "turn.finished" };
    for (const stop of ["reset", "finished"] as const) {
      const session = new Session();
      session.fact();
      session.start("a");
      session.say("a", 0, "gone");
      if (stop === "reset")
        session.live({
          type: "turn.reset",
          turn: 1,
          attempt: 2,
          delayMs: 0,
          error: { code: "model-cut", message: "", retryable: true },
        });
      else session.fact(end);
      expect(session.channel.openBlocks()).toEqual([]);
    }
  });

  it("STREAM-07 a slow reader costs a bounded amount and is brought up to date from the store", async () => {
    const session = new Session();
    session.fact();
    const slow = session.subscribe();
    expect((await slow.next()).value?.event.seq).toBe(1);
    session.start("a");
    for (let count = 0; count < LIMITS.subscriberEvents * 2; count++) session.say("a", count, "x");
    session.fact({ type: "data" });
    const seen = await drain(slow);
    expect(seen.length).toBeLessThanOrEqual(LIMITS.subscriberEvents + 3);
    expect(seen.filter((event) => !isLive(event)).map(cursorOf)).toEqual(["2"]);
    session.channel.end();
  });

  it("STREAM-02 facts that another process wrote come after a poke", async () => {
    const session = new Session();
    session.fact();
    const reader = follow(session.subscribe());
    await settled();
    session.facts.push({ ...(session.facts[0] as Fact), seq: 2, key: "k2" });
    await settled();
    expect(reader.seen.map(cursorOf)).toEqual(["1"]);
    session.channel.poke();
    await settled();
    expect(reader.seen.map(cursorOf)).toEqual(["1", "2"]);
    session.channel.end();
  });

  it("STREAM-02 reads a long log page by page", async () => {
    const session = new Session();
    for (let count = 0; count < LIMITS.readPage * 2 + 5; count++) session.fact();
    const seen = await drain(session.subscribe("7"));
    expect(seen.map(({ seq }) => seq)).toEqual(
      Array.from({ length: LIMITS.readPage * 2 - 2 }, (_, index) => index + 8),
    );
  });

  it("a reader that leaves is forgotten, also when it waits", async () => {
    const session = new Session();
    const reader = session.subscribe();
    const waiting = reader.next();
    await settled();
    await reader.return?.();
    expect(await waiting).toEqual({ value: undefined, done: true });
    expect(session.channel.watched).toBe(false);
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it("keeps at most 1 MB of live text for late readers", () => {
    const session = new Session();
    session.fact();
    session.start("a");
    for (let sent = 0; sent < LIMITS.liveBufferBytes * 2; sent += 65_536) session.say("a", sent, "x".repeat(65_536));
    const kept = session.channel
      .openBlocks()
      .reduce((sum, event) => sum + ("delta" in event ? (event.delta?.length ?? 0) : 0), 0);
    expect(kept).toBeLessThanOrEqual(LIMITS.liveBufferBytes + 65_536);
  });
});
