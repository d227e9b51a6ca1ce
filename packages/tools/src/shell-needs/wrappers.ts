/** Programs whose words are another command: what of them is their own, and where the other command begins. */

import type { Argument } from "./argument.ts";
import { readOptions } from "./options.ts";
import { isHarmlessVariable } from "./variables.ts";

export type Wrapped = {
  /** Words of the wrapper that a rule must name: 0 when it changes nothing that a rule could be about, all when it is not known what it does. */
  readonly named: number;
  /** The command it runs; absent when it runs none, or none that can be told. */
  readonly inner?: readonly Argument[];
};

type Row = { readonly options: string; readonly named: 0 | 1; readonly operand?: RegExp };

const ROWS: { readonly [program: string]: Row } = {
  timeout: {
    options: "-v -k: -s: --signal: --kill-after: --preserve-status --foreground --verbose",
    named: 0,
    operand: /^\d+(?:\.\d+)?[smhd]?$/,
  },
  nice: { options: "-n: -# --adjustment:", named: 0 },
  nohup: { options: "", named: 0 },
  stdbuf: { options: "-o: -i: -e: --output: --input: --error:", named: 0 },
  time: { options: "-p", named: 0 },
  command: { options: "", named: 0 },
  exec: { options: "", named: 0 },
  sudo: { options: "-n -H -k -u: --user: --non-interactive", named: 1 },
  doas: { options: "-n -u:", named: 1 },
};
const XARGS =
  "-0 -r -t -x -n: -P: -L: -s: -d: -I: --null --no-run-if-empty --max-args: --max-procs: --verbose --delimiter: --exit";

/** Undefined when the program is no wrapper that is known here. */
export function unwrap(words: readonly Argument[]): Wrapped | undefined {
  const program = words[0]?.text ?? ""; // by its bare name: one of the project's may be called the same
  if (program === "env") return ofEnv(words);
  if (program === "xargs") return ofXargs(words);
  if (program === "command" && /^-[vV]$/.test(words[1]?.text ?? "")) return { named: 2 };
  const row = Object.hasOwn(ROWS, program) ? ROWS[program] : undefined;
  if (row === undefined) return undefined;
  const { named, operandAt } = readOptions(words, 1, row.options, true);
  const start = row.operand === undefined ? operandAt : operandAt + 1;
  if (named > 0 || (row.operand !== undefined && !row.operand.test(words[operandAt]?.text ?? ""))) {
    return { named: words.length };
  }
  return begun(words, start, row.named);
}

function begun(words: readonly Argument[], start: number, named: number): Wrapped {
  const inner = words.slice(start);
  const first = inner[0]?.text;
  if (first === undefined || first.startsWith("-") || first.includes("=")) return { named: words.length };
  return { named, inner };
}

function ofEnv(words: readonly Argument[]): Wrapped {
  const start = words.findIndex(({ text = "" }, at) => at > 0 && !text.includes("="));
  if (start < 0) return { named: words.length };
  const harmless = words.slice(1, start).every(({ text = "" }) => isHarmlessVariable(text));
  return begun(words, start, harmless ? 0 : words.length);
}

/** What it reads becomes words at the end, or where `{}` stands. */
function ofXargs(words: readonly Argument[]): Wrapped {
  const { named, operandAt } = readOptions(words, 1, XARGS, true);
  if (named > 0) return { named: words.length };
  const own = words.slice(1, operandAt).map(({ text = "" }) => text);
  const replaces = own.findIndex((text) => text.startsWith("-I"));
  if (operandAt >= words.length) return { named: 1 };
  const { inner, named: needed } = begun(words, operandAt, 1);
  if (inner === undefined) return { named: needed };
  const read: Argument = { shape: "many", source: "" };
  if (replaces < 0 && !own.some((text) => /^-[^-]*I/.test(text))) return { named: needed, inner: [...inner, read] };
  if (own.some((text) => /^-[^-]*[nLl]|^--max/.test(text))) return { named: words.length }; // one of the two does not count
  const placeholder = own[replaces] === "-I" ? own[replaces + 1] : own[replaces]?.slice(2);
  if (placeholder !== "{}") return { named: words.length };
  return {
    named: needed,
    inner: inner.map((word) => (word.text?.includes("{}") === false ? word : { shape: "one", source: word.source })),
  };
}
