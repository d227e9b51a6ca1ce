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
  type Redirection,
  type Statement,
  type SyntaxNode,
  type TestExpression,
  type Word,
} from "unbash";
import { type Argument, argumentOf, type OnScript } from "./argument.ts";
import { isStep } from "./builtins.ts";
import { commandNeeds } from "./commands.ts";
import {
  amongOthers,
  climbs,
  deeper,
  executeNeed,
  type Needs,
  type Place,
  type Script,
  sourceOf,
  withFolders,
} from "./place.ts";
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
  readParsed(script, { folders: [""], sole, depth: 0, script: scriptOf(text) }, needs, text);
}

function readText(text: string, place: Place, needs: Needs): void {
  if (place.depth > MAX_DEPTH) needs.unproved(text);
  else readParsed(parse(text), { ...place, script: scriptOf(text) }, needs, text);
}

function scriptOf(text: string): Script {
  return { text, commands: new Map() };
}

function readParsed(script: ParsedScript | undefined, place: Place, needs: Needs, source: string): void {
  const isTooDeep = place.depth > MAX_DEPTH;
  if (script === undefined || isTooDeep || (script.errors?.length ?? 0) > 0) needs.unproved(source);
  if (script !== undefined && !isTooDeep) readList(script.commands, place, needs);
}

function readList(statements: readonly Statement[], place: Place, needs: Needs): After {
  let after: After = unmoved(place);
  for (const { command, background } of statements) {
    const next = read(command, withFolders(place, joined(after.ok, after.failed)), needs);
    if (background !== true) after = next;
  }
  return after;
}

function readBody({ commands }: CompoundList, place: Place, needs: Needs): After {
  return readList(commands, amongOthers(place), needs);
}

function read(node: Node, place: Place, needs: Needs): After {
  if (node.type === "Command") return readOnce(node, place, needs);
  const within = amongOthers(place);
  switch (node.type) {
    case "AndOr":
      return readAndOr(node, within, needs);
    case "Pipeline":
      return readPipeline(node, within, needs);
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
  for (const [at, command] of commands.entries()) {
    const isAnd = at === 0 || operators[at - 1] === "&&";
    const next = read(command, withFolders(place, isAnd ? after.ok : after.failed), needs);
    after = isAnd
      ? { ok: next.ok, failed: joined(after.failed, next.failed) }
      : { ok: joined(after.ok, next.ok), failed: next.failed };
  }
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
  const ends = [readBody(node.then, withFolders(place, clause.ok), needs)];
  for (const { clause: next, then } of node.elif) {
    clause = readBody(next, withFolders(place, clause.failed), needs);
    ends.push(readBody(then, withFolders(place, clause.ok), needs));
  }
  const last = withFolders(place, clause.failed);
  ends.push(node.else === undefined ? unmoved(last) : readBody(node.else, last, needs));
  return ends.reduce((one, other) => ({ ok: joined(one.ok, other.ok), failed: joined(one.failed, other.failed) }));
}

function readCase({ word, items }: Case, place: Place, needs: Needs): After {
  readWords([word], place, needs);
  let after = unmoved(place);
  for (const { pattern, body } of items) {
    for (const choice of pattern) if (!isPattern(choice)) needs.unproved(choice.text);
    const next = readBody(body, withFolders(place, joined(after.ok, after.failed)), needs);
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
  for (const body of bodies) after = readBody(body, withFolders(place, joined(after.ok, after.failed)), needs);
  if (joined(after.ok, after.failed).some((folder) => !place.folders.includes(folder))) needs.unproved("cd in a loop");
}

/** What stands in one script several times, as often in loops and chains, needs each time the same. */
function readOnce(command: Command, place: Place, needs: Needs): After {
  const { script, folders, sole } = place;
  if (script === undefined || hasHereDoc(command)) return readCommand(command, place, needs);
  const text = script.text.slice(command.pos, command.end);
  const seen = script.commands.get(text);
  if (seen?.folders === folders && seen.sole === sole) {
    needs.again(seen.needs);
    return unmoved(place);
  }
  const before = needs.read;
  const after = readCommand(command, place, needs);
  if (after.ok === folders && after.failed === folders)
    script.commands.set(text, { folders, sole, needs: needs.read - before });
  return after;
}

/** Its text goes on behind the command. */
function hasHereDoc({ prefix, suffix }: Command): boolean {
  return suffix.some(({ type }) => type === "HereDoc") || prefix.some(({ type }) => type === "HereDoc");
}

function readCommand(command: Command, place: Place, needs: Needs): After {
  const { name, prefix, suffix } = command;
  const onScript = nested(place, needs);
  const redirects = prefix.some(isRedirection) || suffix.some(isRedirection) ? command.redirects : NONE;
  redirectNeeds(redirects, place, needs, onScript);
  for (const part of prefix) if (part.type === "Assignment") assign(part, name !== undefined, needs, onScript);
  if (name === undefined) {
    if (command.args.length > 0) needs.unproved("a command without a name");
    return unmoved(place);
  }
  const words = [wordOf(name, needs, onScript)];
  for (const part of redirects === NONE ? suffix : command.args) {
    if (!isRedirection(part)) words.push(wordOf(part, needs, onScript));
  }
  if (hasGluedWords(command)) needs.unproved(sourceOf(words));
  if (words[0]?.text === "cd") return changeFolder(words, place, needs);
  const here = feeds(redirects) ? amongOthers(place) : place;
  commandNeeds(words, here, needs, (text, inner) => readText(text, inner, needs));
  const ends = words[0]?.text === "exit" && isStep(words) && redirects.length === 0;
  return ends ? { ok: [], failed: [] } : unmoved(place);
}

function wordOf(part: Word | Assignment, needs: Needs, onScript: OnScript): Argument {
  const word = part.type === "Word" ? argumentOf(part, onScript) : assignmentWord(part, onScript);
  if (word !== undefined) return word;
  needs.unproved(part.text);
  return { shape: "many", source: part.text };
}

type CommandPart = Command["suffix"][number] | Command["prefix"][number];
const NONE: readonly Redirection[] = [];

function isRedirection(part: CommandPart): part is Redirection {
  return part.type !== "Word" && part.type !== "Assignment";
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
  let end: number | undefined;
  const follows = (part: CommandPart): boolean => {
    const word = textPartOf(part);
    const isGlued = word !== undefined && word.pos === end;
    end = word?.end;
    return isGlued;
  };
  return prefix.some(follows) || (name !== undefined && follows(name)) || suffix.some(follows);
}

function textPartOf(part: CommandPart): { readonly pos: number; readonly end: number } | undefined {
  if (part.type === "Redirect" || part.type === "HereString") return part.target;
  return part.type === "HereDoc" ? part.delimiter : part;
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
  return (script) => readParsed(script, deeper(place), needs, "$(...)");
}

/** A pattern that runs nothing: no expansion but the simplest. */
function isPattern(word: Word): boolean {
  return !/[$`<>]/.test(word.text) || /^"?\$\w+"?$/.test(word.text) || /^'[^']*'$/.test(word.text);
}

function unmoved({ folders }: Place): After {
  return { ok: folders, failed: folders };
}

function joined(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some === others || others.length === 0) return some;
  return some.length === 0 ? others : [...new Set([...some, ...others])];
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
