/** One run, interrupted after any of its events on a clock that counts, and what must hold afterwards, for every provider. */

import { strict as assert } from "node:assert";
import {
  agent,
  type Fact,
  INTERRUPT_MARKER,
  isLive,
  type Message,
  type Model,
  type ModelRequest,
  type Run,
  type Session,
  type StopReason,
  textOf,
} from "@capstan/core";
import { type FakeClock, fakeClock, fixedIds } from "@capstan/core/testing";
import { collectEvents, modelRequest } from "@capstan/models/testing";
import fc from "fast-check";
import { historyProblems } from "./history-checker.ts";
import { interruptedHooks, interruptedTools, type ToolName, TOOL_NAMES } from "./interrupted-tools.ts";
import { factsOf, memoryRuntime, strict } from "./memory-runtime.ts";
import { type Played, type Said, WIRE_FORMATS } from "./wire-formats.ts";

export type Journey = {
  /** Index of the wire format whose model speaks. */
  readonly format: number;
  readonly turns: readonly Said[];
  /** Bytes of one chunk of an answer. */
  readonly chunkBytes: number;
  /** Interrupted after this many events. */
  readonly at: number;
  readonly hooked: boolean;
  readonly queued: boolean;
  /** Interrupted by an input that does not want to wait. */
  readonly bySend: boolean;
};

const turn: fc.Arbitrary<Said> = fc.record(
  {
    reasoning: fc.constantFrom("Hm.", "What could that be?"),
    text: fc.constantFrom("I look.", "Let me see what can be done about it"),
    calls: fc.array(fc.record({ name: fc.constantFrom<ToolName>(...TOOL_NAMES), input: fc.constant({}) }), {
      minLength: 1,
      maxLength: 3,
    }),
  },
  { requiredKeys: ["calls"] },
);

export const journeys: fc.Arbitrary<Journey> = fc.record({
  format: fc.nat({ max: WIRE_FORMATS.length - 1 }),
  turns: fc
    .array(turn, { maxLength: 2 })
    .map((turns): readonly Said[] => [...turns, { reasoning: "Hm.", text: "That is all there is" }]),
  chunkBytes: fc.constantFrom(150, 400, 4_000),
  at: fc.integer({ min: 1, max: 40 }),
  hooked: fc.boolean(),
  queued: fc.boolean(),
  bySend: fc.boolean(),
});

/** A second is what a person may wait; time is counted on the fake clock, so that a slow machine changes nothing. */
const LONGEST_MS = 1_000;
/** A run without an event for so long may wait for a person. */
const REST_MS = 4;
/** Longer than anything here waits; less than what a runtime waits for before it parks. */
const STUCK_MS = 5_000;

/**
 * Interrupts after the event number `at`, counted from `run.started` on: before that there is no run. Answers with the
 * run's end, `undefined` when it came to rest before that event. Throws for what an interrupt may not do.
 */
export async function interrupted(journey: Journey): Promise<StopReason | undefined> {
  const format = WIRE_FORMATS[journey.format];
  if (format === undefined) throw new Error(`there is no format ${journey.format}`);
  const clock = fakeClock();
  let next: Said = { text: "Next." };
  await using played = format.play(() => next, { chunkBytes: journey.chunkBytes });
  const model = answering(played.model, (said) => (next = said), journey.turns);
  const tools = interruptedTools(clock).filter(({ name }) => !(journey.hooked && name === "client"));
  const guide = agent({
    name: "guide",
    model: strict(model),
    instructions: "Short.",
    tools,
    plugins: journey.hooked ? [interruptedHooks] : [],
    settings: { reasoning: "high" },
  });
  const ids = fixedIds();
  const runtime = await memoryRuntime([guide], { host: { clock, ids } });
  const world: World = { clock, runtime };
  try {
    const session = await runtime.session({ agent: "guide", key: "k" });
    const reason = await play(world, session, journey);
    const facts = await factsOf(runtime.store, session.id);
    assert.deepEqual(historyProblems(facts), []);
    assert.deepEqual(played.violations, [], `${format.name} refused a request of the session`);
    const { messages } = lastRequest(model);
    await acceptedByAll(messages, played, format.name);
    return reason;
  } finally {
    await within(clock, runtime.close({ graceMs: 0 }));
  }
}

type World = { readonly clock: FakeClock; readonly runtime: Awaited<ReturnType<typeof memoryRuntime>> };

