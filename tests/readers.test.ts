import {
  agent,
  type Cursor,
  type Event,
  isLive,
  jsonSchema,
  LIMITS,
  type Model,
  type Session,
  systemClock,
  textOf,
  tool,
} from "@capstan/core";
import { describe, expect, it } from "vitest";
import { factsOf, memoryRuntime } from "./harness/memory-runtime.ts";
import { random, seedOfRun } from "./harness/random.ts";
import { Reading } from "./harness/reading.ts";

const seed = seedOfRun(systemClock.now());
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const look = tool({
  name: "look",
  description: "Looks.",
  input: jsonSchema({ type: "object" }),
  rerun: "safe",
  execute: async () => (await tick(), "seen"),
});

type Talk = { readonly words: number; readonly turns: number; readonly at?: (word: number) => Promise<unknown> };

/** Says word after word, one a tick or what `at` awaits, and calls a tool after each turn but the last. */
function talker({ words, turns, at = tick }: Talk): Model {
  return {
    id: "test/talker",
    capabilities: {},
    async *stream({ messages }) {
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const said = Array.from({ length: words }, (_, word) => `${turn}.${word} `);
      yield [{ type: "block-start", index: 0, block: { type: "text" } }];
      for (const [word, delta] of said.entries()) {
        yield [{ type: "block-delta", index: 0, delta }];
        await at(word);
      }
      yield [{ type: "block-end", index: 0, part: { type: "text", text: said.join("") } }];
      const last = turn % turns === turns - 1;
      const part = { type: "tool-call", callId: "", name: "look", input: {}, by: "capstan" } as const;
      if (!last) yield [{ type: "block-end", index: 1, part }];
      yield [{ type: "finish", reason: last ? "stop" : "tool-calls", usage: { inputTokens: 1, outputTokens: 1 } }];
    },
  };
}

async function sessionOf(
  talk: Talk,
): Promise<{
  readonly session: Session;
  readonly close: () => Promise<void>;
  readonly facts: () => ReturnType<typeof factsOf>;
}> {
  const runtime = await memoryRuntime([
    agent({ name: "guide", model: talker(talk), instructions: "Talk.", tools: [look] }),
  ]);
  const session = await runtime.session({ agent: "guide", key: "k" });
  return { session, close: () => runtime.close({ graceMs: 0 }), facts: () => factsOf(runtime.store, session.id) };
}

