import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { isLive } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { plugin } from "../ports/plugin.ts";
import type { Runtime } from "../session/runtime.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime, type TestRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { initialState, reduce } from "../state/state.ts";
import { tool } from "../ports/tool.ts";

const call = (...names: readonly string[]): ScriptedReply => ({ calls: names.map((name) => ({ name, input: {} })) });
const act = (name: string, done: string[] = []) =>
  tool({ name, description: `Does ${name}.`, input: z.object({}), execute: () => void done.push(name) });

type Definition = Partial<AgentDefinition<unknown>>;
/** Answers of one model whoever asks: the script goes by the answers in the history, which the agents share. */
function pair(
  replies: readonly ScriptedReply[],
  { triage = {}, billing = {} }: { readonly triage?: Definition; readonly billing?: Definition } = {},
) {
  const model = scriptedModel(replies);
  const second = agent<unknown>({
    name: "billing",
    description: "Knows invoices.",
    model,
    instructions: "Bill.",
    handoffs: ["triage"],
    ...billing,
  });
  const first = agent<unknown>({ name: "triage", model, instructions: "Sort.", handoffs: [second], ...triage });
  return { model, triage: first, billing: second };
}
const toolNames = ({ requests }: ScriptedModel): readonly (readonly string[])[] =>
  requests.map(({ tools }) => tools.map(({ name }) => name));
const log = (runtime: TestRuntime, sessionId: string) => logOf(runtime.store, sessionId);

