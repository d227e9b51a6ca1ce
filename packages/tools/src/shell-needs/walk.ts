/** The commands of a script, in the order and the folders in which they may run. */

import {
  type Assignment,
  type Case,
  type Command,
  type CompoundList,
  forEachChild,
  type If,
  parse,
  type ParsedScript,
  type Pipeline,
  type Statement,
  type SyntaxNode,
  type TestExpression,
  type Word,
} from "unbash";
import { type Argument, argumentOf, type OnScript } from "./argument.ts";
import { isStep } from "./builtins.ts";
import { commandNeeds } from "./commands.ts";
import { climbs, executeNeed, type Needs, type Place, sourceOf } from "./place.ts";
import { feeds, redirectNeeds } from "./redirects.ts";
import { assignmentWord, isHarmlessVariable, isScriptVariable } from "./variables.ts";

/** The folders after success and after failure; none: it does not come to that. */
type After = { readonly ok: readonly string[]; readonly failed: readonly string[] };
type Node = Statement["command"];
type AndOr = Extract<Node, { type: "AndOr" }>;
type Compound = Exclude<
  Node,
  { type: "AndOr" | "Pipeline" | "Command" | "Redirected" | "Subshell" | "BraceGroup" | "If" | "Case" }
>;

const MAX_DEPTH = 8;
const MAX_FOLDERS = 8;
/** What `[[ ]]` may ask; others evaluate arithmetic, and that can run commands. */
const TESTS: ReadonlySet<string> = new Set(
  "-a -b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -L -S -O -G = == != =~ < > -nt -ot -ef".split(" "),
);

/** Adds the needs of a whole call. */
export function readCall(text: string, needs: Needs): void {
  const script = parse(text);
  const [only, ...others] = script.commands;
  const sole = others.length === 0 && only?.command.type === "Command" && only.background !== true;
  readParsed(script, { folders: [""], sole, depth: 0 }, needs, text);
}

function readText(text: string, place: Place, needs: Needs): void {
  if (place.depth > MAX_DEPTH) needs.unproved(text);
  else readParsed(parse(text), place, needs, text);
}

function readParsed(script: ParsedScript | undefined, place: Place, needs: Needs, source: string): void {
  const isTooDeep = place.depth > MAX_DEPTH;
  if (script === undefined || isTooDeep || (script.errors?.length ?? 0) > 0) needs.unproved(source);
  if (script !== undefined && !isTooDeep) readList(script.commands, place, needs);
}

function readList(statements: readonly Statement[], place: Place, needs: Needs): After {
  let after: After = unmoved(place);
  for (const { command, background } of statements) {
    const here = { ...place, folders: joined(after.ok, after.failed) };
    const next = read(command, here, needs);
    if (background !== true) after = next;
  }
  return after;
}

function readBody({ commands }: CompoundList, place: Place, needs: Needs): After {
  return readList(commands, { ...place, sole: false }, needs);
}

function read(node: Node, place: Place, needs: Needs): After {
  const within = { ...place, sole: false };
  switch (node.type) {
    case "AndOr":
      return readAndOr(node, within, needs);
    case "Pipeline":
      return readPipeline(node, within, needs);
    case "Command":
      return readCommand(node, place, needs);
    case "Redirected":
      redirectNeeds(node.redirects, place, needs, nested(place, needs));
      return read(node.command, within, needs);
    case "Subshell":
      readBody(node.body, within, needs);
      return unmoved(place);
    case "BraceGroup":
      return readBody(node.body, within, needs);
    case "If":
      return readIf(node, within, needs);
    case "Case":
      return readCase(node, within, needs);
    default:
      readCompound(node, within, needs);
      return unmoved(place);
  }
}

function readAndOr({ commands, operators }: AndOr, place: Place, needs: Needs): After {
  let after: After = { ok: place.folders, failed: [] };
  commands.forEach((command, at) => {
    const isAnd = at === 0 || operators[at - 1] === "&&";
    const next = read(command, { ...place, folders: isAnd ? after.ok : after.failed }, needs);
    after = isAnd
      ? { ok: next.ok, failed: joined(after.failed, next.failed) }
      : { ok: joined(after.ok, next.ok), failed: next.failed };
  });
  return after;
}

