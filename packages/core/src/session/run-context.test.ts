import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { isLive } from "../words/event.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { tool, type Tool, type ToolContext } from "../ports/tool.ts";

const call = (name: string): ScriptedReply => ({ calls: [{ name, input: {} }] });

function named(name: string, execute: (context: ToolContext) => string = () => `${name} ran`): Tool {
  return tool({
    name,
    description: "Does.",
    input: z.object({}),
    rerun: "safe",
    execute: (_input, context) => execute(context),
  });
}

async function open(plugins: readonly Plugin[], turns: readonly ScriptedReply[], tools: readonly Tool[] = []) {
  const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "x", plugins, tools });
  return { guide, runtime: await testRuntime({ agents: [guide] }) };
}

describe("what is known of a run", () => {
  it("LOOP-24 tags of a send are in its facts, in hooks and in the result, also for who takes hold of it later", async () => {
    const seen: unknown[] = [];
    const look = plugin({ name: "look", prepare: (_request, { state }) => void seen.push(state.run?.overrides?.tags) });
    const { guide, runtime } = await open([look], [{ text: "One." }, { text: "Two." }]);
    const tags = { ticket: "T-1", channel: "mail" };
    const run = await runtime.send(guide, "Go", { tags });
    expect((await soon(run.result())).tags).toEqual(tags);
    const again = await run.session.run(run.id);
    expect((await soon((again ?? run).result())).tags).toEqual(tags);
    const plain = await run.session.send("And now?");
    expect(await soon(plain.result())).not.toHaveProperty("tags");
    expect(seen).toEqual([tags, undefined]);
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "input.accepted").map(({ overrides }) => overrides?.tags)).toEqual([tags, undefined]);
    await runtime.close();
  });

  it("LOOP-25 hooks and tools know by which door somebody came in", async () => {
    const doors: unknown[] = [];
    const gate = plugin({
      name: "gate",
      input: (message, context, next) => {
        const actor = context.state.run?.actor;
        doors.push(actor);
        return actor?.door === "web" ? context.refuse("Not from the web") : next(message);
      },
    });
    const where = named("where", ({ actor }) => `came by ${actor.door}`);
    const { guide, runtime } = await open([gate], [call("where"), { text: "Ok." }], [where]);
    const ci = await runtime.as({ id: "build-7", door: "ci" }).send(guide, "Go");
    expect((await soon(ci.result())).messages[2]?.parts[0]).toMatchObject({
      output: { content: [{ text: "came by ci" }] },
    });
    const web = await runtime.as({ id: "ann", door: "web" }).send(guide, "Go");
    expect((await soon(web.result())).reason).toBe("refused-input");
    expect(doors).toEqual([
      { id: "build-7", door: "ci" },
      { id: "ann", door: "web" },
    ]);
    await runtime.close();
  });

  it("LOOP-31 a reader that wants no streaming gets the facts alone, and the result needs no reader", async () => {
    const { guide, runtime } = await open([], [{ text: "Some words.", deltas: 4 }]);
    const run = await runtime.send(guide, "Go");
    const live = [];
    for await (const { event } of run.events({ live: false })) live.push(isLive(event));
    expect(live.length).toBeGreaterThan(5);
    expect(live).not.toContain(true);
    const streamed = [];
    for await (const { event } of (await run.session.send("Again")).events()) streamed.push(isLive(event));
    expect(streamed).toContain(true);
    await runtime.close();
  });

  it("SESS-14 a hook can tell the first input of a session", async () => {
    const firsts: boolean[] = [];
    const greet = plugin({
      name: "greet",
      input: (message, { state }, next) => {
        firsts.push(state.lastRun === undefined);
        return next(message);
      },
    });
    const { guide, runtime } = await open([greet], [{ text: "Hello." }]);
    const run = await runtime.send(guide, "Hi");
    await soon(run.result());
    await soon((await run.session.send("Again")).result());
    expect(firsts).toEqual([true, false]);
    await runtime.close();
  });

  it("TOOL-07 a tool has what its maker closes over, and what its session carries", async () => {
    const database = new Map([["acme", "gold"]]); // one of the process, never in the log
    const plan = named("plan", ({ session }) => database.get(session.metadata.customer as string) ?? "none");
    const { guide, runtime } = await open([], [call("plan"), { text: "Ok." }], [plan]);
    const texts = [];
    for (const customer of ["acme", "other"]) {
      const run = await runtime.send(guide, "Go", { metadata: { customer } });
      texts.push((await soon(run.result())).messages[2]?.parts[0]);
    }
    expect(texts).toMatchObject([
      { output: { content: [{ text: "gold" }] } },
      { output: { content: [{ text: "none" }] } },
    ]);
    await runtime.close();
  });

  it("HOOK-03 hooks of one plugin share a state: what one records the next ones see, in any stage", async () => {
    const seen: unknown[] = [];
    const bag = plugin<readonly string[]>({
      name: "bag",
      fold: {
        start: [],
        next: (bagged, fact) =>
          fact.type === "data" && fact.name === "plugin/bag" ? [...bagged, fact.data as string] : bagged,
      },
      async input(message, context, next) {
        await context.record("input");
        return next(message);
      },
      async prepare(_request, context) {
        seen.push(context.own);
        await context.record("prepare");
      },
      async *model(request, { own }, next) {
        seen.push(own);
        yield* next(request);
      },
      tool: (call, { own }, next) => {
        seen.push(own);
        return next(call);
      },
    });
    const { guide, runtime } = await open([bag], [call("do"), { text: "Ok." }], [named("do")]);
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    const first = ["input", "prepare"];
    expect(seen).toEqual([["input"], first, first, first, [...first, "prepare"]]);
    await runtime.close();
  });
});

