/** One word of a command as far as it is known before bash expands it. */

import type { DoubleQuotedChild, ParsedScript, Word, WordPart } from "unbash";
import { isPlainLiteral, literalText } from "./literal-text.ts";

/**
 * `text`: exactly this word. `operand`: any number of words, none of which begins with a dash. `one`: exactly one word.
 * `many`: any number of words.
 */
export type Argument =
  | { readonly shape: "text"; readonly text: string; readonly source: string }
  | { readonly shape: "operand" | "one" | "many"; readonly text?: undefined; readonly source: string };

/** Called with every script that bash runs to make the word; undefined when it cannot be told which that is. */
export type OnScript = (script: ParsedScript | undefined) => void;

const PARAMETER = /^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?#$!_-])$/;
/** A dollar sign that a parser leaves in literal text may still begin something, such as the old `$[...]`. */
export const MEANS_MORE: RegExp = /\$[^ ]|`/;
/** The commonest words that are not literal, told without their parts: one variable, perhaps in quotes, and `src/*.ts`. */
const VARIABLE = /^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?#$!_-])$/;
const QUOTED_VARIABLE = /^"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?#$!_-])"$/;
const SIMPLE_GLOB = /^[A-Za-z0-9_./:@%+,*?-]+$/;
const NUMBERS = /^\$\(\([0-9+*/%() -]*\)\)$/;

/** Undefined when expanding the word could do something that is not seen: run code, assign, or read it another way. */
export function argumentOf(word: Word, onScript: OnScript): Argument | undefined {
  const source = word.text;
  const text = literalText(source);
  if (text !== undefined) {
    // where escapes are in it, both readings must agree; the parser's costs as much as all else
    return isPlainLiteral(source) || text === word.value ? { shape: "text", text, source } : undefined;
  }
  if (VARIABLE.test(source)) return { shape: "many", source };
  if (QUOTED_VARIABLE.test(source)) return { shape: "one", source };
  if (SIMPLE_GLOB.test(source)) return { shape: startsPlain(word) ? "operand" : "many", source };
  const home = tilde(word, source);
  if (home !== undefined) return home;
  let shape: "one" | "operand" | "many" = "one";
  for (const part of word.parts ?? []) {
    const made = partShape(part, onScript);
    if (made === undefined) return undefined;
    if (made === "many") shape = "many";
    else if (made === "operand" && shape !== "many") shape = "operand";
  }
  if (word.parts === undefined) return undefined;
  if (shape === "many") return { shape, source };
  if (shape === "operand" && isProcess(word)) return { shape, source };
  return { shape: startsPlain(word) ? "operand" : shape === "one" ? "one" : "many", source };
}

/** `~` and `~/x`: the home folder and a path below it. */
function tilde(word: Word, source: string): Argument | undefined {
  if (source === "~") return { shape: "operand", source };
  const rest = source.startsWith("~/") ? literalText(`x${source.slice(1)}`) : undefined;
  return rest !== undefined && word.parts === undefined ? { shape: "operand", source } : undefined;
}

function partShape(part: WordPart, onScript: OnScript): Argument["shape"] | undefined {
  switch (part.type) {
    case "Literal":
      return literalText(part.text) === undefined && literalText(`x${part.text}`) === undefined ? undefined : "one";
    case "SingleQuoted":
      return "one";
    case "AnsiCQuoted":
      return literalText(part.text) === undefined ? undefined : "one";
    case "DoubleQuoted":
      return quotedShape(part.parts, onScript);
    case "Glob":
      return part.kind === "bracket" && !/^\[[\w!^-]+\]$/.test(part.text) ? undefined : "operand";
    case "BraceExpansion":
      return /^\{[\w./,-]*\}$/.test(part.text) ? "operand" : undefined;
    case "ProcessSubstitution":
      onScript(part.script);
      return "operand";
    case "SimpleExpansion":
    case "ParameterExpansion":
    case "CommandExpansion":
    case "ArithmeticExpansion":
      return expansion(part, onScript) ? "many" : undefined;
    case "LocaleString":
    case "ExtendedGlob":
      return undefined;
    default:
      return part satisfies never;
  }
}

function quotedShape(parts: readonly DoubleQuotedChild[], onScript: OnScript): Argument["shape"] | undefined {
  let shape: Argument["shape"] = "one";
  for (const part of parts) {
    if (part.type === "Literal" && !MEANS_MORE.test(part.text)) continue;
    if (!expansion(part, onScript)) return undefined;
    if (part.text === "$@" || part.text === "${@}") shape = "many";
  }
  return shape;
}

/** Whether the expansion does nothing but run the scripts in it. Parameters with operators and arithmetic evaluate values. */
export function expansion(part: WordPart, onScript: OnScript): boolean {
  switch (part.type) {
    case "SimpleExpansion":
      return part.text === "$@" || part.text === "$*" || PARAMETER.test(part.text.slice(1));
    case "ParameterExpansion":
      return (
        part.prefix === undefined &&
        part.index === undefined &&
        part.operation === undefined &&
        PARAMETER.test(part.parameter) &&
        part.text === `\${${part.parameter}}`
      );
    case "CommandExpansion":
      onScript(/^\$\(|^`/.test(part.text) ? part.script : undefined);
      return true;
    case "ArithmeticExpansion":
      return NUMBERS.test(part.text);
    default:
      return false;
  }
}

function isProcess(word: Word): boolean {
  return word.parts?.length === 1 && word.parts[0]?.type === "ProcessSubstitution";
}

/** Whether the word surely begins with a character that is no dash. */
function startsPlain(word: Word): boolean {
  return /^(?:[A-Za-z0-9_./]|'[A-Za-z0-9_./]|"[A-Za-z0-9_./])/.test(word.text);
}
