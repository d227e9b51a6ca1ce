import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { agent, type Fact, jsonSchema, memoryStore, type Model, type Run, type Store, tool } from "@capstan/core";
import { scriptedModel, type ScriptedTurn } from "@capstan/core/testing";
import { sqliteStore } from "@capstan/engines/sqlite";
import { describe, expect, it } from "vitest";
import { faultyStore } from "./harness/faulty-store.ts";
import { logProblems } from "./harness/judge.ts";
import { factsOf, memoryRuntime, strict } from "./harness/memory-runtime.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });

const STORES: readonly { readonly name: string; readonly open: () => Promise<Store> }[] = [
  { name: "memory", open: () => Promise.resolve(memoryStore()) },
  { name: "sqlite", open: () => sqliteStore({ path: join(temporaryFolder(), "store.db") }) },
];

/** An agent whose effects and model calls are counted. */
function counted(turns: readonly ScriptedTurn[]) {
  const effects: string[] = [];
  const asked: string[] = [];
  const act = tool({
    name: "act",
    description: "Acts.",
    input: anything,
    rerun: "never",
    execute: (_input, { callId }) => (effects.push(callId), "acted"),
  });
  const look = tool({ name: "look", description: "Looks.", input: anything, rerun: "safe", execute: () => "seen" });
  const inner = scriptedModel(turns);
  const model: Model = {
    ...inner,
    stream(request) {
      asked.push(request.sessionId);
      return inner.stream(request);
    },
  };
  return {
    effects,
    asked,
    guide: agent({ name: "guide", model: strict(model), instructions: "Act.", tools: [act, look] }),
  };
}

async function stage(turns: readonly ScriptedTurn[], inner: Store) {
  const store = faultyStore(inner);
  const { guide, ...counts } = counted(turns);
  const runtime = await memoryRuntime([guide], { store, permission: { mode: "never-ask" } });
  return { store, runtime, ...counts };
}

describe.each(STORES)("a disk that does not take writes ($name)", { timeout: 30_000 }, ({ open }) => {
  it("G1 G8 acknowledges nothing, says why, and takes the same input once the cause is gone", async () => {
    const { store, runtime } = await stage([{ text: "One." }, { text: "Two." }], await open());
    const session = await runtime.session({ agent: "guide", key: "k" });
    for (const code of ["store-full", "store-failed"] as const) {
      store.fail({ code });
      await expect(session.send("go", { idempotencyKey: "go" })).rejects.toMatchObject({ code, retryable: true });
      await expect(runtime.send("guide", "go", { key: "new" })).rejects.toMatchObject({ code });
    }
    store.fail(undefined);
    const run = await session.send("go", { idempotencyKey: "go" });
    expect((await session.send("go", { idempotencyKey: "go" })).id).toBe(run.id);
    expect(await run.text()).toBe("One.");
    expect((await factsOf(store, session.id)).filter(({ type }) => type === "input.accepted")).toHaveLength(1);
    expect(await runtime.sessions()).toHaveLength(1);
    await runtime.close();
  });

  it("G3 G8 G13 starts no further call of that session, lets others work, and goes on when the cause is gone", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const turns: ScriptedTurn[] = [
      { text: "I act", calls: [{ name: "act", input: {} }], hold: goOn.promise },
      { text: "Done." },
    ];
    const { store, runtime, effects, asked } = await stage(turns, await open());
    const session = await runtime.session({ agent: "guide", key: "k" });
    const run = await session.send("go");
    const noticed = Promise.withResolvers<string>();
    const watch = async (): Promise<void> => {
      for await (const { event } of session.events()) {
        if (event.type === "text.delta") begun.resolve();
        if (event.type === "notice" && event.severity === "error") noticed.resolve(event.code);
      }
    };
    const watching = watch();
    await begun.promise;
    store.fail({ code: "store-full", sessionId: session.id });
    goOn.resolve();
    expect(await noticed.promise).toBe("store-full");
    expect(await (await runtime.send("guide", "elsewhere", { key: "other" })).text()).toBe("Done.");
    expect(effects.filter((callId) => callId.startsWith(run.id))).toEqual([]); // its intent was not stored
    expect(asked.filter((sessionId) => sessionId === session.id)).toHaveLength(1);
    await expect(session.send("more")).rejects.toMatchObject({ code: "store-full" });
    store.fail(undefined);
    expect(await endOf(run)).toBe("end-turn");
    expect(effects.filter((callId) => callId.startsWith(run.id))).toHaveLength(1);
    const facts = await factsOf(store, session.id);
    expect(logProblems({ sessionId: session.id, key: "k", facts })).toEqual([]);
    await runtime.close();
    await watching;
  }, 30_000);
});