describe("a handoff", () => {
  it("SUB-08 another agent takes over the session: its model, instructions and tools, the same history", async () => {
    const first = scriptedModel([{ calls: [{ name: "transfer_to_billing", input: { reason: "an invoice" } }] }]);
    const second = scriptedModel([{}, { text: "Paid." }], { id: "scripted/billing" });
    const { triage } = pair([], {
      triage: { model: first, tools: [act("sort")] },
      billing: { model: second, tools: [act("bill")], settings: { maxOutputTokens: 99 } },
    });
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "My invoice?");
    expect(await run.text()).toBe("Paid.");
    expect(first.requests).toHaveLength(1);
    expect(first.requests[0]?.tools.find(({ name }) => name === "transfer_to_billing")?.description).toBe(
      "Hands this conversation over to the agent billing, which answers from here on. Knows invoices.",
    );
    expect(second.requests).toMatchObject([{ system: "Bill.", settings: { maxOutputTokens: 99 } }]);
    expect(toolNames(second)).toEqual([["bill", "transfer_to_triage"]]);
    expect(second.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    const facts = await log(runtime, run.session.id);
    expect(ofType(facts, "prefix.set").map(({ cause }) => cause)).toEqual(["session started", "handoff"]);
    expect(ofType(facts, "tool.started")[0]?.title).toBe("Hand over to billing: an invoice");
    expect(ofType(facts, "tool.finished")[0]).toMatchObject({ status: "ok", handoff: "billing" });
    expect(ofType(facts, "run.finished")[0]).toMatchObject({ agent: "billing", turns: 2 });
    expect(await run.session.state()).toMatchObject({ agent: "billing", openedWith: "triage" });
    expect(await runtime.sessions({ agent: "billing" })).toMatchObject([{ agent: "billing" }]);
    expect(await runtime.sessions({ agent: "triage" })).toEqual([]);
  });

  it("SUB-08 later runs stay with the agent in charge, also in another process", async () => {
    const world = new World();
    const { model, triage } = pair([call("transfer_to_billing"), { text: "one" }, { text: "two" }, { text: "three" }]);
    const runtime = await world.open({ agents: [triage] });
    const session = await runtime.session({ agent: triage, key: "k" });
    for (const input of ["a", "b"]) await soon((await session.send(input)).result());
    await world.close();
    const next = await world.open({ agents: [triage] });
    const again = await next.session({ agent: triage, key: "k" });
    expect(again.agent).toBe("billing");
    await soon((await again.send("c")).result());
    expect(model.requests.map(({ system }) => system)).toEqual(["Sort.", "Bill.", "Bill.", "Bill."]);
    expect(ofType(await world.log(), "prefix.set")).toHaveLength(2);
    await world.close();
  });

  it("SUB-08 EDGE-02 there and back, in two runs, survives a crash at every write with the right agent", async () => {
    const asked: string[] = [];
    const replies: ScriptedReply[] = [
      {
        calls: [
          { name: "transfer_to_billing", input: {} },
          { name: "sort", input: {} },
        ],
      },
      call("bill"),
      call("transfer_to_triage"),
      { text: "Sorted." },
      call("transfer_to_billing"),
      { text: "Billed." },
    ];
    const { triage, billing } = pair(replies, {
      triage: { instructions: () => (asked.push("triage"), "Sort."), tools: [act("sort")], handoffs: ["billing"] },
      billing: { instructions: () => (asked.push("billing"), "Bill."), tools: [act("bill")] },
    });
    const systems = new Map<number, Set<string>>();
    const watched = plugin({
      name: "watched",
      prepare: ({ system, messages }) => {
        const turn = messages.filter(({ role }) => role === "assistant").length;
        systems.set(turn, (systems.get(turn) ?? new Set()).add(system));
      },
    });
    const report = await crashSweep({
      agents: [triage, billing],
      plugins: [watched],
      journey: async (runtime) => {
        const session = await runtime.session({ agent: "triage", key: "k" });
        const one = await session.send("Hello", { idempotencyKey: "1" });
        await one.result();
        const two = await session.send("And?", { idempotencyKey: "2" });
        await two.result();
      },
    });
    expect(report.crashes).toBeGreaterThan(60);
    expect([...systems].map(([turn, seen]) => [turn, [...seen]])).toEqual([
      [0, ["Sort."]],
      [1, ["Bill."]],
      [2, ["Bill."]],
      [3, ["Sort."]],
      [4, ["Sort."]],
      [5, ["Bill."]],
    ]);
  });

  it("SUB-08 EDGE-02 a handoff through a hook survives a crash at every write", async () => {
    const around = plugin({ name: "around", tool: (hooked, _context, next) => next(hooked) });
    const asked = new Map<number, Set<string>>();
    const seen = plugin({
      name: "seen",
      prepare: ({ system, messages }) => {
        const turn = messages.length;
        asked.set(turn, (asked.get(turn) ?? new Set()).add(system));
      },
    });
    const { triage } = pair([call("transfer_to_billing", "sort"), { text: "Billed." }], {
      triage: { tools: [act("sort")] },
    });
    const report = await crashSweep({
      agents: [triage],
      plugins: [around, seen],
      journey: async (runtime) => {
        await (await runtime.send("triage", "Go", { key: "k", idempotencyKey: "1" })).result();
      },
    });
    expect(report.crashes).toBeGreaterThan(20);
    expect([...asked.values()].map((systems) => [...systems])).toEqual([["Sort."], ["Bill."]]);
  });

  it("SUB-08 takes effect when every call of the turn has ended; of two the first wins", async () => {
    const support = agent({ name: "support", model: scriptedModel([]), instructions: "Help." });
    const done: string[] = [];
    const { model, triage, billing } = pair(
      [call("transfer_to_billing", "transfer_to_support", "sort"), { text: "Billing." }],
      { triage: { handoffs: ["billing", support], tools: [act("sort", done)] } },
    );
    await using runtime = await testRuntime({ agents: [triage, billing] });
    const run = await runtime.send(triage, "Go");
    expect(await run.text()).toBe("Billing.");
    expect(done).toEqual(["sort"]);
    const ends = ofType(await log(runtime, run.session.id), "tool.finished");
    expect(ends.map(({ name, status, handoff }) => [name, status, handoff])).toEqual([
      ["transfer_to_billing", "ok", "billing"],
      ["transfer_to_support", "error", undefined],
      ["sort", "ok", undefined],
    ]);
    expect(model.requests[1]?.system).toBe("Bill.");
  });

  it("SUB-08 is permitted as any call: a rule denies it, the next one may be made", async () => {
    const support = agent({ name: "support", model: scriptedModel([{}, { text: "Helped." }]), instructions: "Help." });
    const { triage } = pair([call("transfer_to_billing", "transfer_to_support")], {
      triage: { handoffs: [support, "billing"], permission: { deny: ["transfer_to_billing"] } },
    });
    await using runtime = await testRuntime({ agents: [triage, pair([]).billing] });
    const run = await runtime.send(triage, "Go");
    expect(await run.text()).toBe("Helped.");
    const ends = ofType(await log(runtime, run.session.id), "tool.finished");
    expect(ends.map(({ name, status }) => [name, status])).toEqual([
      ["transfer_to_billing", "denied"],
      ["transfer_to_support", "ok"],
    ]);
  });

  it("SUB-08 a person who is asked decides who answers", async () => {
    for (const allow of [true, false]) {
      const { triage } = pair([call("transfer_to_billing"), { text: "Here." }], {
        triage: { permission: { ask: ["transfer_to_billing"] } },
      });
      const titles: string[] = [];
      await using runtime = await testRuntime({
        agents: [triage],
        permission: { mode: "ask" },
        onRequest: async ({ body }) => {
          titles.push("title" in body ? body.title : "");
          return { type: "permission", allow };
        },
      });
      const run = await runtime.send(triage, "Go");
      await run.result();
      expect(titles).toEqual(["Hand over to billing"]);
      expect((await run.session.state()).agent).toBe(allow ? "billing" : "triage");
    }
  });

  it("SUB-08 PERM-11 denies and hooks of the runtime hold on", async () => {
    const done: string[] = [];
    const guard = plugin({
      name: "guard",
      tool: (hooked, context, next) => (hooked.name === "hooked" ? context.deny("no") : next(hooked)),
    });
    const { triage } = pair([call("transfer_to_billing"), call("denied", "hooked", "fine"), { text: "ok" }], {
      billing: {
        tools: [act("denied", done), act("hooked", done), act("fine", done)],
        permission: { mode: "bypass", allow: ["denied", "hooked"] },
      },
    });
    await using runtime = await testRuntime({ agents: [triage], plugins: [guard], permission: { deny: ["denied"] } });
    await (await runtime.send(triage, "Go")).result();
    expect(done).toEqual(["fine"]);
  });

  it("SUB-08 PERM-10 PERM-11 in a sub-agent it never gets more than the parent granted", async () => {
    const done: string[] = [];
    const guard = plugin({
      name: "guard",
      tool: (hooked, context, next) => (hooked.name === "hooked" ? context.deny("no") : next(hooked)),
    });
    const { triage } = pair([call("transfer_to_billing"), call("denied", "hooked", "fine"), { text: "ok" }], {
      billing: {
        tools: [act("denied", done), act("hooked", done), act("fine", done)],
        permission: { allow: ["denied", "hooked"] },
      },
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([{ calls: [{ name: "triage", input: { task: "go" } }] }, { text: "ok" }]),
      instructions: "Lead.",
      tools: [triage, act("denied")],
      plugins: [guard],
      permission: { deny: ["denied"] },
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    await run.result();
    expect(done).toEqual(["fine"]);
    expect(await runtime.sessions({ parent: run.session.id })).toMatchObject([{ agent: "billing" }]);
  });

  it.each([
    ["ask", "bypass", "denied"],
    ["bypass", "never-ask", "denied"],
    ["bypass", undefined, "ok"],
  ] as const)("SUB-08 the session's mode %s stays, beside it %s of who takes over", async (mode, own, status) => {
    const write = tool({
      name: "write",
      description: "W.",
      input: z.object({}),
      permission: "ask",
      execute: () => "w",
    });
    const { triage } = pair([call("transfer_to_billing"), call("write"), { text: "ok" }], {
      triage: { permission: { mode } },
      billing: { tools: [write], permission: own === undefined ? {} : { mode: own, ask: ["write"] } },
    });
    const world = new World();
    const runtime = await world.open({
      agents: [triage],
      onRequest: async () => ({ type: "permission", allow: false }),
    });
    await soon((await runtime.send(triage, "Go")).result());
    expect(ofType(await world.log(), "tool.finished").at(-1)).toMatchObject({ name: "write", status });
    await world.close();
  });

  it("SUB-08 refuses names that clash, itself, and an agent that nobody has", async () => {
    const { billing } = pair([]);
    const invalid = (definition: Definition) => () =>
      agent({ name: "a", model: scriptedModel([]), instructions: "A.", ...definition });
    const refused = expect.objectContaining({ code: "agent-invalid" });
    expect(invalid({ handoffs: [billing], tools: [act("transfer_to_billing")] })).toThrow(refused);
    expect(invalid({ handoffs: [billing, "billing"] })).toThrow(refused);
    expect(invalid({ handoffs: ["a"] })).toThrow(refused);
    expect(invalid({ handoffs: ["no name for a tool"] })).toThrow(refused);
    await expect(testRuntime({ agents: [billing] })).rejects.toThrow(refused);
  });

  it("SUB-08 an agent that is gone parks the session until it is there again", async () => {
    const world = new World();
    const hold = Promise.withResolvers<void>();
    const first = pair([call("transfer_to_billing"), { text: "never", hold: hold.promise }]);
    const runtime = await world.open({ agents: [first.triage], work: "all" });
    const run = await runtime.send(first.triage, "Go");
    for await (const { event } of run.events()) if (event.type === "turn.started" && event.turn === 2) break;
    await world.kill();
    const alone = agent({ name: "triage", model: scriptedModel([]), instructions: "Sort." });
    const without = await world.open({ agents: [alone], work: "all" });
    const resultIn = async (runtime: Runtime) => (await (await runtime.session(run.session.id)).run())?.result();
    expect(await soon(resultIn(without))).toMatchObject({ status: "waiting", error: { code: "agent-unknown" } });
    await world.kill();
    const last = pair([{}, { text: "Here." }]);
    const again = await world.open({ agents: [last.triage], work: "all" });
    expect(await soon(resultIn(again))).toMatchObject({ reason: "end-turn", text: "Here." });
    expect(last.model.requests.map(({ system }) => system)).toEqual(["Bill."]);
    hold.resolve();
    await world.close();
  });

  it("SUB-08 plugins of who is in charge fold the whole log, also of the same name", async () => {
    const seen: Json[] = [];
    const counting = (by: number) =>
      plugin<number>({
        name: "counting",
        fold: { start: 0, next: (sum, fact) => (fact.type === "turn.finished" ? sum + by : sum) },
        prepare: (_request, { own }) => void seen.push(own),
      });
    const world = new World();
    const replies = [call("transfer_to_billing"), call("transfer_to_triage"), { text: "a" }, { text: "b" }];
    const open = () =>
      world.open({
        agents: [pair(replies, { triage: { plugins: [counting(1)] }, billing: { plugins: [counting(100)] } }).triage],
      });
    const session = await (await open()).session({ agent: "triage", key: "k" });
    await soon((await session.send("Go")).result());
    expect(seen).toEqual([0, 100, 2]);
    await world.close();
    const again = await (await open()).session({ agent: "triage", key: "k" });
    await soon((await again.send("Go on")).result());
    expect(seen).toEqual([0, 100, 2, 3]);
    await world.close();
  });

  it("SUB-08 OUT-01 who is in charge at the end answers, by its own schema", async () => {
    const { triage } = pair([call("transfer_to_billing"), { text: '{"paid":true}' }], {
      triage: {
        model: scriptedModel([call("transfer_to_billing", "final_answer")]),
        output: z.object({ n: z.number() }),
      },
      billing: { output: z.object({ paid: z.boolean() }) },
    });
    const model = scriptedModel([{}, { text: '{"paid":true}' }], { capabilities: { structured: true } });
    await using runtime = await testRuntime({ agents: [triage], models: { billing: model } });
    const run = await runtime.send(triage, "Go");
    expect(await run.output()).toEqual({ paid: true });
    const [finished] = ofType(await log(runtime, run.session.id), "run.finished");
    expect(finished).toMatchObject({ agent: "billing", output: { paid: true } });
  });

  it("SUB-08 an answer by the last tool beside a handoff is not the end", async () => {
    const answer = { name: "final_answer", input: { n: 1 } };
    const replies = [{ calls: [{ name: "transfer_to_billing", input: {} }, answer] }, { text: "I go on." }];
    const { triage } = pair(replies, { triage: { output: z.object({ n: z.number() }) } });
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    expect(await run.result()).toMatchObject({ reason: "end-turn", text: "I go on.", turns: 2 });
  });

  it("SUB-08 EDGE-14 instructions in a log that names nobody are of the agent that the session was opened with", () => {
    const actor = { id: "ada", door: "test" };
    const created = {
      type: "session.created",
      key: "session",
      seq: 1,
      at: 1,
      sessionId: "s",
      agent: "a",
      mode: "ask",
    } as const;
    const step = {
      type: "step.finished",
      key: "instructions/finished",
      seq: 2,
      at: 1,
      name: "instructions",
      value: "Old.",
    } as const;
    const state = reduce(initialState({ ...created, actor }), step);
    expect(state.instructions).toEqual({ a: "Old." });
    expect(reduce(state, { ...step, name: "instructions/b", seq: 3, value: "New." }).instructions).toEqual({
      a: "Old.",
      b: "New.",
    });
  });

  it("SUB-08 instructions that came with the input are of the agent that it was sent to", async () => {
    const { model, triage } = pair([call("transfer_to_billing"), call("transfer_to_triage"), { text: "ok" }]);
    await using runtime = await testRuntime({ agents: [triage] });
    const session = await runtime.session({ agent: triage });
    await (await session.send("Go", { instructions: "Only today." })).result();
    expect(model.requests.map(({ system }) => system)).toEqual(["Only today.", "Bill.", "Only today."]);
  });

  it("SUB-08 LOOP-04 two that hand over to each other end at the limit of turns of the run", async () => {
    const replies = Array.from({ length: 99 }, (_, turn) =>
      call(turn % 2 === 0 ? "transfer_to_billing" : "transfer_to_triage"),
    );
    const { model, triage } = pair(replies, { triage: { limits: { turns: 7 } }, billing: { limits: { turns: 99 } } });
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    expect(await run.result()).toMatchObject({ reason: "max-turns", turns: 7 });
    expect(model.requests).toHaveLength(7);
    expect((await run.session.state()).agent).toBe("billing");
  });

  it("SUB-08 EDGE-08 the budget of the run goes on", async () => {
    const usage = { inputTokens: 3_000, outputTokens: 1_000 };
    const replies = [
      { ...(call("transfer_to_billing") as object), usage },
      { text: "x", usage },
    ];
    const { model, triage } = pair(replies, { triage: { limits: { tokens: 4_001 } } });
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    expect(await run.result()).toMatchObject({ reason: "budget" });
    expect(model.requests).toHaveLength(1);
    expect((await run.session.state()).agent).toBe("billing");
  });

  it("SUB-08 an interrupt of the turn leaves who was called in charge", async () => {
    const begun = Promise.withResolvers<void>();
    const wait = tool({
      name: "wait",
      description: "Waits.",
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          begun.resolve();
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    });
    const { model, triage } = pair([call("transfer_to_billing", "wait"), {}, { text: "Here." }], {
      triage: { tools: [wait] },
    });
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    await begun.promise;
    await run.session.interrupt();
    expect((await run.result()).reason).toBe("interrupted");
    expect((await run.session.state()).agent).toBe("billing");
    await (await run.session.send("And?")).result();
    expect(model.requests.at(-1)?.system).toBe("Bill.");
  });

  it("SUB-08 a hook that answers or spoils the call keeps the session where it is", async () => {
    for (const spoil of ["before", "after"] as const) {
      const hook = plugin({
        name: "hook",
        async tool(hooked, context, next) {
          if (spoil === "before") return context.answer("No need.");
          return { ...(await next(hooked)), isError: true };
        },
      });
      const { triage } = pair([call("transfer_to_billing"), { text: "ok" }], { triage: { plugins: [hook] } });
      await using runtime = await testRuntime({ agents: [triage] });
      const run = await runtime.send(triage, "Go");
      await run.result();
      expect((await run.session.state()).agent).toBe("triage");
    }
  });

  it("SUB-08 SUB-04 events say who was in charge, live and read again", async () => {
    const { triage } = pair([call("transfer_to_billing"), { text: "ok" }]);
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    for (let time = 0; time < 2; time++) {
      const who: [string, string][] = [];
      for await (const { agent: name, event } of run.session.events({ after: "0" })) {
        if (event.type === "turn.finished") who.push([name, `turn ${event.turn}`]);
        if (!isLive(event) && event.type === "run.finished") break;
      }
      expect(who).toEqual([
        ["triage", "turn 1"],
        ["billing", "turn 2"],
      ]);
    }
  });

  it("SUB-08 a fork of a session that was handed over stays with the agent in charge", async () => {
    const { model, triage } = pair([call("transfer_to_billing"), { text: "ok" }, { text: "fork" }]);
    await using runtime = await testRuntime({ agents: [triage] });
    const run = await runtime.send(triage, "Go");
    await run.result();
    const fork = await run.session.fork();
    expect((await runtime.session(fork.id)).agent).toBe("billing");
    await (await fork.send("On")).result();
    expect(model.requests.at(-1)?.system).toBe("Bill.");
  });
});
