import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import type { Fact } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { soon } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

function guideOf(plugins: readonly Plugin[]) {
  return agent({ name: "guide", model: scriptedModel([]), instructions: "x", plugins });
}

class FoldWorld extends World {
  start(plugins: readonly Plugin[], store?: Store): Promise<Runtime> {
    return this.open({ agents: [guideOf(plugins)], work: "all" }, store);
  }
}

/** Collects the numbers of all facts; `said` is what it had when the model was asked. */
function collector(): { readonly collect: Plugin; readonly said: (readonly number[])[] } {
  const said: (readonly number[])[] = [];
  const collect = plugin<readonly number[]>({
    name: "collect",
    fold: { start: [], next: (seqs, { seq }) => [...seqs, seq] },
    prepare: (_request, { own }) => void said.push(own),
  });
  return { collect, said };
}

function numbers(upTo: number): readonly number[] {
  return Array.from({ length: upTo }, (_, index) => index + 1);
}

describe("a fold that throws", () => {
  const broken = (breaks: (fact: Fact) => boolean): Plugin =>
    plugin<number>({
      name: "broken",
      fold: {
        start: 0,
        next(count, fact) {
          if (breaks(fact)) throw new Error("no arithmetic");
          return count + 1;
        },
      },
    });

  it("HOOK-14 is a notice: the run, and the folds of others, go on", async () => {
    const world = new FoldWorld();
    const { collect, said } = collector();
    const runtime = await world.start([broken(({ type }) => type === "run.started"), collect]);
    const session = await runtime.session({ agent: "guide" });
    const notices: string[] = [];
    const reading = (async () => {
      for await (const { event } of session.events()) if (event.type === "notice") notices.push(event.title);
    })();
    expect(await soon((await session.send("Go")).text())).toBe("Done.");
    expect(said).toEqual([numbers(said[0]?.length ?? 0)]);
    await world.close();
    await soon(reading);
    expect(notices).toEqual(["fold of plugin broken failed: no arithmetic"]);
  });

  it("HOOK-14 EDGE-14 does not keep the next hold from opening", async () => {
    const world = new FoldWorld();
    const first = await world.start([]);
    const run = await first.send("guide", "Go");
    await soon(run.text());
    await world.close();
    const { collect, said } = collector();
    const second = await world.start([broken(({ type }) => type === "session.created"), collect]);
    const session = await second.session<string>(run.session.id);
    expect(await soon((await session.send("Again")).text())).toBe("Done.");
    expect(said).toEqual([numbers(said[0]?.length ?? 0)]);
    await world.close();
  });
});

describe("a fold", () => {
  it("EDGE-14 HOOK-04 of a plugin that is new to a session has seen every fact of it", async () => {
    const world = new FoldWorld();
    const first = await world.start([]);
    const run = await first.send("guide", "Go");
    await soon(run.text());
    await world.close();
    const { collect, said } = collector();
    const second = await world.start([collect]);
    const session = await second.session<string>(run.session.id);
    await soon((await session.send("Again")).text());
    expect(said).toEqual([numbers(said[0]?.length ?? 0)]);
    expect(said[0]?.length).toBeGreaterThan(8);
    await world.close();
  });

  it("EDGE-14 of a plugin that joins while its session is held sees every fact once, also what comes meanwhile", async () => {
    const world = new FoldWorld();
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const slow: Store = {
      ...world.store,
      async read(sessionId, options) {
        const page = await world.store.read(sessionId, options);
        if (gated && (options?.after ?? 0) === 0 && options?.types === undefined && ++reads === 1) await gate.promise;
        return page;
      },
    };
    let gated = false;
    const engine = storeEngine(slow, { clock: world.clock, ids: world.ids });
    const host = { clock: world.clock, ids: world.ids };
    const first = await openRuntime({ agents: [guideOf([])], engine, host });
    const session = await first.session({ agent: "guide", key: "k" });
    await soon((await session.send("one")).text());
    const { collect, said } = collector();
    const second = await openRuntime({ agents: [guideOf([collect])], engine, host });
    gated = true;
    const run = await session.send("two");
    await soon(untilRead(() => reads === 1));
    await session.send("three"); // accepted while the fold reads the log
    await world.clock.advance(0);
    gate.resolve();
    await soon(run.text());
    await soon((await session.run())?.text() ?? Promise.reject(new Error("no run")));
    expect(said).toHaveLength(2);
    for (const seqs of said) expect(seqs).toEqual(numbers(seqs.length));
    for (const runtime of [first, second]) {
      const closed = runtime.close({ graceMs: 0 });
      await world.clock.advance(LIMITS.interruptGraceMs + 100);
      await soon(closed);
    }
  });
});

async function untilRead(ready: () => boolean): Promise<void> {
  while (!ready()) await new Promise((resolve) => setImmediate(resolve));
}
