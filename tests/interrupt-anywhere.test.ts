import {
  agent,
  flowTool,
  INTERRUPT_MARKER,
  isLive,
  jsonSchema,
  type Model,
  plugin,
  type Runtime,
  sleep,
  type StopReason,
  systemClock,
  textOf,
  tool,
} from "@capstan/core";
import { scriptedModel, type ScriptedTurn } from "@capstan/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { historyProblems } from "./harness/history-checker.ts";
import { factsOf, memoryRuntime, strict } from "./harness/memory-runtime.ts";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });
/** Long enough that an interrupt finds it at work. */
const WORK_MS = 2;

const TOOLS = [
  tool({ name: "quick", description: "Reads.", input: anything, rerun: "safe", execute: () => "read" }),
  tool({
    name: "slow",
    description: "Obeys its signal.",
    input: anything,
    rerun: "never",
    execute: async (_input, { signal }) => (await sleep(systemClock, WORK_MS, signal), "worked"),
  }),
  tool({
    name: "sturdy",
    description: "Is waited for.",
    input: anything,
    rerun: "never",
    interruptible: false,
    execute: async () => (await sleep(systemClock, WORK_MS), "written"),
  }),
  tool({ name: "asks", description: "Asks first.", input: anything, permission: "ask", execute: () => "done" }),
  tool({ name: "client", description: "Runs elsewhere.", input: anything, permission: "allow" }),
  flowTool({
    name: "flow",
    description: "Several effects.",
    input: anything,
    permission: "allow",
    flow: async (_input, { step, signal }) => {
      await step("one", () => 1);
      await step("two", { rerun: "keyed" }, () => sleep(systemClock, WORK_MS, signal));
      return "flown";
    },
  }),
] as const;
type Name = (typeof TOOLS)[number]["name"];

const hooks = plugin({
  name: "hooks",
  input: async (message, context, next) => (await context.step("seen", () => 1), next(message)),
  tool: async (call, _context, next) => next(call),
  prepare: async (_request, context) => (await context.step("noted", () => 1), undefined),
  stop: async (_state, context) => void (await context.step("left", () => 1)),
});

type Journey = {
  readonly turns: readonly ScriptedTurn[];
  readonly at: number;
  readonly hooked: boolean;
  readonly queued: boolean;
  /** Interrupted by an input that does not want to wait. */
  readonly bySend: boolean;
};

const turn: fc.Arbitrary<ScriptedTurn> = fc.record({
  text: fc.constantFrom("I look.", "Let me see what can be done about it"),
  calls: fc.array(
    fc.record({ name: fc.constantFrom<Name>(...TOOLS.map(({ name }) => name)), input: fc.constant({}) }),
    { minLength: 1, maxLength: 3 },
  ),
  deltas: fc.integer({ min: 1, max: 4 }),
});
const journey: fc.Arbitrary<Journey> = fc.record({
  turns: fc
    .array(turn, { maxLength: 2 })
    .map((turns): readonly ScriptedTurn[] => [...turns, { reasoning: "Hm.", text: "That is all there is", deltas: 3 }]),
  at: fc.integer({ min: 1, max: 60 }),
  hooked: fc.boolean(),
  queued: fc.boolean(),
  bySend: fc.boolean(),
});

describe("an interrupt", () => {
  it("LOOP-08 LOOP-09 LOOP-10 EDGE-05 G4 G11 after any event of any run leaves one end, the partial text and a sound history", async () => {
    const reasons = new Map<StopReason | undefined, number>();
    await fc.assert(
      fc.asyncProperty(journey, async (made) => {
        const reason = await interrupted(made);
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }),
      { numRuns: 250 },
    );
    expect(reasons.get("interrupted") ?? 0).toBeGreaterThan(50); // most came in time
  }, 60_000);

  it("LOOP-08 LOOP-09 LOOP-10 EDGE-05 after each event of one run with everything in it", async () => {
    const turns: readonly ScriptedTurn[] = [
      {
        reasoning: "First.",
        text: "I read",
        calls: [
          { name: "quick", input: {} },
          { name: "slow", input: {} },
        ],
      },
      {
        text: "I write",
        calls: [
          { name: "sturdy", input: {} },
          { name: "flow", input: {} },
          { name: "quick", input: {} },
        ],
      },
      {
        text: "I ask",
        calls: [
          { name: "asks", input: {} },
          { name: "quick", input: {} },
        ],
      },
      { text: "Never reached" },
    ];
    for (let at = 1; ; at++) {
      const reason = await interrupted({ turns, at, hooked: at % 2 === 0, queued: at % 3 === 0, bySend: at % 5 === 0 });
      if (reason === undefined) {
        expect(at).toBeGreaterThan(40);
        return;
      }
    }
  }, 60_000);
});

