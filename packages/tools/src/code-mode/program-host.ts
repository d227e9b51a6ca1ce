/** What the process of a program runs: it takes itself every way out, then steps through the program. Sent as text. */

import type { Realm, RealmLimits } from "./program-realm.ts";

/** The first line that the process is sent. The others are results for `Realm.give`. */
export type ProgramStart = {
  readonly code: string;
  /** Text that gives `programRealm`. */
  readonly realm: string;
  readonly tools: readonly string[];
  readonly seed: number;
  readonly limits: RealmLimits;
  readonly burstMs: number;
};

/** Nothing outside of this function may be named in it, as in `programRealm`. */
// oxlint-disable-next-line max-lines-per-function -- one text
export function programHost(): void {
  "use strict";
  const { stdin, stdout } = process;
  const exit = process.exit.bind(process);
  const vm = process.getBuiltinModule("node:vm");
  const { isNativeError } = process.getBuiltinModule("node:util").types;
  const { parse, stringify } = JSON;
  const NO_BODY = "The program is not the body of one function";
  const ours = new Set<unknown>([Error, SyntaxError, RangeError, TypeError].map(({ prototype }) => prototype));
  // a program that got at objects of this scope finds none here that reach further
  const powers =
    "getBuiltinModule binding _linkedBinding dlopen mainModule kill abort chdir execve loadEnvFile report " +
    "_kill _debugProcess _debugEnd reallyExit setuid setgid seteuid setegid setgroups initgroups umask env argv execArgv execPath";
  for (const name of powers.split(" ")) Reflect.defineProperty(process, name, { value: undefined });
  const pure = new Set(Object.getOwnPropertyNames(vm.runInNewContext("globalThis")));
  for (const name of Reflect.ownKeys(globalThis)) if (!pure.has(String(name))) Reflect.deleteProperty(globalThis, name);

  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: false, wasm: false },
    microtaskMode: "afterEvaluate",
  });
  let step: ((results: string) => string) | undefined;
  const begin = ({ code, realm, tools, seed, limits, burstMs }: ProgramStart): ((results: string) => string) => {
    const options = { timeout: burstMs };
    const scope = vm.runInContext(`${realm}(${stringify(tools)}, ${seed}, ${stringify(limits)})`, context) as (
      given: unknown,
    ) => Realm;
    const text = `"use strict"; (async (tools, console) => {\n${code}\n})`;
    const refuse = (): never => {
      throw "A program imports nothing: call tools"; // oxlint-disable-line no-throw-literal -- an error would be an object of this scope
    };
    const script = new vm.Script(text, { filename: "program", lineOffset: -1, importModuleDynamically: refuse });
    const program: unknown = script.runInContext(context, options);
    const made = scope(program);
    Reflect.defineProperty(context, " step", { value: made.step });
    const run = new vm.Script("globalThis[' step']()", { filename: "step" });
    step = (results) => {
      made.give(results);
      run.runInContext(context, options); // also what its promises do, within the same time
      return made.state();
    };
    return step;
  };
  // no member of an object of the program is looked at in a way that could run its code
  const told = (error: unknown): string => {
    if (!isNativeError(error)) return NO_BODY;
    const member = (name: string): unknown => Object.getOwnPropertyDescriptor(error, name)?.value;
    if (member("code") === "ERR_SCRIPT_EXECUTION_TIMEOUT") return "timeout";
    return ours.has(Object.getPrototypeOf(error)) ? `${error.name}: ${error.message}` : NO_BODY;
  };
  const answer = (line: string): string => {
    try {
      if (step !== undefined) return step(line);
      return begin(parse(line) as ProgramStart)("");
    } catch (error) {
      return stringify({ calls: [], console: [], error: told(error), fatal: true });
    }
  };
  let rest = "";
  stdin.setEncoding("utf8");
  stdin.on("data", (chunk: string) => {
    rest += chunk;
    for (let at = rest.indexOf("\n"); at !== -1; at = rest.indexOf("\n")) {
      const line = rest.slice(0, at);
      rest = rest.slice(at + 1);
      stdout.write(`${answer(line)}\n`);
    }
  });
  stdin.on("end", () => exit(0));
  stdin.on("error", () => exit(0));
  stdout.on("error", () => exit(0));
}
