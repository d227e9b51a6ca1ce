import { describe, expect, it } from "vitest";
import {
  agent,
  CapstanError,
  type Fact,
  isLive,
  memoryStore,
  openRuntime,
  type Session,
  storeEngine,
  systemClock,
  systemIds,
  tool,
} from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { z } from "zod";

const CALL = { calls: [{ name: "look", input: {} }] };

describe("the model of a session", () => {
  it("MODEL-07 MODEL-20 is swapped while a run goes on: the next turn asks the new one, and each turn records its own", async () => {
    const models = {
      "a/one": scriptedModel([CALL, CALL, { text: "from one" }], { id: "a/one" }),
      "b/two": scriptedModel([CALL, CALL, { text: "from two" }], { id: "b/two" }),
    };
    let session: Session<unknown> | undefined;
    let looks = 0;
    const look = tool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      rerun: "safe",
      async execute() {
        looks += 1;
        if (looks === 1) await session?.update({ model: "b/two" });
        return "Nothing.";
      },
    });
    const looker = agent({ name: "looker", model: "a/one", instructions: "Look.", tools: [look] });
    const engine = storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) });
    await using runtime = await openRuntime({
      agents: [looker],
      engine,
      host: {
        resolveModel: async (name) => {
          if (Object.hasOwn(models, name)) return models[name as keyof typeof models]; // hasOwn has seen it
          throw new CapstanError("model-unknown", `no ${name}`);
        },
      },
    });
    session = await runtime.session({ agent: looker });
    const run = await session.send("Look around");
    expect(await run.text()).toBe("from two");
    const facts: Fact[] = [];
    for await (const { event } of run.events()) if (!isLive(event)) facts.push(event);
    const asked = facts.flatMap((fact) => (fact.type === "turn.started" ? [fact.model] : []));
    const answered = facts.flatMap((fact) => (fact.type === "turn.finished" ? [fact.model] : []));
    expect([asked, answered]).toEqual([
      ["a/one", "b/two", "b/two"],
      ["a/one", "b/two", "b/two"],
    ]);
    expect(models["b/two"].requests[0]?.messages.length).toBe(3); // the whole conversation so far
    const later = await session.send("Again");
    await later.result();
    expect(models["a/one"].requests).toHaveLength(1);
  });
});