describe("what hooks did in a run", () => {
  const records = plugin({ name: "records", prepare: (_request, context) => context.record({ size: 7 }) });
  const denies = plugin({
    name: "denies",
    tool: (call, context, next) => (call.name === "denied" ? context.deny("No") : next(call)),
  });
  const answers = plugin({
    name: "answers",
    tool: (call, context, next) => (call.name === "answered" ? context.answer("known") : next(call)),
  });
  const breaks = plugin({
    name: "breaks",
    tool: (call, _context, next) => {
      if (call.name === "broken") throw new Error("boom");
      return next(call);
    },
  });
  const turns: readonly ScriptedReply[] = [
    { calls: ["denied", "answered", "broken", "plain"].map((name) => ({ name, input: {} })) },
    { text: "Ok." },
  ];
  const tools = ["denied", "answered", "broken", "plain"].map((name) => named(name));

  it("HOOK-12 LOOP-26 is in its result: records, and calls that a hook ended in place of the tool", async () => {
    const { guide, runtime } = await open([records, denies, answers, breaks], turns, tools);
    const run = await runtime.send(guide, "Go");
    const { hooks } = await soon(run.result());
    const recorded = { type: "recorded", plugin: "records", data: { size: 7 } };
    expect(hooks.filter(({ type }) => type === "recorded")).toEqual([recorded, recorded]);
    const decided = hooks.filter(({ type }) => type === "decided");
    expect(decided).toHaveLength(3);
    expect(decided).toEqual(
      expect.arrayContaining([
        { type: "decided", plugin: "denies", callId: `${run.id}/1/0`, status: "denied" },
        { type: "decided", plugin: "answers", callId: `${run.id}/1/1`, status: "ok" },
        { type: "decided", plugin: "breaks", callId: `${run.id}/1/2`, status: "denied" },
      ]),
    );
    const next = await soon((await run.session.send("Again")).result());
    expect(next.hooks).toEqual([recorded]); // of its own run only
    await runtime.close();
  });

  it("HOOK-12 is the same whenever the process crashes", async () => {
    const guide = agent({
      name: "guide",
      model: scriptedModel(turns),
      instructions: "x",
      plugins: [records, denies, answers],
      tools,
    });
    const report = await crashSweep({ agents: [guide], journey: (runtime) => runtime.send(guide, "Go") });
    expect(report.crashes).toBeGreaterThan(10);
  });
});
