import assert from "node:assert/strict";
import { agent, flowTool, jsonSchema, type Runtime, tool } from "@capstan/core";
import { crashSweep, type CrashSweepOptions, scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { strict } from "./harness/memory-runtime.ts";
import { STORES } from "./harness/stores.ts";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });
const look = tool({ name: "look", description: "Looks.", input: anything, rerun: "safe", execute: () => "seen" });
const pay = tool({ name: "pay", description: "Pays.", input: anything, permission: "ask", execute: () => "paid" });
const push = tool({ name: "push", description: "Pushes.", input: anything, rerun: "never", execute: () => "pushed" });
const build = flowTool({
  name: "build",
  description: "Builds.",
  input: anything,
  async flow(_input, { step, sleep }) {
    const plan = await step("plan", { rerun: "safe" }, () => "plan");
    await sleep("moment", 0);
    const [left, right] = await Promise.all([
      step("left", { rerun: "keyed" }, () => "left"),
      step("right", { rerun: "keyed" }, () => "right"),
    ]);
    return `${plan} ${left} ${right}`;
  },
});

function guideOf(turns: readonly ScriptedReply[]) {
  const model = strict(scriptedModel(turns));
  return agent({ name: "guide", model, instructions: "Short.", tools: [look, pay, push, build] });
}
const opened = (runtime: Runtime) => runtime.session({ agent: "guide", key: "k" });
const never: Promise<never> = new Promise(() => undefined);

/** What a user does, as crash sweeps: the same list on every store. */
const JOURNEYS: {
  readonly [name: string]: Omit<CrashSweepOptions, "agents" | "store"> & { readonly turns: readonly ScriptedReply[] };
} = {
  "EDGE-01 EDGE-02 DUR-02 reads and an effect of one turn": {
    turns: [
      {
        calls: [
          { name: "look", input: {} },
          { name: "push", input: {} },
          { name: "look", input: {} },
        ],
      },
      { text: "Done." },
    ],
    journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
  },
  "DUR-06 PERM-08 a request and its answer": {
    turns: [{ calls: [{ name: "pay", input: { n: 1 } }] }, { text: "Paid." }],
    journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
    onRequest: ({ body }) =>
      Promise.resolve(
        body.type === "doubt" ? { type: "doubt", outcome: "it-happened" } : { type: "permission", allow: true },
      ),
    compare: (text) => assert.match(text, /pay ok: .*\nassistant: Paid\.\nend: end-turn after 2 turns\n$/),
  },
  "EDGE-02 LOOP-34 a flow with a sleep and steps beside each other": {
    turns: [{ calls: [{ name: "build", input: {} }] }, { text: "Built." }],
    journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
  },
  "LOOP-15 EDGE-05 inputs that wait for each other": {
    turns: [{ calls: [{ name: "look", input: {} }] }, { text: "One." }, { text: "Two." }],
    async journey(runtime) {
      const session = await opened(runtime);
      for (const word of ["a", "b"]) await session.send(word, { idempotencyKey: word });
      await (await session.run())?.result();
    },
  },
  "LOOP-08 EDGE-05 an interrupted answer": {
    turns: [{ text: "Half of it", hold: never }, { text: "Back." }, { text: "Back." }],
    async journey(runtime) {
      const session = await opened(runtime);
      const run = await session.send("go", { idempotencyKey: "go" });
      for await (const { event } of run.events()) {
        if (event.type !== "text.delta") continue;
        await session.interrupt(run.id);
        break;
      }
      await (await session.send("again", { idempotencyKey: "again" })).result();
    },
    compare(text) {
      assert.equal(text.match(/end: interrupted/g)?.length, 1, text);
      assert.equal(text.match(/User interrupted this message/g)?.length, 1, text);
      assert.ok((text.match(/end: end-turn/g)?.length ?? 0) <= 1, text);
      assert.doesNotMatch(text, /end: error/);
    },
  },
};

/** The other half of the list, what a store must do by itself, is `storeContract`, which both run beside their source. */
describe.each(Object.entries(STORES))(
  "crashes at every write, on the %s store,",
  { timeout: 60_000 },
  (_name, store) => {
    for (const [name, { turns, ...options }] of Object.entries(JOURNEYS)) {
      it(`EDGE-13 ${name}`, async () => {
        const report = await crashSweep({ agents: [guideOf(turns)], store, ...options });
        expect(report.crashes).toBe(2 * report.writes);
        expect(report.writes).toBeGreaterThan(6);
      });
    }
  },
);