describe("readers", { timeout: 30_000 }, () => {
  it(`STREAM-02 STREAM-09 EDGE-12 G5 five that leave at random and come back see every fact once and the whole text (seed ${seed})`, async () => {
    const { session, close, facts } = await sessionOf({ words: 120, turns: 3 });
    const readings = Array.from({ length: 5 }, () => new Reading());
    const ended = new AbortController();
    const reading = readings.map(async (mine, index) => {
      const chance = random(seed + index);
      while (!ended.signal.aborted) await readSome(session, mine, chance.int(1, 60), ended.signal);
    });
    const runs = [await session.send("one")];
    for (const word of ["two", "three"]) {
      await tick();
      runs.push(await session.send(word)); // facts in the middle of an answer
    }
    for (const run of runs) await run.result();
    const log = await facts();
    for (const mine of readings) while (mine.head < log.length) await tick();
    ended.abort();
    await Promise.all(reading);
    await close();
    const committed = log.flatMap((fact) =>
      fact.type === "message.added" && fact.turn !== undefined ? [textOf(fact.message.parts)] : [],
    );
    for (const mine of readings) {
      expect(mine.problems).toEqual([]);
      expect(mine.facts).toEqual(log);
      expect([...mine.texts.values()]).toEqual(committed);
    }
    expect(readings.some((mine) => mine.visits > 10)).toBe(true);
  }, 60_000);

  it("STREAM-09 G5 one that comes late, after a fact in the middle of an answer, sees the answer from its start", async () => {
    const half = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    const at = async (word: number): Promise<void> => {
      if (word !== 5) return;
      half.resolve();
      await rest.promise;
    };
    const { session, close } = await sessionOf({ words: 10, turns: 1, at });
    const run = await session.send("one");
    await half.promise;
    const waiting = await session.send("two"); // `input.accepted` while the block is open
    await untilFact(session, "input.accepted", waiting.inputId);
    for (const after of [undefined, "end", "1"] as const) {
      const late = new Reading();
      await readUntil(session, late, after, (event) => event.type === "text.delta");
      expect(late.problems, `after ${after}`).toEqual([]);
      expect([...late.texts.values()], `after ${after}`).toEqual(["0.0 0.1 0.2 0.3 0.4 0.5 "]);
    }
    rest.resolve();
    await run.result();
    await waiting.result();
    await close();
  });

  it("STREAM-02 G12 a slow one holds nobody up, has a bounded queue and catches up", async () => {
    const words = 3 * LIMITS.subscriberEvents;
    const { session, close, facts } = await sessionOf({ words, turns: 1, at: () => Promise.resolve() });
    const slow = new Reading();
    const events = session.events()[Symbol.asyncIterator]();
    const run = await session.send("one");
    while (!slow.sawText) slow.take((await events.next()).value.event);
    await run.result(); // the others got everything meanwhile
    const log = await facts();
    while (slow.head < log.length) slow.take((await events.next()).value.event);
    await events.return?.();
    await close();
    expect(slow.problems).toEqual([]);
    expect(slow.facts).toEqual(log);
    expect(slow.events).toBeLessThan(LIMITS.subscriberEvents + log.length);
  });

  it("the text of a run as it comes is the committed text, also for one who is slow", async () => {
    const words = 2 * LIMITS.subscriberEvents;
    const { session, close } = await sessionOf({
      words,
      turns: 1,
      at: (word) => (word % 64 === 0 ? tick() : Promise.resolve()),
    });
    const run = await session.send("one");
    let shown = "";
    for await (const { text, reset } of run.deltas()) {
      shown = reset ? "" : shown + text;
      for (let wait = 0; wait < 3; wait++) await tick();
      if (shown.length > 2_000 && shown.length < 40_000) for (let wait = 0; wait < 200; wait++) await tick();
    }
    const { text } = await run.result();
    await close();
    expect(text.startsWith(shown), around(text, shown)).toBe(true); // its end may come with the message only
    expect(shown.length).toBeGreaterThan(2_000);
  }, 60_000);

  it("G5 a cursor that names no event of the session is refused", async () => {
    const { session, close, facts } = await sessionOf({ words: 2, turns: 1 });
    await (await session.send("one")).result();
    const head = (await facts()).length;
    const read = async (after: Cursor): Promise<void> => {
      for await (const _event of session.events({ after })) return;
    };
    for (const after of [`${head + 1}`, `${head + 1}.1`, "-1", "1.01", "01", "x", "", "1.", "1e3", "9999999999999999"])
      await expect(read(after), after).rejects.toMatchObject({ code: "cursor-invalid" });
    for (const after of ["0", `${head - 1}`, "1.7"]) await expect(read(after), after).resolves.toBeUndefined();
    await close();
  });
});

/** Where two texts part. */
function around(text: string, shown: string): string {
  let at = 0;
  while (at < shown.length && shown[at] === text[at]) at += 1;
  const near = (whole: string): string => JSON.stringify(whole.slice(Math.max(0, at - 40), at + 40));
  return `at ${at} of ${shown.length}: ${near(shown)}, committed ${near(text)}`;
}

async function readSome(session: Session, mine: Reading, count: number, signal: AbortSignal): Promise<void> {
  mine.connect();
  const { cursor } = mine;
  for await (const { event } of session.events({ signal, ...(cursor !== undefined && { after: cursor }) })) {
    mine.take(event);
    if (--count <= 0) return;
  }
}

async function readUntil(
  session: Session,
  mine: Reading,
  after: Cursor | undefined,
  last: (event: Event) => boolean,
): Promise<void> {
  mine.connect(after === "end" ? undefined : Number(after ?? 0));
  for await (const { event } of session.events(after === undefined ? {} : { after })) {
    mine.take(event);
    if (last(event)) return;
  }
}

async function untilFact(session: Session, type: Event["type"], inputId: string): Promise<void> {
  for await (const { event } of session.events())
    if (!isLive(event) && event.type === type && "inputId" in event && event.inputId === inputId) return;
}
