import assert from "node:assert/strict";
import { agent, CapstanError, jsonSchema, type Model, plugin, type Runtime, type Tool, tool } from "@capstan/core";
import { crashSweep, type CrashSweepOptions, scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { strict } from "./harness/memory-runtime.ts";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });
const echo = tool({
  name: "echo",
  description: "Says what it was given.",
  input: anything,
  rerun: "safe",
  execute: (input) => `echo ${JSON.stringify(input)}`,
});
const never: Promise<never> = new Promise(() => undefined);

function guideOf(turns: readonly ScriptedReply[], tools: readonly Tool[] = [echo], more: object = {}) {
  return agent({ name: "guide", model: strict(scriptedModel(turns)), instructions: "Short.", tools, ...more });
}

/** The transcript of every life must end as the undisturbed one; nothing may be left open. */
async function sweep(
  options: Omit<CrashSweepOptions, "agents"> & { readonly guide: ReturnType<typeof guideOf> },
): Promise<void> {
  const { guide, ...rest } = options;
  const report = await crashSweep({ agents: [guide], ...rest });
  expect(report.crashes).toBe(2 * report.writes);
  expect(report.writes).toBeGreaterThan(4);
}

const opened = (runtime: Runtime) => runtime.session({ agent: "guide", key: "k" });