async function play(
  { clock, runtime }: World,
  session: Session<unknown>,
  { at, queued, bySend }: Journey,
): Promise<StopReason | undefined> {
  const wait = <T>(work: Promise<T>): Promise<T> => within(clock, work);
  const run = await wait(session.send("go"));
  const waiting = queued ? [await wait(session.send("then")), await wait(session.send("and then"))] : [];
  const { reached, shown } = await readUntil({ clock, runtime }, run, at);
  const from = clock.monotonic();
  if (bySend) {
    waiting.push(await wait(session.send("instead", { ifBusy: "interrupt" })));
    await wait(run.result());
  } else await wait(session.interrupt(run.id));
  assert.ok(clock.monotonic() - from < LONGEST_MS, `it took ${clock.monotonic() - from} ms`);

  const after: (StopReason | undefined)[] = [];
  for (const later of waiting) after.push((await wait(later.result())).reason);
  if (bySend) assert.equal(after.pop(), "end-turn", "what interrupts is not itself interrupted");
  const { reason } = await wait(run.result());
  const cut = [reason, ...after].filter((end) => end === "interrupted");
  assert.ok(cut.length <= 1);
  if (!bySend) assert.ok(after.every((end) => end === "end-turn"));
  assert.equal((await wait((await wait(session.send("Still there?"))).result())).reason, "end-turn");

  const facts = await factsOf(runtime.store, session.id);
  const ends = facts.flatMap((fact) => (fact.type === "run.finished" && fact.runId === run.id ? [fact.reason] : []));
  const order = facts.flatMap((fact) => (fact.type === "run.started" ? [fact.runId] : []));
  assert.equal(ends.length, 1, `it ended ${ends.length} times`);
  assert.deepEqual(
    order.slice(0, -1),
    [run, ...waiting].map(({ id }) => id),
  );
  assert.deepEqual(callsOfInterruptedTurns(facts), []);
  const said = saidBy(facts, run.id);
  for (const text of shown)
    assert.ok(
      said.some((whole) => whole.startsWith(text)),
      `${text} of ${said.join(" | ")}`,
    );
  assert.deepEqual(await runtime.store.mail(session.id), []);
  assert.equal((await runtime.store.summary(session.id))?.status, "idle");
  return reached ? ends[0] : undefined;
}

/** Reads that many events of the run, or all until it waits for a person. `shown`: the texts of the open turn so far. */
async function readUntil(
  { clock, runtime }: World,
  run: Run<unknown>,
  at: number,
): Promise<{ readonly reached: boolean; readonly shown: readonly string[] }> {
  const shown = new Map<string, string>();
  const rest = new AbortController();
  let seen = 0;
  const reading = (async (): Promise<boolean> => {
    for await (const { event } of run.events({ signal: rest.signal })) {
      if (event.type === "input.accepted") continue;
      if (event.type === "text.delta") shown.set(event.blockId, `${shown.get(event.blockId) ?? ""}${event.delta}`);
      if (!isLive(event) && event.type === "turn.finished") shown.clear();
      if (++seen === at) return true;
    }
    return false;
  })();
  let done = false;
  const settle = (): void => void (done = true);
  reading.then(settle, settle);
  for (let before = -1; !done; before = seen) {
    await clock.advance(REST_MS);
    const [summary] = seen === before ? await runtime.sessions() : [];
    if (summary?.status !== "waiting" || summary.runId !== run.id) continue;
    rest.abort();
    await reading;
  }
  return { reached: await reading, shown: [...shown.values()] };
}

/** Moves the clock on until the work is done. */
async function within<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let done = false;
  const settle = (): void => void (done = true);
  work.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  for (let ms = 0; !done; ms++) {
    if (ms > STUCK_MS) throw new Error(`nothing came of it within ${STUCK_MS} ms`);
    await clock.advance(1);
  }
  return work;
}

type Answering = Model & { readonly asked: readonly ModelRequest[] };

/** The input "go" is answered by the turns, each other input by a word. */
function answering(model: Model, say: (said: Said) => void, turns: readonly Said[]): Answering {
  const asked: ModelRequest[] = [];
  return {
    ...model,
    asked,
    stream(request) {
      asked.splice(0, 1, { ...request, messages: [...request.messages] });
      const from = request.messages.findLastIndex(({ role, parts }) => role === "user" && parts[0]?.type === "text");
      const replies = request.messages.slice(from).filter(({ role }) => role === "assistant").length;
      const input = textOf(request.messages[from]?.parts ?? []);
      say(input === "go" ? (turns[replies] ?? { text: "Done." }) : { text: "Next." });
      return model.stream(request);
    },
  };
}

function lastRequest({ asked }: Answering): ModelRequest {
  const [last] = asked;
  if (last === undefined) throw new Error("the model was never asked");
  return last;
}

/** A turn that was cut short asks for nothing. */
function callsOfInterruptedTurns(facts: readonly Fact[]): readonly string[] {
  const cut = new Set(
    facts.flatMap((fact) =>
      fact.type === "turn.finished" && fact.reason === "interrupted" ? [`${fact.runId}/turn/${fact.turn}/message`] : [],
    ),
  );
  return facts.flatMap((fact) =>
    fact.type === "message.added" && cut.has(fact.message.id)
      ? fact.message.parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
      : [],
  );
}

function saidBy(facts: readonly Fact[], runId: string): readonly string[] {
  return facts
    .flatMap((fact) => (fact.type === "message.added" && fact.runId === runId ? [fact.message] : []))
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" && part.text !== INTERRUPT_MARKER ? [part.text] : []));
}

/** One of each provider; they remember nothing of what they were sent. */
const others = WIRE_FORMATS.map((format) => ({ format, played: format.play(() => ({ text: "Fine." })) }));
const SPECS = TOOL_NAMES.map((name) => ({ name, description: name, inputSchema: { type: "object" } }));

/** Really sends the history to every other provider's strict double. */
async function acceptedByAll(messages: readonly Message[], own: Played, ownName: string): Promise<void> {
  for (const { format, played } of others) {
    if (format.name === ownName) continue; // it was sent there by the session itself
    const { settings } = { settings: { reasoning: "high" } } as const;
    const events = await collectEvents(played.model, modelRequest(messages, { tools: SPECS, settings })).catch(
      (error: unknown) => {
        throw new Error(`${format.name} refused a history of ${own.model.id}`, { cause: error });
      },
    );
    assert.equal(events.at(-1)?.type, "finish");
    assert.deepEqual(played.violations, []);
  }
}
