import {
  agent,
  type Agent,
  CapstanError,
  type Fact,
  jsonSchema,
  memoryStore,
  type Part,
  plugin,
  textOf,
  tool,
  type Tool,
} from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { constants, createContext, runInContext } from "node:vm";
import { codeAgent, codeMode } from "./code-mode.ts";
import { CODE_LIMITS } from "./limits.ts";
import { toState } from "./program.ts";
import { PROCESSES, type ProgramRunner } from "./program-model.ts";
import { programRealm } from "./program-realm.ts";

type Add = { readonly a: number; readonly b: number };
const numbers = jsonSchema<Add>({
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
});
function addTool(ran: unknown[] = [], more: Partial<Parameters<typeof tool<Add>>[0]> = {}): Tool {
  return tool<Add>({
    name: "add",
    description: "Adds.",
    input: numbers,
    rerun: "safe",
    execute: ({ a, b }) => {
      ran.push([a, b]);
      return { sum: a + b };
    },
    ...more,
  });
}
const program = (code: string): ScriptedReply => ({ calls: [{ name: "run_code", input: { task: code } }] });
const LOOP = "let sum = 0; for (const b of [1, 2, 3]) sum = (await tools.add({ a: sum, b })).sum; return { sum }";

/** The same program in this process, begun anew at each step: a crash sweep takes too many processes. */
const IN_PROCESS: ProgramRunner = {
  idleMs: 0,
  start({ code, tools, seed }) {
    const context = createContext(constants.DONT_CONTEXTIFY, { microtaskMode: "afterEvaluate" });
    const scope = runInContext(`"use strict";(${String(programRealm)})`, context) as typeof programRealm;
    const realm = scope(
      tools,
      seed,
      CODE_LIMITS,
    )(runInContext(`"use strict";(async (tools, console) => {${code}})`, context) as never);
    Reflect.defineProperty(context, "step", { value: realm.step });
    let begun = false;
    return {
      async next(results) {
        realm.give(begun ? JSON.stringify(results) : "");
        begun = true;
        runInContext("step()", context);
        return toState(realm.state());
      },
      close: () => undefined,
    };
  },
};

type World = {
  readonly runtime: TestRuntime;
  readonly text: string;
  readonly log: readonly Fact[];
  readonly inner: readonly Fact[];
};
async function play(code: string, runner: Agent, more: Partial<Parameters<typeof agent>[0]> = {}): Promise<World> {
  const model = scriptedModel([
    program(code),
    ({ messages }) => ({ text: messages.at(-1)?.parts.map(said).join("") ?? "" }),
  ]);
  const worker = agent({ name: "worker", model, instructions: "Work.", tools: [runner], ...more });
  const runtime = await testRuntime({ agents: [worker as Agent] });
  const run = await runtime.send("worker", "Go");
  const { text } = await run.result();
  const read = (id: string): Promise<readonly Fact[]> => runtime.store.read(id, { after: 0, limit: 10_000 });
  const log = await read(run.session.id);
  const started = log.find((fact) => fact.type === "task.started");
  const inner = started?.childSessionId === undefined ? [] : await read(started.childSessionId);
  await runtime.close();
  return { runtime, text, log, inner };
}
const said = (part: Part): string => textOf(part.type === "tool-result" ? part.output.content : [part]);
const statuses = (log: readonly Fact[]): readonly string[] =>
  log.flatMap((fact) => (fact.type === "tool.finished" ? [`${fact.name} ${fact.status}`] : []));

