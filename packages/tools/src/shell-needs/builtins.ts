/** What bash does itself: steps of a script that need no rule, and changes after which other commands mean something else. */

import type { Argument } from "./argument.ts";
import { isHarmlessVariable, isScriptVariable } from "./variables.ts";

const FILE_TEST = /^-[abcdefghknprstuwxzGLNOS]$/;
const COMPARISON = /^(?:==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/;
/** `%n` of `printf` assigns to the variable that its argument names. */
const COUNTS = /%[^A-Za-z%]*[hjlLqtz]*n/;
const READ_FLAGS = /^-[rs]+$/;
const SET_FLAGS = /^[-+](?:[euxCfnv]+|[euxCfnv]*o)$/;

const STEPS: ReadonlySet<string> = new Set("true false : exit break continue wait test [ read set export".split(" "));

/** They change what a later command, or this one's words, mean. */
const CHANGE_THE_SHELL: ReadonlySet<string> = new Set(
  (
    "cd alias unalias shopt set enable hash trap export declare typeset readonly local unset eval source . exec mapfile readarray " +
    "getopts let read pushd popd builtin bind complete compopt compgen fc history disown suspend logout caller jobs coproc wait"
  ).split(" "),
);

/** Nothing that a rule could be about: it runs no program, touches no file and says nothing. */
export function isStep(words: readonly Argument[]): boolean {
  const name = words[0]?.text;
  if (name === undefined || !STEPS.has(name)) return false;
  const rest = words.slice(1);
  switch (name) {
    case "true":
    case "false":
    case ":":
      return true;
    case "exit":
    case "break":
    case "continue":
      return rest.length === 0 || (rest.length === 1 && /^\d+$/.test(rest[0]?.text ?? ""));
    case "wait":
      return rest.length === 0;
    case "test":
      return isTest(rest);
    case "[":
      return rest.at(-1)?.text === "]" && isTest(rest.slice(0, -1));
    case "read":
      return isPlainRead(rest);
    case "set":
      return isPlainSet(rest);
    case "export":
      return rest.length > 0 && rest.every(({ text = "" }) => isHarmlessVariable(text));
    default:
      return false;
  }
}

/** Whether what comes after it cannot be judged by its words any more. */
export function changesShell(words: readonly Argument[]): boolean {
  const [name, first] = words;
  if (name?.text === "printf") return first?.shape !== "text" || first.text.startsWith("-") || COUNTS.test(first.text);
  if (name?.text === "test" || name?.text === "[") return true; // not a plain one: `-v` evaluates
  return name?.text !== undefined && CHANGE_THE_SHELL.has(name.text);
}

/** One file test or one comparison of single words. */
function isTest(words: readonly Argument[]): boolean {
  const given = words[0]?.text === "!" && words.length > 2 ? words.slice(1) : words;
  const [left, middle, right] = given;
  if (given.length === 2) return FILE_TEST.test(left?.text ?? "") && isSingle(middle);
  return given.length === 3 && isSingle(left) && COMPARISON.test(middle?.text ?? "") && isSingle(right);
}

function isSingle(word: Argument | undefined): boolean {
  return word?.shape === "text" || word?.shape === "one" || (word?.shape === "operand" && /^["']/.test(word.source));
}

/** `read -r line`: into variables of the script only. */
function isPlainRead(words: readonly Argument[]): boolean {
  const names = words.filter(({ text = "" }) => !READ_FLAGS.test(text));
  return names.length > 0 && names.every(({ text = "" }) => isScriptVariable(text));
}

/** `set -e`, `set -euo pipefail`. */
function isPlainSet(words: readonly Argument[]): boolean {
  return (
    words.length > 0 &&
    words.every(({ text = "" }, at) => {
      if (text === "pipefail" || text === "errexit" || text === "nounset")
        return /^[-+]\w*o$/.test(words[at - 1]?.text ?? "");
      return SET_FLAGS.test(text) && (!text.endsWith("o") || words[at + 1] !== undefined);
    })
  );
}