/** Several commands run in shells of their own; one may only be negated or timed. */
function readPipeline({ commands }: Pipeline, place: Place, needs: Needs): After {
  const [first] = commands;
  if (commands.length === 1 && first !== undefined) {
    const { ok, failed } = read(first, place, needs);
    return { ok: joined(ok, failed), failed: joined(ok, failed) };
  }
  for (const command of commands) read(command, place, needs);
  return unmoved(place);
}

function readIf(node: If, place: Place, needs: Needs): After {
  let clause = readBody(node.clause, place, needs);
  const ends = [readBody(node.then, { ...place, folders: clause.ok }, needs)];
  for (const { clause: next, then } of node.elif) {
    clause = readBody(next, { ...place, folders: clause.failed }, needs);
    ends.push(readBody(then, { ...place, folders: clause.ok }, needs));
  }
  const last = { ...place, folders: clause.failed };
  ends.push(node.else === undefined ? unmoved(last) : readBody(node.else, last, needs));
  return ends.reduce((one, other) => ({ ok: joined(one.ok, other.ok), failed: joined(one.failed, other.failed) }));
}

function readCase({ word, items }: Case, place: Place, needs: Needs): After {
  readWords([word], place, needs);
  let after = unmoved(place);
  for (const { pattern, body } of items) {
    for (const choice of pattern) if (!isPattern(choice)) needs.unproved(choice.text);
    const next = readBody(body, { ...place, folders: joined(after.ok, after.failed) }, needs);
    after = { ok: joined(after.ok, next.ok), failed: joined(after.failed, next.failed) };
  }
  return after;
}

function readCompound(node: Compound, place: Place, needs: Needs): void {
  switch (node.type) {
    case "While":
      return readLoop([node.clause, node.body], place, needs);
    case "For":
      if (!isScriptVariable(node.name.text)) needs.unproved(node.name.text);
      readWords(node.wordlist ?? [], place, needs);
      return readLoop([node.body], place, needs);
    case "TestCommand":
      if (!isTest(node.expression, place, needs)) needs.unproved("[[ ]]");
      return;
    case "Select":
    case "Function":
    case "Coproc":
    case "ArithmeticFor":
    case "ArithmeticCommand":
      needs.unproved(node.type.toLowerCase());
      return forEachChild(node, (child) => readInside(child, place, needs));
    default:
      return node satisfies never;
  }
}

/** Commands somewhere in what is not proved: rules that forbid still see them. */
function readInside(node: SyntaxNode, place: Place, needs: Needs): void {
  if (node.type === "Command") readCommand(node, place, needs);
  else forEachChild(node, (child) => readInside(child, place, needs));
}

/** A loop that changes the folder runs its second round elsewhere. */
function readLoop(bodies: readonly CompoundList[], place: Place, needs: Needs): void {
  let after = unmoved(place);
  for (const body of bodies) after = readBody(body, { ...place, folders: joined(after.ok, after.failed) }, needs);
  if (joined(after.ok, after.failed).some((folder) => !place.folders.includes(folder))) needs.unproved("cd in a loop");
}

function readCommand(command: Command, place: Place, needs: Needs): After {
  const onScript = nested(place, needs);
  redirectNeeds(command.redirects, place, needs, onScript);
  for (const part of command.prefix) {
    if (part.type === "Assignment") assign(part, command.name !== undefined, needs, onScript);
  }
  if (command.name === undefined) {
    if (command.args.length > 0) needs.unproved("a command without a name");
    return unmoved(place);
  }
  const words = [command.name, ...command.args].map((part): Argument => {
    const word = part.type === "Word" ? argumentOf(part, onScript) : assignmentWord(part, onScript);
    if (word === undefined) needs.unproved(part.text);
    return word ?? { shape: "many", source: part.text };
  });
  if (hasGluedWords(command)) needs.unproved(sourceOf(words));
  if (words[0]?.text === "cd") return changeFolder(words, place, needs);
  const here = feeds(command.redirects) ? { ...place, sole: false } : place;
  commandNeeds(words, here, needs, (text, inner) => readText(text, inner, needs));
  const ends = words[0]?.text === "exit" && isStep(words) && command.redirects.length === 0;
  return ends ? { ok: [], failed: [] } : unmoved(place);
}

