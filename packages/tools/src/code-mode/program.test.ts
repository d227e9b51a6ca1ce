import { execFileSync } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { CODE_LIMITS as LIMITS } from "./limits.ts";
import { Program, type ProgramResult, type ProgramState } from "./program.ts";

const programs: Program[] = [];
afterEach(() => programs.splice(0).forEach((program) => program.close()));

const signal = new AbortController().signal;
function program(code: string, burstMs = 5_000): Program {
  const made = new Program({ code, tools: ["add", "mcp__x"], seed: 7, burstMs });
  programs.push(made);
  return made;
}
async function run(code: string, ...results: readonly (readonly ProgramResult[])[]): Promise<ProgramState> {
  const made = program(code);
  let state = await made.next([], signal);
  for (const list of results) state = await made.next(list, signal);
  return state;
}
const value = async (code: string, ...results: readonly (readonly ProgramResult[])[]): Promise<unknown> => {
  const state = await run(code, ...results);
  return state.type === "value" ? state.value : state;
};

describe("Program", () => {
  it("TOOL-22 calls tools, several at once, and returns JSON and what it wrote", async () => {
    const code = `
      const [sum, other] = await Promise.all([tools.add({ a: 1 }), tools["mcp__x"]()]);
      console.log("sum", { sum });
      try { await tools.add({}); } catch (error) { console.error(error.message); }
      return { sum, other, none: undefined };`;
    const made = program(code);
    expect(await made.next([], signal)).toEqual({
      type: "calls",
      calls: [
        { name: "add", input: { a: 1 } },
        { name: "mcp__x", input: {} },
      ],
    });
    await made.next([{ value: 3 }, { value: { text: "x" } }], signal);
    expect(await made.next([{ error: "refused" }], signal)).toEqual({
      type: "value",
      value: { sum: 3, other: { text: "x" } },
      console: ['sum {"sum":3}', "refused"],
    });
  });

  it("takes no harm from a failure that nobody waits for", async () => {
    const code = "Promise.reject(new Error('a')); tools.add(); await tools.add({ b: 1 }); return 1";
    expect(await value(code, [{ error: "refused" }, { value: 2 }])).toBe(1);
  });

  it("TOOL-22 says what is wrong with a program", async () => {
    const errors = await Promise.all(
      [
        "return )",
        "return nope()",
        "throw { not: 'an error' }",
        "await new Promise(() => {})",
        "return 1n",
        "tools.nope()",
      ].map((code) => run(code)),
    );
    expect(errors.map((state) => (state.type === "error" ? state.error : state))).toEqual([
      "SyntaxError: Unexpected token ')'",
      "ReferenceError: nope is not defined",
      'Thrown: {"not":"an error"}',
      "The program waits for something that never comes: await only calls of tools",
      "TypeError: Do not know how to serialize a BigInt",
      "TypeError: tools.nope is not a function",
    ]);
  });

  it("TOOL-22 has no way to files, processes, network, environment, time or chance", async () => {
    const names = [
      "process",
      "require",
      "module",
      "fetch",
      "WebSocket",
      "Worker",
      "WebAssembly",
      "ArrayBuffer",
      "Uint8Array",
    ];
    const more = [
      "SharedArrayBuffer",
      "Atomics",
      "Buffer",
      "setTimeout",
      "queueMicrotask",
      "structuredClone",
      "eval",
      "WeakRef",
    ];
    expect(await value(`return [${[...names, ...more].map((name) => `typeof ${name}`).join()}]`)).toEqual(
      [...names, ...more].map(() => "undefined"),
    );
    const attempts = [
      "this.constructor.constructor('return process')()",
      "(async () => {}).constructor('return process')()",
      "tools.add.constructor('return process')()",
      "console.log.constructor('return process')()",
      "Object.getPrototypeOf(function* () {}).constructor('yield process')().next().value",
      "new (class extends Function {})('return process')()",
      "import('node:fs').constructor.constructor('return process')()",
      "globalThis.constructor.constructor('return process')()",
      "Reflect.construct(Function, ['return process'])()",
      "Date.now()",
      "new Date()",
      "Date()",
      "new (new Date(0).constructor)()",
      "new Intl.DateTimeFormat().format()",
    ];
    const code = `const out = [];
      ${attempts.map((attempt) => `try { out.push("got " + typeof (${attempt})) } catch (error) { out.push(error.name) }`).join("\n")}
      return out`;
    const got = (await value(code)) as readonly string[];
    expect(got.filter((one) => !/^(?:Eval|Type|Reference)Error$/.test(one))).toEqual([]);
    expect(got).toHaveLength(attempts.length);
    expect(await value("return new Date(2026, 0, 2).toISOString()")).toBe("2026-01-02T00:00:00.000Z");
    const random = "return [Math.random(), Math.random()]";
    expect(await value(random)).toEqual(await value(random));
  });

  it("TOOL-22 finds no object outside of its scope by errors, stacks, callers or the wrapper", async () => {
    const stack = `Error.prepareStackTrace = (_, sites) => sites.map((site) => [typeof site.getThis(), typeof site.getFunction()]);
      return new Error().stack.flat()`;
    expect(new Set((await value(stack)) as string[])).toEqual(new Set(["undefined"]));
    const deep = `let found = []; const dive = () => { try { dive() } catch (error) { found.push(error instanceof RangeError); tools.add({}) } };
      try { dive() } catch (error) { found.push(error instanceof Error) } return found.every(Boolean)`;
    expect(await value(deep)).toBe(true);
    const caller =
      "const f = function () { return f.caller }; try { return String(f()) } catch (error) { return error.name }";
    expect(await value(caller)).toBe("TypeError");
    for (const broken of [
      "}); (async () => { return typeof process",
      "}), (() => { throw { get code() { return 1 } } })(); (",
    ])
      expect(JSON.stringify(await value(broken))).toMatch(/undefined|function|SyntaxError/);
    // what an import throws is no object of the process
    const host = `let thrown; const made = import("node:fs"); made.catch((error) => { thrown = error });
      await tools.add();
      return [thrown, made instanceof Promise]`;
    expect(await value(host, [{ value: 1 }])).toEqual(["A program imports nothing: call tools", true]);
  });

  it("TOOL-22 is not fooled by prototypes that it changed itself, and replies change none", async () => {
    const pollute = `Object.prototype.toJSON = () => "forged"; Array.prototype.push = null; Promise.prototype.then = null;
      Object.defineProperty(Array.prototype, "0", { set() { throw new Error("no") } });
      Object.prototype.error = "forged"; JSON.stringify = null; JSON.parse = null;`;
    const made = program(`${pollute} const reply = await tools.add(5); return String(reply)`);
    expect(await made.next([], signal)).toMatchObject({ type: "calls", calls: [{ name: "add" }] });
    expect(await made.next([{ value: "answer" }], signal)).toMatchObject({ type: "value" });
    const reply = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    ) as never;
    const code =
      "const got = await tools.add({}); return [({}).polluted === undefined, got.__proto__.polluted, Object.keys(got)]";
    expect(await value(code, [{ value: reply }])).toEqual([true, true, ["__proto__", "constructor"]]);
    const forged = 'return JSON.parse(\'{"__proto__":{"x":1}}\')';
    expect(Object.hasOwn((await value(forged)) as object, "__proto__")).toBe(true);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it("TOOL-22 ends a program that loops, also in promises, or takes all memory", { timeout: 60_000 }, async () => {
    const endless = ["for (;;);", "(async () => { for (;;) await null })(); return 1", "}); for (;;); (async () => {"];
    for (const code of endless) {
      const state = await program(code, 200).next([], signal);
      expect(state, code).toMatchObject({ type: "error", error: expect.stringContaining("was ended") });
    }
    for (const code of [
      "const all = []; for (;;) all.push('x'.repeat(1e6) + all.length)",
      "const m = new Map(); for (let i = 0; ; i++) m.set(i, {})",
    ]) {
      const state = await program(code, 30_000).next([], signal);
      expect(state, code).toMatchObject({ type: "error", error: expect.stringContaining("was ended") });
    }
  });

  it("TOOL-22 bounds calls, arguments, results and output", async () => {
    const flood = await run("for (let i = 0; i < 100_000; i++) console.log('flood'.repeat(100)); return 1");
    expect(flood.type === "value" && flood.console.join("").length).toBeLessThan(LIMITS.consoleCharacters + 100);
    expect(await run(`return "x".repeat(${LIMITS.resultCharacters})`)).toMatchObject({ type: "error" });
    expect(await run(`throw new Error("x".repeat(1e6))`)).toMatchObject({
      error: expect.stringMatching(/^.{1,5000}$/),
    });
    const many = await run("return Promise.all(Array.from({ length: 100 }, () => tools.add().catch(() => 0)))");
    expect(many.type === "calls" && many.calls.length).toBe(LIMITS.callsAtOnce);
    const large = `try { await tools.add("x".repeat(${LIMITS.inputCharacters})) } catch (error) { return error.message }`;
    expect(await value(large)).toContain("no JSON of at most");
    expect(await value("const loop = {}; loop.loop = loop; return tools.add(loop).catch((error) => error.name)")).toBe(
      "TypeError",
    );
  });

  it("TOOL-22 leaves no process: after an abort, a close, or the death of its parent", async () => {
    const stop = new AbortController();
    const running = program("for (;;);").next([], stop.signal);
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    const closed = program("await tools.add()");
    await closed.next([], signal);
    closed.close();
    expect(await closed.next([], signal)).toMatchObject({ type: "error" });
    const from = `import { Program } from ${JSON.stringify(new URL("./program.ts", import.meta.url).href)};
      const made = new Program({ code: "for (;;);", tools: [], seed: 1, burstMs: 300 });
      void made.next([], new AbortController().signal);
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 150);`;
    const args = ["--conditions=capstan-source", "--input-type=module", "-e", from];
    expect(() => execFileSync(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] })).toThrow();
    const left = (): string => execFileSync("ps", ["-eo", "ppid,args"]).toString();
    await expect
      .poll(
        () =>
          left()
            .split("\n")
            .filter((line) => /^\s*1 .*--frozen-intrinsics/.test(line)),
        { timeout: 5_000 },
      )
      .toEqual([]);
  });
});
