import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import type { Clock } from "../words/clock.ts";
import { LIMITS } from "../words/limits.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "./store-engine.ts";
import { scriptedModel, type ScriptedReply, type ScriptedTurn } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

class EngineWorld extends World {
  start(
    turns: readonly ScriptedReply[],
    { store = this.store, ...options }: Partial<RuntimeOptions> & { readonly store?: Store } = {},
  ): Promise<Runtime> {
    return this.open(
      { agents: [agent({ name: "guide", model: scriptedModel(turns), instructions: "x" })], ...options },
      store,
    );
  }
}

describe("a process that was quiet for long", () => {
  it("DUR-08 EDGE-04 keeps the session it takes next, although others saw its beat stand still", async () => {
    const world = new EngineWorld();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let asked = 0;
    const model = (): ScriptedTurn => ({ text: "Mine.", hold: gates[asked++]?.promise ?? Promise.resolve() });
    const first = await world.start([model]);
    const run = await first.send("guide", "one");
    await until(() => asked === 1);
    const second = await world.start([{ text: "Stolen." }], { work: "all" });
    await world.clock.advance(1); // it has seen the beat by now
    await soon(run.session.remove()); // holds nothing any more, and beats no more
    await world.clock.advance(3 * LIMITS.takeoverMs);
    const next = await first.send("guide", "two", { key: "next" });
    await until(() => asked === 2);
    const elsewhere = await second.send("guide", "look", { key: "elsewhere" }); // has the other one look
    await soon(elsewhere.text());
    expect(ofType(await world.log(next.session.id), "run.resumed")).toEqual([]);
    await world.clock.advance(2 * LIMITS.takeoverMs);
    gates[1]?.resolve();
    expect(await soon(next.text())).toBe("Mine.");
    await world.close();
  });
});

describe("an input that comes in the middle of a change of hold", () => {
  /** A store one of whose operations waits, the next time it is asked for. */
  function gated(inner: Store, operation: "release" | "claim" | "mail") {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let armed = false;
    const store: Store = {
      ...inner,
      watch: () => () => undefined, // tells of what other processes change, as files do: here nobody does
      [operation]: async (...given: Parameters<Store["claim"]>) => {
        const work = inner[operation] as Store["claim"]; // of these three the one with the most parameters
        const early = operation === "mail" ? await work(...given) : undefined; // looked, and then it took long
        if (armed) {
          armed = false;
          begun.resolve();
          await gate.promise;
        }
        return operation === "mail" ? early : work(...given);
      },
    };
    return { store, begun: begun.promise, open: () => gate.resolve(), arm: () => void (armed = true) };
  }

  it("G1 DUR-08 is taken up although the hold was just being given back", async () => {
    const world = new EngineWorld();
    const { store, begun, open, arm } = gated(world.store, "release");
    const runtime = await world.start([{ text: "One." }, { text: "Two." }], { store });
    const session = await runtime.session({ agent: "guide", key: "k" });
    await soon((await session.send("one")).text());
    arm();
    await world.clock.advance(LIMITS.parkAfterMs + 1);
    await soon(begun);
    const run = await session.send("two");
    await world.clock.advance(0);
    open();
    expect(await soon(run.text())).toBe("Two.");
    await world.close();
  });

  for (const operation of ["claim", "mail"] as const) {
    it(`G1 DUR-08 is taken up although the session was just being taken (${operation})`, async () => {
      const world = new EngineWorld();
      const { store, begun, open, arm } = gated(world.store, operation);
      const runtime = await world.start([{ text: "One." }, { text: "Two." }], { store });
      const session = await runtime.session({ agent: "guide", key: "k" });
      arm();
      const one = await session.send("one");
      await soon(begun);
      const two = await session.send("two");
      open();
      expect(await soon(Promise.all([one.text(), two.text()]))).toEqual(["One.", "Two."]);
      await world.close();
    });
  }

  it("G1 DUR-08 is taken up whenever it comes while the hold ends", async () => {
    for (let ticks = 0; ticks < 24; ticks++) {
      const world = new EngineWorld();
      let park = (): void => undefined;
      const clock: Clock = {
        ...world.clock,
        after(ms, fire, options) {
          if (ms === LIMITS.parkAfterMs) park = fire;
          return world.clock.after(ms, fire, options);
        },
      };
      const { store } = gated(world.store, "mail");
      const guide = agent({
        name: "guide",
        model: scriptedModel([{ text: "One." }, { text: "Two." }]),
        instructions: "x",
      });
      const engine = storeEngine(store, { clock, ids: world.ids });
      const runtime = await openRuntime({ agents: [guide], engine, host: { clock, ids: world.ids } });
      const session = await runtime.session({ agent: "guide", key: "k" });
      await soon((await session.send("one")).text());
      await world.clock.advance(0);
      park();
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      expect(await soon((await session.send("two")).text()), `after ${ticks} ticks`).toBe("Two.");
      const closed = runtime.close({ graceMs: 0 });
      await world.clock.advance(1_000);
      await soon(closed);
    }
  });

  it("is taken up although the process could not register at first", async () => {
    const world = new EngineWorld();
    let failures = 2;
    const register = async (owner: string): Promise<void> => {
      if (failures-- > 0) throw new Error("no disk");
      await world.store.register(owner);
    };
    const runtime = await world.start([{ text: "One." }], { store: { ...world.store, register } });
    const run = await runtime.send("guide", "one");
    await world.clock.advance(3 * LIMITS.beatMs);
    expect(await soon(run.text())).toBe("One.");
    expect(failures).toBeLessThan(0);
    await world.close();
  });
});