describe("crashes at every write of", { timeout: 30_000 }, () => {
  it("LOOP-14 EDGE-05 a steer: it is heard once, in the run or after it", async () => {
    await sweep({
      guide: guideOf([{ calls: [{ name: "echo", input: {} }] }, { text: "Heard." }, { text: "Heard again." }]),
      async journey(runtime) {
        const session = await opened(runtime);
        await session.send("go", { idempotencyKey: "go" });
        await session.send("and this", { idempotencyKey: "and", ifBusy: "steer" });
        await (await session.run())?.result();
      },
      compare: (text) => {
        assert.equal(text.match(/^user: go$/gm)?.length, 1, text);
        assert.ok((text.match(/^user: and this$/gm)?.length ?? 0) <= 1, text);
        assert.doesNotMatch(text, /end: error/);
      },
    });
  });

  it("LOOP-13 a refused input: it is nowhere in the log", async () => {
    await sweep({
      guide: guideOf([{ text: "One.", hold: Promise.resolve() }]),
      async journey(runtime) {
        const session = await opened(runtime);
        const run = await session.send("go", { idempotencyKey: "go" });
        await session.send("no", { idempotencyKey: "no", ifBusy: "reject" }).catch((error: unknown) => {
          assert.ok(CapstanError.is(error, "session-busy"));
        });
        await run.result();
      },
      compare: (text) =>
        assert.match(text, /^user: go\nassistant: One\.\nend: end-turn after 1 turn\n(user: no\n.*\nend: .*\n)?$/),
    });
  });

  it("SESS-15 a fork: the old session stays, the new one goes on from the middle", async () => {
    await sweep({
      guide: guideOf([{ calls: [{ name: "unknown", input: {} }] }, { text: "One." }, { text: "Two." }]),
      async journey(runtime) {
        const session = await opened(runtime);
        await (await session.send("a", { idempotencyKey: "a" })).result();
        const fork = await session.fork();
        await (await fork.send("b", { idempotencyKey: "b" })).result();
      },
    });
  });

  it("DUR-06 a client tool: its result is taken once", async () => {
    const ask = tool({ name: "browser", description: "Runs elsewhere.", input: anything, permission: "allow" });
    await sweep({
      guide: guideOf([{ calls: [{ name: "browser", input: {} }] }, { text: "Seen." }], [ask]),
      async journey(runtime) {
        const session = await opened(runtime);
        const run = await session.send("look", { idempotencyKey: "look" });
        const result = await run.result();
        for (const { requestId } of result.requests)
          await session
            .respond(requestId, { type: "client-tool", output: { content: [{ type: "text", text: "a page" }] } })
            .catch((error: unknown) => assert.ok(CapstanError.is(error, "request-closed"))); // answered before the crash
        await run.result();
      },
      permission: { mode: "ask" },
    });
  });

  it("LOOP-29 G25 faults of the model that are tried again", async () => {
    const limited = new CapstanError("model-rate-limited", "slow down", { retryable: true, retryAfterMs: 1 });
    const lost = new CapstanError("model-network", "gone", { retryable: true, retryAfterMs: 1 });
    const inner = scriptedModel([
      (_request, attempt) => (attempt === 1 ? { error: limited } : { calls: [{ name: "echo", input: { n: 2 } }] }),
      { text: "Well done." },
    ]);
    let broken = 0;
    const faulty: Model = {
      ...inner,
      async *stream(request) {
        for await (const batch of inner.stream(request)) {
          yield batch;
          if (batch.some(({ type }) => type === "block-delta") && ++broken % 3 === 1) throw lost;
        }
      },
    };
    const guide = agent({ name: "guide", model: strict(faulty), instructions: "Short.", tools: [echo] });
    await sweep({
      guide,
      journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
    });
  });

  it("a hook that refuses an input", async () => {
    const bouncer = plugin({
      name: "bouncer",
      async input(message, context, next) {
        const verdict = await context.step("look", () => (message.id === "" ? 0 : 1));
        return message.parts.some((part) => part.type === "text" && part.text === "bad") && verdict === 1
          ? context.refuse("no")
          : next(message);
      },
    });
    await sweep({
      guide: guideOf([{ text: "One." }], [echo], { plugins: [bouncer] }),
      async journey(runtime) {
        const session = await opened(runtime);
        await session.send("bad", { idempotencyKey: "bad" });
        await (await session.send("good", { idempotencyKey: "good" })).result();
      },
    });
  });

  it("a stop hook that has one more thing to say", async () => {
    const pedant = plugin<number>({
      name: "pedant",
      fold: { start: 0, next: (turns, fact) => (fact.type === "turn.finished" ? turns + 1 : turns) },
      async stop(_state, context) {
        await context.step("think", () => 1);
        return context.own < 2 ? "Are you sure?" : undefined;
      },
    });
    await sweep({
      guide: guideOf([{ text: "Yes." }, { text: "Quite." }], [echo], { plugins: [pedant] }),
      journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
    });
  });

  it("LOOP-05 a deadline", async () => {
    await sweep({
      guide: guideOf([{ calls: [{ name: "echo", input: {} }] }, { text: "Slow, very slow", hold: never }], [echo], {
        limits: { wallMs: 40 },
      }),
      journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
      compare: (text) => {
        assert.equal(text.match(/end: deadline/g)?.length, 1, text);
        assert.doesNotMatch(text, /end: error/);
      },
    });
  });

  it("LOOP-04 the most turns", async () => {
    const turn = { calls: [{ name: "echo", input: {} }] };
    await sweep({
      guide: guideOf([turn, turn, turn, turn], [echo], { limits: { turns: 2 } }),
      journey: async (runtime) => (await (await opened(runtime)).send("go", { idempotencyKey: "go" })).result(),
    });
  });
});

describe("crashes at every write of approved calls", { timeout: 30_000 }, () => {
  for (const rerun of ["safe", "keyed", "never"] as const) {
    it(`PERM-08 G3 G16 run with the input the person approved, not the one the model wrote (${rerun})`, async () => {
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: anything,
        rerun,
        permission: "ask",
        execute: ({ n }) => `paid ${n}`,
      });
      await sweep({
        guide: guideOf([{ calls: [{ name: "pay", input: { n: 1000 } }] }, { text: "Paid." }], [pay]),
        journey: async (runtime) => (await (await opened(runtime)).send("pay", { idempotencyKey: "pay" })).result(),
        onRequest: ({ body }) =>
          Promise.resolve(
            body.type === "doubt"
              ? { type: "doubt", outcome: "it-happened" }
              : { type: "permission", allow: true, input: { n: 10 } },
          ),
        compare: (text) => {
          assert.doesNotMatch(text, /paid 1000/);
          assert.match(text, /pay ok: (paid 10|A crash lost the output)/);
          assert.equal(text.match(/end: end-turn/g)?.length, 1, text);
        },
      });
    });
  }
});
