/** Crashes a journey before and after every single write, starts again each time, and judges what the log and the effects say. */

import assert from "node:assert/strict";
import type { Agent } from "../ports/agent.ts";
import { type Clock, systemClock } from "../words/clock.ts";
import { isLive, type Fact } from "../words/event.ts";
import { memoryStore, type MemoryStore } from "../store-engine/memory-store.ts";
import type { Model } from "../ports/model.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { type CrashPoint, crashingStore, type CrashingStore } from "./crashing-store.ts";
import { fixedIds } from "./fixed-ids.ts";
import { Ledger } from "./ledger.ts";
import { transcriptOf } from "./transcript.ts";

export type CrashSweepOptions = Partial<Omit<RuntimeOptions, "agents" | "engine" | "host" | "work">> & {
  readonly agents: readonly Agent<unknown>[];
  readonly models?: { readonly [agent: string]: Model };
  /** What a user does, from the first call on. Run again after a crash that came before it was acknowledged. */
  readonly journey: (runtime: Runtime) => Promise<unknown>;
  /** Called for each crash point; what it gives opens the same new, empty store for one process after the other. Default: in memory. */
  readonly store?: () => OpenSweptStore;
  /** Compares the transcript of a run that had a crash with the undisturbed one. Default: equal, unless a call was in doubt. */
  readonly compare?: (disturbed: string, undisturbed: string) => void;
};
/** A store that can be told that one of its owners is dead, as `memoryStore()` can. */
export type OpenSweptStore = () => Promise<MemoryStore>;
export type CrashSweepReport = {
  /** Writes of the undisturbed journey; it was crashed before and after each of them. */
  readonly writes: number;
  readonly crashes: number;
  /** Crashes after which a call had an outcome that nobody could know. */
  readonly doubts: number;
};

/** Longest wait for one journey to come to rest. */
const REST_MS = 20_000;

/**
 * Throws an `AssertionError` that names the crash point when an acknowledged input was lost, a finished call or model call
 * was repeated, a `never` effect happened twice, a request was lost, or the log ended otherwise than undisturbed.
 */
export async function crashSweep(options: CrashSweepOptions): Promise<CrashSweepReport> {
  const calm = await runOnce(options, undefined);
  let doubts = 0;
  for (let write = 1; write <= calm.writes; write++) {
    for (const when of ["before", "after"] as const) {
      const point: CrashPoint = { write, when };
      try {
        doubts += judge(options, calm, await runOnce(options, point)) ? 1 : 0;
      } catch (error) {
        throw new assert.AssertionError({
          message: `crash ${when} write ${write} of ${calm.writes}: ${error instanceof Error ? error.message : String(error)}`,
        });
      }
    }
  }
  return { writes: calm.writes, crashes: calm.writes * 2, doubts };
}

type Outcome = { readonly writes: number; readonly logs: readonly (readonly Fact[])[]; readonly ledger: Ledger };

async function runOnce(options: CrashSweepOptions, point: CrashPoint | undefined): Promise<Outcome> {
  const connect = (options.store ?? inMemory)();
  const ids = fixedIds();
  const ledger = new Ledger();
  const open = async (store: CrashingStore): Promise<Runtime> => {
    const clock = mortalClock(store.crash);
    const { journey: _journey, compare: _compare, store: _store, models = {}, ...rest } = options;
    return openRuntime({
      permission: { mode: rest.onRequest === undefined ? "never-ask" : "ask" },
      ...rest,
      agents: options.agents.map((agent) => ledger.watchAgent(agent, store)),
      models: Object.fromEntries(
        Object.entries(models).map(([name, model]) => [name, ledger.watchModel(model, store)]),
      ),
      work: "all",
      engine: storeEngine(store, { clock, ids, commit: "each" }),
      host: { clock, ids },
    });
  };
  const firstStore = await connect();
  const first = crashingStore(firstStore, point);
  let acknowledged = false;
  const life = async (): Promise<Runtime> => {
    const runtime = await open(first);
    await options.journey(runtime);
    acknowledged = true;
    await atRest(firstStore, () => first.crashed);
    return runtime;
  };
  const living = life();
  const survivor = await Promise.race([living, first.crash.then(() => undefined)]);
  living.catch(() => undefined); // judged by its log
  if (survivor !== undefined) {
    await survivor.close({ graceMs: 0 });
    return { writes: first.writes, logs: await logsAfter(connect), ledger };
  }
  const secondStore = await connect();
  ledger.crashed(await logsOf(secondStore));
  const second = crashingStore(secondStore);
  const runtime = await open(second);
  if (!acknowledged) await options.journey(runtime);
  await atRest(secondStore, () => false);
  await runtime.close({ graceMs: 0 });
  return { writes: first.writes + second.writes, logs: await logsAfter(connect), ledger };
}

