import {
  agent,
  jsonSchema,
  LIMITS,
  memoryStore,
  openRuntime,
  type Runtime,
  type Store,
  storeEngine,
  tool,
} from "@capstan/core";
import {
  crashingStore,
  type CrashPoint,
  type FakeClock,
  fakeClock,
  fixedIds,
  scriptedModel,
} from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { logProblems } from "./harness/judge.ts";
import { factsOf, strict } from "./harness/memory-runtime.ts";

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema({ type: "object" }),
  permission: "ask",
  execute: () => "paid",
});

async function open(store: Store, clock: FakeClock, ids: ReturnType<typeof fixedIds>): Promise<Runtime> {
  const model = strict(scriptedModel([{ calls: [{ name: "pay", input: {} }] }, { text: "Not paid." }]));
  const guide = agent({ name: "guide", model, instructions: "Pay.", tools: [pay] });
  return openRuntime({
    agents: [guide],
    engine: storeEngine(store, { clock, ids }),
    work: "all",
    host: { clock, ids },
  });
}

describe("a request that nobody answers", () => {
  it("DUR-06 DUR-10 G16 expires once after seven days, after a crash at any write too, and later answers change nothing", async () => {
    const calm = await expired(undefined);
    expect(calm.writes).toBeGreaterThan(6);
    const expected = {
      status: "denied",
      by: [{ id: "expiry" }],
      reason: "end-turn",
      problems: [],
      late: "request-closed",
    };
    expect(calm).toMatchObject(expected);
    for (let write = 1; write <= calm.writes; write++)
      for (const when of ["before", "after"] as const)
        expect(await expired({ write, when }), `crash ${when} write ${write}`).toMatchObject(expected);
  }, 60_000);
});

async function expired(
  point: CrashPoint | undefined,
): Promise<{ readonly writes: number; readonly [name: string]: unknown }> {
  const inner = memoryStore();
  const ids = fixedIds();
  const first = crashingStore(inner, point);
  const before = fakeClock();
  const living = life(await open(first, before, ids), first, before); // it may die in the middle
  const survivor = await Promise.race([living, first.crash.then(() => undefined)]);
  const after = fakeClock(); // timers of the dead do not fire
  const runtime = survivor ?? (await life(await open(inner, after, ids), inner, after));
  const [{ sessionId } = { sessionId: "" }] = await inner.list({});
  const facts = await factsOf(inner, sessionId);
  const request = facts.find((fact) => fact.type === "request.opened");
  const answer = { type: "permission", allow: true } as const;
  const late = await (await runtime.session(sessionId)).respond(request?.requestId ?? "", answer).then(
    () => "accepted",
    (error: { readonly code: string }) => error.code,
  );
  await runtime.close({ graceMs: 0 });
  return {
    writes: first.writes,
    status: facts.flatMap((fact) => (fact.type === "tool.finished" ? [fact.status] : [])).join(),
    by: facts.flatMap((fact) => (fact.type === "request.resolved" ? [fact.by] : [])),
    reason: facts.flatMap((fact) => (fact.type === "run.finished" ? [fact.reason] : [])).join(),
    problems: logProblems({ sessionId, key: "k", facts: await factsOf(inner, sessionId) }),
    late,
  };
}

/** Sends unless it was sent, waits until a person is asked, lets the time pass, waits for the end. */
async function life(runtime: Runtime, store: Store, clock: FakeClock): Promise<Runtime> {
  const session = await runtime.session({ agent: "guide", key: "k" });
  await session.send("pay", { idempotencyKey: "pay" });
  const status = async (): Promise<string | undefined> => (await store.summary(session.id))?.status;
  while ((await status()) !== "waiting" && !(await ended(store, session.id))) await settle();
  await clock.advance(LIMITS.requestTtlMs + 1);
  while (!(await ended(store, session.id)) || (await status()) !== "idle") await settle();
  return runtime;
}

async function ended(store: Store, sessionId: string): Promise<boolean> {
  return (await factsOf(store, sessionId)).some(({ type }) => type === "run.finished");
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