/** Interrupts after the event number `at`, counted from `run.started` on: before that there is no run. `undefined` when the run came to rest before it. */
async function interrupted({ turns, at, hooked, queued, bySend }: Journey): Promise<StopReason | undefined> {
  const model = strict(onlyFor("go", scriptedModel(turns), scriptedModel([{ text: "Next." }])));
  const tools = hooked ? TOOLS.filter(({ name }) => name !== "client") : TOOLS;
  const named = agent({ name: "guide", model, instructions: "Short.", tools, plugins: hooked ? [hooks] : [] });
  const runtime = await memoryRuntime([named]);
  try {
    return await play(runtime, { at, queued, bySend });
  } finally {
    await runtime.close({ graceMs: 0 });
  }
}

/** Each input is answered from the start of its script. */
function onlyFor(input: string, own: Model, other: Model): Model {
  return {
    ...own,
    stream(request) {
      const from = request.messages.findLastIndex(({ role, parts }) => role === "user" && parts[0]?.type === "text");
      const messages = request.messages.slice(from);
      const named = textOf(messages[0]?.parts ?? []) === input;
      return (named ? own : other).stream({ ...request, messages });
    },
  };
}

async function play(
  runtime: Awaited<ReturnType<typeof memoryRuntime>>,
  { at, queued, bySend }: Pick<Journey, "at" | "queued" | "bySend">,
): Promise<StopReason | undefined> {
  const session = await runtime.session({ agent: "guide", key: "k" });
  const run = await session.send("go");
  const waiting = queued ? [await session.send("then"), await session.send("and then")] : [];
  const shown = new Map<string, string>();
  let seen = 0;
  let reached = false;
  const rest = restOf(runtime, run.id);
  for await (const { event } of run.events({ signal: rest.signal })) {
    if (event.type === "input.accepted") continue;
    if (event.type === "text.delta") shown.set(event.blockId, `${shown.get(event.blockId) ?? ""}${event.delta}`);
    if (!isLive(event) && event.type === "turn.finished") shown.clear();
    reached = ++seen === at;
    if (reached) break;
  }
  rest.stop();
  const from = systemClock.monotonic();
  if (bySend) {
    waiting.push(await session.send("instead", { ifBusy: "interrupt" }));
    await run.result();
  } else await session.interrupt(run.id);
  expect(systemClock.monotonic() - from).toBeLessThan(1_000);

  const after = [];
  for (const next of waiting) after.push((await next.result()).reason);
  if (bySend) expect(after.pop()).toBe("end-turn"); // what interrupts is not itself interrupted
  const { reason } = await run.result();
  const cut = [reason, ...after].filter((end) => end === "interrupted");
  expect(cut.length).toBeLessThanOrEqual(1);
  if (!bySend) expect(after.every((end) => end === "end-turn")).toBe(true);
  expect((await (await session.send("Still there?")).result()).reason).toBe("end-turn");
  const facts = await factsOf(runtime.store, session.id);
  const ends = facts.flatMap((fact) => (fact.type === "run.finished" && fact.runId === run.id ? [fact.reason] : []));
  const order = facts.flatMap((fact) => (fact.type === "run.started" ? [fact.runId] : []));
  expect(ends).toHaveLength(1);
  expect(order.slice(0, -1)).toEqual([run, ...waiting].map(({ id }) => id));
  expect(historyProblems(facts)).toEqual([]);
  const said = facts
    .filter((fact) => fact.type === "message.added" && fact.runId === run.id && fact.message.role === "assistant")
    .flatMap((fact) => (fact.type === "message.added" ? fact.message.parts : []))
    .flatMap((part) => (part.type === "text" && part.text !== INTERRUPT_MARKER ? [part.text] : []));
  for (const text of shown.values())
    expect(
      said.some((whole) => whole.startsWith(text)),
      `${text} of ${said.join(" | ")}`,
    ).toBe(true);
  expect(await runtime.store.mail(session.id)).toEqual([]);
  expect((await runtime.store.summary(session.id))?.status).toBe("idle");
  return reached ? ends[0] : undefined;
}

/** Ends the reading of a run that waits for a person: no further event would come. */
function restOf(runtime: Runtime, runId: string): { readonly signal: AbortSignal; readonly stop: () => void } {
  const ended = new AbortController();
  const look = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const [summary] = await runtime.sessions();
      if (summary?.status === "waiting" && summary.runId === runId) break;
      await sleep(systemClock, 1);
    }
    await sleep(systemClock, 5); // what was published on the way there is read first
    ended.abort();
  };
  look().catch(() => undefined); // the runtime was closed
  return { signal: ended.signal, stop: () => ended.abort() };
}