describe("a write that fails", () => {
  it("EDGE-01 G3 G7 G8 at every place of a run costs nothing but a doubt that is told", async () => {
    const step: ScriptedTurn = {
      calls: [
        { name: "look", input: {} },
        { name: "act", input: {} },
      ],
    };
    const turns = [...Array.from({ length: 20 }, () => step), { text: "Done." }];
    const { appends } = await failing(turns, 0);
    expect(appends).toBeGreaterThan(40);
    const outcomes = await Promise.all(Array.from({ length: appends }, (_, index) => failing(turns, index + 1)));
    const unknown = outcomes.filter(({ facts }) =>
      facts.some((fact) => fact.type === "tool.finished" && fact.status === "unknown"),
    );
    for (const [index, { problems }] of outcomes.entries())
      expect(problems, `write ${index + 1} of ${appends} failed`).toEqual([]);
    expect(unknown.length).toBeGreaterThan(0); // a result that was lost is not made up
  }, 60_000);
});

/** Waits for it, also while the store is out of order; `result()` would answer at once that the run waits. */
async function endOf(run: Run): Promise<string | undefined> {
  for await (const { event } of run.events()) if (event.type === "run.finished") return event.reason;
  return undefined;
}

/** Runs with one failing append to its end; 0 fails none. */
async function failing(turns: readonly ScriptedTurn[], number: number) {
  const { store, runtime, effects } = await stage(turns, memoryStore());
  store.failAppend(number);
  const session = await runtime.session({ agent: "guide", key: "k" });
  const reason = await endOf(await session.send("go"));
  const facts = await factsOf(store, session.id);
  const snapshot = await store.snapshot(session.id);
  const problems = [
    ...logProblems({ sessionId: session.id, key: "k", facts }),
    ...(reason === "end-turn" ? [] : [`it ended with ${reason}`]),
    ...(effects.length === new Set(effects).size ? [] : ["an effect happened twice"]),
    ...((snapshot?.seq ?? 0) <= facts.length ? [] : [`snapshot ${snapshot?.seq} of ${facts.length} facts`]),
    ...dishonest(facts, effects),
  ];
  const { appends } = store;
  await runtime.close({ graceMs: 0 });
  return { appends, facts, problems };
}

/** A result that says "done" of what did not happen, or the other way round. */
function dishonest(facts: readonly Fact[], effects: readonly string[]): readonly string[] {
  return facts.flatMap((fact) => {
    if (fact.type !== "tool.finished" || fact.name !== "act" || fact.status === "unknown") return [];
    return (fact.status === "ok") === effects.includes(fact.callId) ? [] : [`${fact.callId} is ${fact.status}`];
  });
}

describe("a damaged session", { timeout: 30_000 }, () => {
  it("G7 G13 is put into quarantine, readable as far as it goes, while others work", async () => {
    const path = join(temporaryFolder(), "store.db");
    const turns = [{ text: "One." }, { text: "Two." }, { text: "Three." }];
    const first = await stage(turns, await sqliteStore({ path }));
    const ids: string[] = [];
    for (const key of ["a", "b"]) {
      const run = await first.runtime.send("guide", "go", { key });
      await run.result();
      ids.push(run.session.id);
    }
    await first.runtime.close();
    const [bad = "", good = ""] = ids;
    const db = new DatabaseSync(path);
    db.exec(
      `UPDATE facts SET body = replace(body, 'One.', 'Own.') WHERE id / ${2 ** 26} = (SELECT number FROM sessions WHERE id = '${bad}')`,
    );
    db.close();

    const { runtime, store } = await stage(turns, await sqliteStore({ path }));
    const damaged = await runtime.session(bad);
    await expect(damaged.messages()).rejects.toMatchObject({ code: "session-damaged" });
    await expect(damaged.send("more")).rejects.toMatchObject({ code: "session-damaged" });
    expect((await runtime.sessions({ status: "quarantined" })).map(({ sessionId }) => sessionId)).toEqual([bad]);
    const readable: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const { event } of damaged.events()) readable.push(event.type);
    };
    await expect(reading()).rejects.toMatchObject({ code: "session-damaged" });
    const whole = await runtime.session(good);
    expect(await (await whole.send("more")).text()).toBe("Two.");
    expect(logProblems({ sessionId: good, key: "b", facts: await factsOf(store, good) })).toEqual([]);
    await damaged.remove();
    expect((await runtime.sessions()).map(({ sessionId }) => sessionId)).toEqual([good]);
    await runtime.close();
  });
});