/** `cd folder`: what comes after stands there; entering is reading it. */
function changeFolder(words: readonly Argument[], place: Place, needs: Needs): After {
  const target = words[1]?.text ?? "";
  const from = place.folders.length === 0 ? [""] : place.folders;
  if (words.length !== 2 || target === "" || /^[-+]/.test(target) || climbs(target) || from.length > MAX_FOLDERS) {
    needs.unproved(sourceOf(words));
    return unmoved(place);
  }
  needs.add(executeNeed(words, 0));
  const ok = from.map((folder) => entered(folder, target));
  for (const path of ok) if (path !== "") needs.add({ type: "read", path });
  return { ok, failed: place.folders };
}

/** Words without a blank between them are one word to bash, and were not read as one. */
function hasGluedWords({ prefix, name, suffix }: Command): boolean {
  const words = [...prefix, ...(name === undefined ? [] : [name]), ...suffix].map((part) => {
    if (part.type === "Redirect" || part.type === "HereString") return part.target;
    return part.type === "HereDoc" ? part.delimiter : part;
  });
  return words.some((word, at) => word !== undefined && words[at + 1]?.pos === word.end);
}

function assign(part: Assignment, isPrefix: boolean, needs: Needs, onScript: OnScript): void {
  const word = assignmentWord(part, onScript);
  const isKnown = isPrefix ? isHarmlessVariable(word?.text ?? "") : word !== undefined && isScriptVariable(part.name);
  if (!isKnown) needs.unproved(part.text);
}

function readWords(words: readonly Word[], place: Place, needs: Needs): void {
  for (const word of words) if (argumentOf(word, nested(place, needs)) === undefined) needs.unproved(word.text);
}

function isTest(test: TestExpression, place: Place, needs: Needs): boolean {
  switch (test.type) {
    case "TestUnary":
      return TESTS.has(test.operator) && argumentOf(test.operand, nested(place, needs)) !== undefined;
    case "TestBinary":
      readWords([test.left], place, needs);
      return TESTS.has(test.operator) && isPattern(test.right);
    case "TestLogical":
      return test.operands.every((operand) => isTest(operand, place, needs));
    case "TestNot":
      return isTest(test.operand, place, needs);
    case "TestGroup":
      return isTest(test.expression, place, needs);
    default:
      return test satisfies never;
  }
}

/** Scripts in words run in shells of their own. */
function nested(place: Place, needs: Needs): OnScript {
  const within = { ...place, sole: false, depth: place.depth + 1 };
  return (script) => readParsed(script, within, needs, "$(...)");
}

/** A pattern that runs nothing: no expansion but the simplest. */
function isPattern(word: Word): boolean {
  return !/[$`<>]/.test(word.text) || /^"?\$\w+"?$/.test(word.text) || /^'[^']*'$/.test(word.text);
}

function unmoved({ folders }: Place): After {
  return { ok: folders, failed: folders };
}

function joined(some: readonly string[], others: readonly string[]): readonly string[] {
  return some === others ? some : [...new Set([...some, ...others])];
}

/** As text, the way bash does it. */
function entered(folder: string, target: string): string {
  if (target.startsWith("/")) return target;
  const names = folder.split("/").filter((name) => name !== "");
  for (const name of target.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === ".." && names.length > 0 && names.at(-1) !== "..") names.pop();
    else names.push(name);
  }
  return (folder.startsWith("/") ? "/" : "") + names.join("/");
}
