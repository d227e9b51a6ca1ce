/** The global scope of a program: plain JavaScript without time, chance or binary data, and the tools. Sent as text. */

/** Called by the process around it, in its own scope; only strings go in and out. */
export type Realm = {
  /** Begins the program, or hands over the results of its calls. Its promises go on when it returns. */
  readonly step: () => void;
  /** What `step` is to do: `""` to begin, else a JSON list with one result a call. */
  readonly give: (results: string) => void;
  /** A `ProgramState` as JSON. */
  readonly state: () => string;
};
export type RealmLimits = {
  readonly calls: number;
  readonly callsAtOnce: number;
  readonly inputCharacters: number;
  readonly resultCharacters: number;
  readonly consoleCharacters: number;
  readonly errorCharacters: number;
};
type Program = (tools: object, console: object) => Promise<unknown>;
type Result = { readonly value?: unknown; readonly error?: string };

/**
 * Nothing outside of this function may be named in it: it runs elsewhere, from its own text. It uses only what it took
 * before the program could change it, and no list whose prototype the program may have changed.
 */
// oxlint-disable-next-line max-lines-per-function -- one text
export function programRealm(names: readonly string[], seed: number, limits: RealmLimits): (program: Program) => Realm {
  "use strict";
  const { stringify, parse } = JSON;
  const { apply, construct, ownKeys, deleteProperty, defineProperty } = Reflect;
  const { create, freeze, hasOwn } = Object;
  const then = Reflect.get(Promise.prototype, "then") as Function; // only ever applied
  const slice = Reflect.get(String.prototype, "slice") as Function;
  const SafePromise = Promise;
  const SafeError = Error;
  const SafeString = String;
  const kept =
    "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Promise RegExp Error " +
    "AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis JSON Math " +
    "Intl BigInt Map Set WeakMap WeakSet Proxy Reflect Iterator decodeURI decodeURIComponent encodeURI encodeURIComponent " +
    "isFinite isNaN DisposableStack AsyncDisposableStack Date";
  const keep = new Set<PropertyKey>(kept.split(" "));
  for (const name of ownKeys(globalThis)) if (!keep.has(name)) deleteProperty(globalThis, name);

  // the same every time it runs
  let state = seed;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const PlainDate = Date;
  const untold = (): never => {
    throw new TypeError("A program does not know the time: it is the same whenever it runs again. Ask a tool for it");
  };
  const TimelessDate = new Proxy(PlainDate, {
    apply: untold,
    construct: (target, given, made) => (given.length === 0 ? untold() : construct(target, given, made)),
  });
  PlainDate.now = untold;
  defineProperty(PlainDate.prototype, "constructor", { value: TimelessDate });
  deleteProperty(Intl, "DateTimeFormat"); // it formats the present where nothing is given
  defineProperty(globalThis, "Date", { value: TimelessDate, writable: true, configurable: true });

  let made = 0;
  let open = 0;
  let calls = "";
  let end = "";
  let written = "";
  let size = 0;
  let given = "";
  let waiting: Record<number, { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }> =
    create(null);

  const shown = (value: unknown): string => {
    try {
      if (typeof value === "string") return value;
      return stringify(value) ?? SafeString(value);
    } catch {
      return "[a value that cannot be shown]";
    }
  };
  const write = (...values: unknown[]): void => {
    let line = "";
    for (let index = 0; index < values.length; index++) line += (index === 0 ? "" : " ") + shown(values[index]);
    if (size >= limits.consoleCharacters) return;
    const left = limits.consoleCharacters - size;
    const cut = line.length > left;
    size += line.length + 1;
    written += (written === "" ? "" : ",") + stringify(cut ? `${apply(slice, line, [0, left])} [cut]` : line);
  };
  const errorText = (error: unknown): string => {
    try {
      const said = error instanceof SafeError ? `${error.name}: ${error.message}` : `Thrown: ${shown(error)}`;
      return stringify(apply(slice, SafeString(said), [0, limits.errorCharacters]));
    } catch {
      return '"an error that cannot be shown"';
    }
  };
  const call = (name: string, input: unknown): Promise<unknown> =>
    new SafePromise((resolve, reject) => {
      made += 1;
      if (made > limits.calls) throw new SafeError(`A program may make at most ${limits.calls} calls`);
      if (open >= limits.callsAtOnce) throw new SafeError(`At most ${limits.callsAtOnce} calls at the same time`);
      const text = stringify(input);
      if (text === undefined || text.length > limits.inputCharacters)
        throw new SafeError(`The arguments of ${name} are no JSON of at most ${limits.inputCharacters} characters`);
      waiting[open] = { resolve, reject };
      open += 1;
      calls += `${calls === "" ? "" : ","}{"name":${stringify(name)},"input":${stringify(text)}}`;
    });

  const tools: Record<string, unknown> = create(null);
  for (const name of names) tools[name] = (input: unknown = {}) => call(name, input);
  freeze(tools);
  const log = freeze({ log: write, info: write, warn: write, error: write, debug: write });

  const finished = (value: unknown): void => {
    try {
      const text = stringify(value) ?? "null";
      if (text.length > limits.resultCharacters)
        throw new SafeError(`It returned more than ${limits.resultCharacters} characters of JSON: return less`);
      end = `"value":${stringify(text)}`;
    } catch (error) {
      end = `"error":${errorText(error)}`;
    }
  };
  const failed = (error: unknown): void => void (end = `"error":${errorText(error)}`);

  const begin = (program: Program): void => {
    try {
      void apply(then, program(tools, log), [finished, failed]);
    } catch {
      end = '"error":"The program is not the body of one function"';
    }
  };

  return (program) =>
    freeze({
      give: (results: string) => void (given = results),
      step: () => {
        if (given === "") return begin(program);
        const results = parse(given) as Record<number, Result>;
        const now = waiting;
        const count = open;
        waiting = create(null);
        open = 0;
        calls = "";
        for (let index = 0; index < count; index++) {
          const result = results[index] ?? { error: "No result" };
          if (hasOwn(result, "error")) now[index]?.reject(new SafeError(result.error));
          else now[index]?.resolve(result.value);
        }
      },
      state: () => `{"calls":[${calls}],"console":[${written}]${end === "" ? "" : `,${end}`}}`,
    });
}
