import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { isLive } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import type { Runtime } from "../session/runtime.ts";
import type { Run } from "../session/session.ts";
import type { Store } from "../ports/store.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

class EngineWorld extends World {
  start(turns: readonly ScriptedReply[], store?: Store): Promise<Runtime> {
    const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "x" });
    return this.open({ agents: [guide], work: "all" }, store);
  }
}

/** What a reader of the run saw, once it ended. */
async function seen(
  run: Run,
): Promise<{ readonly facts: readonly number[]; readonly live: readonly string[]; readonly text: string }> {
  const facts: number[] = [];
  const live: string[] = [];
  let text = "";
  for await (const { event } of run.events()) {
    if (!isLive(event)) facts.push(event.seq);
    else live.push(event.type);
    if (event.type === "turn.reset") text = "";
    if (event.type === "text.delta") text = text.slice(0, event.offset) + event.delta;
  }
  return { facts, live, text };
}

describe("readers of a process that lost its hold", () => {
  it("EDGE-04 EDGE-12 STREAM-09 get every fact of the next holder once, and nothing more of the old one", async () => {
    const world = new EngineWorld();
    let frozen = false;
    const store: Store = { ...world.store, beat: async (owner) => (frozen ? undefined : world.store.beat(owner)) };
    const gate = Promise.withResolvers<void>();
    const first = await world.start([{ text: "half of the old", hold: gate.promise }], store);
    const run = await first.send("guide", "Go");
    const early = seen(run);
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    const second = await world.start([{ text: "the new" }]);
    frozen = true;
    await world.clock.advance(LIMITS.takeoverMs + 2 * LIMITS.beatMs);
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    const log = await world.log();
    const own = log.filter(({ runId }) => runId === run.id).map(({ seq }) => seq);
    gate.resolve(); // only now it hears that it lost the session
    const { facts, live } = await soon(early);
    expect(facts).toEqual(own);
    const late = await soon(seen(run));
    expect(late).toEqual({ facts: own, live: [], text: "" });
    expect(live.filter((type) => type === "block.started")).toHaveLength(1);
    expect(await soon(run.text())).toBe("the new");
    expect(await world.log()).toEqual(log);
    await world.close(first, second);
  });

  it("G1 EDGE-12 a write that fails shows nothing that is not stored, and readers go on when the store does", async () => {
    const world = new EngineWorld();
    let broken = false;
    const append: Store["append"] = (write, options) =>
      broken && write.facts.some(({ type }) => type === "turn.finished")
        ? Promise.reject(new Error("no disk"))
        : world.store.append(write, options);
    const runtime = await world.start([(_request, attempt) => ({ text: `try ${attempt}` })], {
      ...world.store,
      append,
    });
    broken = true;
    const run = await runtime.send("guide", "Go");
    const reading = seen(run);
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    await world.clock.advance(10);
    expect(ofType(await world.log(), "turn.finished")).toEqual([]);
    broken = false;
    await world.clock.advance(2 * LIMITS.takeoverMs);
    const { facts, live } = await soon(reading);
    expect(facts).toEqual((await world.log()).filter(({ runId }) => runId === run.id).map(({ seq }) => seq));
    expect(live).toContain("turn.reset");
    expect(await soon(run.text())).toBe("try 2");
    await world.close();
  });
});