describe("codeMode", () => {
  it("TOOL-22 runs a program whose calls are calls of the loop, and tells its result as JSON", async () => {
    const ran: unknown[] = [];
    const { text, inner, log } = await play(LOOP, codeMode({ tools: [addTool(ran)] }));
    expect(text).toBe('{"result":{"sum":6}}');
    expect(ran).toEqual([
      [0, 1],
      [1, 2],
      [3, 3],
    ]);
    expect(statuses(inner)).toEqual(["add ok", "add ok", "add ok"]);
    expect(statuses(log)).toEqual(["run_code ok"]);
    expect(codeMode({ tools: [addTool()] }).description).toContain('- add: Adds. Input: {"type":"object"');
  });

  it("TOOL-22 asks the rules and the hooks of every agent above for each call, and throws what they refuse", async () => {
    const seen: string[] = [];
    const hook = plugin({
      name: "hook",
      async tool(call, context, next) {
        seen.push(`${call.name} ${JSON.stringify(call.input)}`);
        return call.name === "add" && (call.input as Add).a === 13 ? context.deny("not thirteen") : next(call);
      },
    });
    const code = `const out = [];
      for (const a of [1, 13]) out.push(await tools.add({ a, b: 0 }).then(({ sum }) => sum, (error) => error.message));
      out.push(await tools.erase({ a: 1, b: 1 }).catch((error) => error.message));
      out.push(await tools.add({ a: "x" }).catch((error) => error.message));
      return out;`;
    const tools = [addTool(), addTool([], { name: "erase", permission: "ask" })];
    const { text, inner } = await play(code, codeMode({ tools }), { plugins: [hook] });
    const { result } = JSON.parse(text) as { result: readonly unknown[] };
    expect(result[0]).toBe(1);
    expect(result.slice(1).map(String)).toEqual([
      expect.stringContaining("not thirteen"),
      expect.stringMatching(/refused|denied|nobody/i),
      expect.stringContaining("Wrong arguments for add"),
    ]);
    expect(statuses(inner)).toEqual(["add ok", "add denied", "erase denied", "add error"]);
    expect(seen).toContain('add {"a":1,"b":0}');
    const runner = codeMode({ tools: [addTool()] });
    const denied = await play(LOOP, runner, { tools: [runner, addTool()], permission: { deny: ["add"] } });
    expect(denied.text).toContain("ended as failed");
  });

  it("TOOL-22 counts the calls of a program in the budget of the run", async () => {
    const { text, inner } = await play(LOOP, codeMode({ tools: [addTool()] }), {
      limits: { calls: 4, tokens: 2_000_000 },
    });
    expect(statuses(inner).filter((one) => one === "add ok").length).toBeLessThan(3);
    expect(text).toMatch(/failed/);
  });

  it("TOOL-22 makes the calls of a Promise.all in one turn", async () => {
    const code = "return Promise.all([1, 2].map((a) => tools.add({ a, b: 0 })))";
    const { text, inner } = await play(code, codeMode({ tools: [addTool()] }));
    expect(text).toBe('{"result":[{"sum":1},{"sum":2}]}');
    expect(inner.filter((fact) => fact.type === "turn.finished")).toHaveLength(2);
  });

  it("TOOL-22 tells the failure of a program, with what it wrote", async () => {
    const { text, log } = await play(
      "console.log('so far'); throw new Error('broken')",
      codeMode({ tools: [addTool()] }),
    );
    expect(text).toContain("Error: broken");
    expect(text).toContain("so far");
    expect(statuses(log)).toEqual(["run_code error"]);
    const long = await play(`return "${"x".repeat(70_000)}"`, codeMode({ tools: [addTool()] }));
    expect(long.text).toContain("at most 65536 characters");
  });

  it("TOOL-22 answers finished calls from the log when the program runs again, and ends one that diverges", async () => {
    const ran: unknown[] = [];
    const again = await play(LOOP, codeAgent({ tools: [addTool(ran)] }, { ...PROCESSES, idleMs: 0 }));
    expect(again.text).toBe('{"result":{"sum":6}}');
    expect(ran).toHaveLength(3);
    // the text of the program is not what its first calls came from
    const tampering = plugin({
      name: "tampering",
      async *model(request, _context, next) {
        const [first, ...rest] = request.messages;
        const changed = rest.length > 1 && first !== undefined;
        const parts = [{ type: "text" as const, text: "return tools.add({ a: 100, b: 100 })" }];
        yield* next(changed ? { ...request, messages: [{ ...first, parts }, ...rest] } : request);
      },
    });
    const { inner, text } = await play(
      LOOP,
      codeAgent({ tools: [addTool(ran)], plugins: [tampering] }, { ...PROCESSES, idleMs: 0 }),
    );
    const end = inner.find((fact) => fact.type === "run.finished");
    expect(end).toMatchObject({ reason: "error", error: { code: "flow-diverged" } });
    expect(text).toContain("other calls");
  });

  it(
    "TOOL-22 comes to the same end after a crash at any write, and performs no call twice",
    { timeout: 240_000 },
    async () => {
      const keyed = addTool([], { rerun: "never" });
      const model = scriptedModel([
        program("const { sum } = await tools.add({ a: 1, b: 2 }); return tools.add({ a: sum, b: 1 })"),
      ]);
      const worker = agent({
        name: "worker",
        model,
        instructions: "Work.",
        tools: [codeAgent({ tools: [keyed] }, IN_PROCESS)],
      });
      const report = await crashSweep({
        agents: [worker],
        store: () => async () => memoryStore(),
        journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }),
      });
      expect(report.crashes).toBeGreaterThan(20);
    },
  );

  it("TOOL-22 ends the process of a program when the run is interrupted", async () => {
    const model = scriptedModel([program("for (;;);")]);
    const worker = agent({ name: "worker", model, instructions: "Work.", tools: [codeMode({ tools: [addTool()] })] });
    const runtime = await testRuntime({ agents: [worker] });
    const session = await runtime.session({ agent: worker });
    const run = await session.send("Go");
    for await (const { event } of session.events({ children: true })) if (event.type === "task.started") break;
    await session.interrupt();
    expect((await run.result()).reason).toBe("interrupted");
    await runtime.close();
  });

  it("refuses to be made without tools, or with more than a model should read", () => {
    const invalid = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return CapstanError.is(error) ? error.code : error;
      }
    };
    expect(invalid(() => codeMode({ tools: [] }))).toBe("agent-invalid");
    expect(invalid(() => codeMode({ tools: [addTool([], { description: "x".repeat(40_000) })] }))).toBe(
      "agent-invalid",
    );
  });
});
