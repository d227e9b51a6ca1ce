import { agent, type Fact, jsonSchema, textOf, tool } from "@capstan/core";
import { scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { logProblems } from "./harness/judge.ts";
import { factsOf, memoryRuntime, strict } from "./harness/memory-runtime.ts";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });
const never: Promise<never> = new Promise(() => undefined);

describe("a fork", () => {
  it("EDGE-11 SESS-15 EDGE-05 at any fact of a session goes on with a sound history and repeats no effect", async () => {
    const effects: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: anything,
      permission: "ask",
      execute: (_input, { callId }) => (effects.push(callId), "paid"),
    });
    const look = tool({ name: "look", description: "Looks.", input: anything, rerun: "safe", execute: () => "seen" });
    const both: ScriptedReply = {
      reasoning: "Hm.",
      text: "Paying",
      calls: [
        { name: "look", input: {} },
        { name: "pay", input: { n: 1 } },
        { name: "pay", input: { n: 2 } },
      ],
    };
    const turns: readonly ScriptedReply[] = [
      both,
      { text: "Paid." },
      ({ messages }) =>
        textOf(messages.at(-1)?.parts ?? []) === "and then" ? { text: "Half of", hold: never } : { text: "Whole." },
      { text: "Back." },
    ];
    const guide = agent({
      name: "guide",
      model: strict(scriptedModel(turns)),
      instructions: "Pay.",
      tools: [look, pay],
    });
    const runtime = await memoryRuntime([guide], {
      onRequest: () => Promise.resolve({ type: "permission", allow: true }),
    });
    const session = await runtime.session({ agent: guide, key: "k" });
    expect(await (await session.send("pay")).text()).toBe("Paid.");
    const run = await session.send("and then");
    for await (const { event } of run.events()) if (event.type === "text.delta") break;
    await session.interrupt(run.id);
    const facts = await factsOf(runtime.store, session.id);
    const done = [...effects];
    expect(facts.length).toBeGreaterThan(20);

    for (const { seq } of facts) {
      const fork = await session.fork({ at: seq });
      const result = await (await fork.send("go on")).result();
      const log: readonly Fact[] = await factsOf(runtime.store, fork.id);
      const where = `fork at ${seq}, a ${facts[seq - 1]?.type}`;
      expect(result.reason, where).toBe("end-turn");
      // where the fork cuts a run nobody interrupted it: no marker stands there
      const problems = logProblems({ sessionId: fork.id, key: "", facts: log }).filter((it) => !it.includes("markers"));
      expect(problems, where).toEqual([]);
      expect(
        effects.filter((callId) => callId.startsWith(run.id) || done.includes(callId)),
        where,
      ).toEqual(done);
    }
    expect(await factsOf(runtime.store, session.id)).toEqual(facts);
    await runtime.close();
  });
});
