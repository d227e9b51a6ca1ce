/** Which words of a command do no more than the program is for: how many an open rule must name itself. */

import type { Argument } from "./argument.ts";
import { OPERANDS } from "./option-table.ts";

/** `flag`: no value. `value`: the next word, or attached. `attached`: a value only after `=` or in the same word. */
type Kind = "flag" | "value" | "attached";
type Row = {
  readonly options: ReadonlyMap<string, Kind>;
  /** Those of one letter, by it. */
  readonly letters: ReadonlyMap<string, Kind>;
  readonly numbers: boolean;
  /** How letters are written together: also with a value behind them, without one, or not at all. */
  readonly clusters: "attached" | "apart" | "whole";
  readonly operand: ((text: string, at: number) => boolean) | undefined;
};
export type Read = {
  /** Leading words that a rule must name; 0 when all were accepted. */
  readonly named: number;
  /** Where the first word stands that is no option; the number of words when there is none. */
  readonly operandAt: number;
};

const rows = new Map<string, Row>();

/** Reads `words` from `start` on. `stop`: options end at the first other word, which begins a command of its own. */
export function readOptions(words: readonly Argument[], start: number, rowText: string, stop = false): Read {
  const row = parsedRow(rowText);
  let named = 0;
  let operands = 0;
  let onlyOperands = false;
  for (let at = start; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    if (!onlyOperands && word.text === "--") {
      onlyOperands = true;
      continue;
    }
    if (onlyOperands || !mayBeOption(word)) {
      if (stop) return { named, operandAt: at };
      if (!acceptsOperand(row, word, operands++)) named = at + 1;
      continue;
    }
    const option = word.text === undefined ? undefined : acceptedOption(row, word.text);
    if (option === undefined) named = Math.min(at + (word.text?.includes("=") === true ? 1 : 2), words.length);
    else if (option === "takes-next" && !isValue(words[++at])) named = Math.min(at + 1, words.length);
  }
  return { named, operandAt: words.length };
}

function acceptsOperand({ operand }: Row, word: Argument, at: number): boolean {
  if (operand === undefined) return true;
  return word.text !== undefined && operand(word.text, at);
}

/** A word that may begin with a dash, or be several of which one does. */
function mayBeOption(word: Argument): boolean {
  return word.text === undefined ? word.shape !== "operand" : word.text.startsWith("-") && word.text !== "-";
}

/** One word that no program could take for an option. */
function isValue(word: Argument | undefined): boolean {
  if (word?.text === undefined) return word?.shape === "one" || word?.shape === "operand";
  return !word.text.startsWith("-") || /^-\d*$/.test(word.text);
}

function acceptedOption(row: Row, text: string): "alone" | "takes-next" | undefined {
  if (row.numbers && /^-\d+$/.test(text)) return "alone";
  const whole = row.options.get(text);
  if (whole !== undefined) return whole === "value" ? "takes-next" : "alone";
  const equals = text.indexOf("=");
  if (equals > 0) {
    const kind = row.options.get(text.slice(0, equals));
    if (kind === "value" || kind === "attached") return "alone";
  }
  return text.startsWith("--") ? undefined : acceptedCluster(row, text);
}

/** `-abc5`: letters without a value, the last perhaps with one. */
function acceptedCluster({ letters, clusters }: Row, text: string): "alone" | "takes-next" | undefined {
  if (clusters === "whole") return undefined;
  for (let at = 1; at < text.length; at++) {
    const kind = letters.get(text.charAt(at));
    if (kind === undefined || (clusters === "apart" && kind !== "flag" && at + 1 < text.length)) return undefined;
    if (kind === "attached") return "alone";
    if (kind === "value") return at + 1 < text.length ? "alone" : "takes-next";
  }
  return "alone";
}

function parsedRow(text: string): Row {
  const known = rows.get(text);
  if (known !== undefined) return known;
  const options = new Map<string, Kind>();
  let operand: Row["operand"];
  let clusters: Row["clusters"] = "attached";
  for (const word of text.split(" ")) {
    if (word === "!apart" || word === "!whole") clusters = word === "!apart" ? "apart" : "whole";
    else if (word.startsWith("@")) operand = OPERANDS[word.slice(1)];
    else if (word.endsWith(":")) options.set(word.slice(0, -1), "value");
    else if (word.endsWith("=")) options.set(word.slice(0, -1), "attached");
    else options.set(word, "flag");
  }
  const letters = new Map([...options].flatMap(([name, kind]) => (/^-.$/s.test(name) ? [[name.charAt(1), kind]] : [])));
  const row = { options, letters, numbers: options.has("-#"), clusters, operand };
  rows.set(text, row);
  return row;
}