/** The system clock of one life: its timers die with it, so that they do not keep the test's process alive. */
function mortalClock(crash: Promise<void>): Clock {
  const cancels = new Set<() => void>();
  void crash.then(() => {
    for (const cancel of cancels) cancel();
  });
  return {
    ...systemClock,
    after(ms, fire, options) {
      const cancel = systemClock.after(
        ms,
        () => {
          cancels.delete(cancel);
          fire();
        },
        options,
      );
      cancels.add(cancel);
      return () => {
        cancels.delete(cancel);
        cancel();
      };
    },
  };
}

/** Every session came to an end or waits for a person. */
async function atRest(store: Store, stopped: () => boolean): Promise<void> {
  const from = systemClock.monotonic();
  for (;;) {
    const known = await store.list({ limit: 1000 });
    const mail = await Promise.all(known.map(({ sessionId }) => store.mail(sessionId)));
    const summaries = await store.list({ limit: 1000 }); // after the mail: what was taken from there shows here
    if (stopped()) return;
    if (
      summaries.every(({ status, queued }) => (status === "idle" && queued === 0) || status === "waiting") &&
      mail.every((entries) => entries.length === 0) &&
      known.length === summaries.length
    )
      return;
    if (systemClock.monotonic() - from > REST_MS) {
      throw new assert.AssertionError({
        message: `not at rest after ${REST_MS} ms: ${JSON.stringify(summaries.map(({ sessionId, status }) => [sessionId, status]))}`,
      });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What one more process would find. */
async function logsAfter(connect: OpenSweptStore): Promise<readonly (readonly Fact[])[]> {
  const store = await connect();
  const logs = await logsOf(store);
  await store.close();
  return logs;
}

function inMemory(): OpenSweptStore {
  const store = memoryStore();
  return () => Promise.resolve(store);
}

async function logsOf(store: Store): Promise<readonly (readonly Fact[])[]> {
  const summaries = await store.list({ limit: 1000 });
  const logs = await Promise.all(
    summaries.map(({ sessionId }) => store.read(sessionId, { after: 0, limit: Number.MAX_SAFE_INTEGER })),
  );
  return logs.toReversed();
}

/** True when a call was in doubt. */
function judge(options: CrashSweepOptions, calm: Outcome, disturbed: Outcome): boolean {
  disturbed.ledger.check(disturbed.logs);
  const expected = calm.logs.map(transcriptOf);
  let doubted = false;
  assert.ok(
    disturbed.logs.length >= expected.length,
    `the session is lost: ${disturbed.logs.length} of ${expected.length} are there`,
  );
  for (const log of disturbed.logs) {
    for (const fact of log) assert.ok(!isLive(fact), "a live event was stored");
    assert.deepEqual(
      log.map((fact) => fact.seq),
      log.map((_fact, index) => index + 1),
      "the log has a gap",
    );
    checkResults(log);
    const unknown = log.some((fact) => fact.type === "tool.finished" && fact.status === "unknown");
    doubted ||= unknown;
    const text = transcriptOf(log);
    if (text.trim() === "" || unknown) continue; // opened but never sent to; or a doubt, which the model was told of
    if (options.compare === undefined)
      assert.ok(expected.includes(text), `the log ended otherwise:\n${text}\nundisturbed:\n${expected.join("\n")}`);
    else options.compare(text, expected.join("\n"));
  }
  return doubted;
}

/** Each call has exactly one result, each run exactly one end. */
function checkResults(log: readonly Fact[]): void {
  const calls = log
    .flatMap((fact) => (fact.type === "message.added" ? fact.message.parts : []))
    .filter((part) => part.type === "tool-call");
  for (const { callId } of calls) {
    const results = log.filter((fact) => fact.type === "tool.finished" && fact.callId === callId);
    assert.equal(results.length, 1, `call ${callId} has ${results.length} results`);
  }
  for (const started of log.filter((fact) => fact.type === "run.started")) {
    const ends = log.filter((fact) => fact.type === "run.finished" && fact.runId === started.runId);
    assert.equal(ends.length, 1, `run ${started.runId} has ${ends.length} ends`);
  }
}
