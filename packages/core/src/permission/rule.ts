/** One permission rule: its text, what it covers when it allows, and what it may mean when it forbids. */

import type { ExecuteNeed, Need } from "../ports/workspace.ts";
import { CapstanError } from "../words/errors.ts";
import type { ToolKind } from "../words/event.ts";
import type { PermissionWord } from "../words/verdict.ts";
import {
  type CallReading,
  isAtRoot,
  isFolderName,
  locationOf,
  type NamedFiles,
  type NeedReading,
  placeOf,
  programNamesOf,
  readingOf,
} from "./need-reading.ts";
import { hasNeeded } from "./path-glob.ts";
import {
  coversPath,
  forbidsBelow,
  forbidsPath,
  isAnywhere,
  parsePathPattern,
  type PathPattern,
  patternFor,
} from "./path-pattern.ts";
import { protectedName } from "./protected-path.ts";
import {
  coversCommand,
  forbidsCommand,
  isOpaque,
  parseWordPattern,
  ruleWords,
  type WordPattern,
} from "./shell-words.ts";
import { coversUrl, forbidsUrl, matchesText, urlPatternFor } from "./url-pattern.ts";

/** All that a verdict depends on beside the policy. */
export type CallFacts = {
  /** The tool's name; `mcp:server/tool` for a tool of an MCP server. */
  readonly tool: string;
  /** As the tool's author or the user's settings declare it; what an MCP server says of itself does not count. */
  readonly kind: ToolKind;
  readonly builtIn: boolean;
  readonly mcp?: boolean;
  /** Paths as the tool will resolve them. */
  readonly needs: readonly Need[];
  /** The word of the tool's permission function for this input. */
  readonly word?: PermissionWord;
  /** The tool's constant permission word: only a default, which rules override. */
  readonly standing?: PermissionWord;
  readonly hook?: PermissionWord;
  /** Absolute root of the workspace. */
  readonly root?: string;
};

export type Rule = {
  /** As it was written, trimmed. */
  readonly text: string;
  /** A tool's name, `mcp:server/*`, or one of `Read`, `Edit`, `Write`, `Bash`, which mean the needs of any tool. */
  readonly name: string;
  readonly pattern?: Pattern;
};
type Pattern = {
  readonly text: string;
  /** Absent for shell rules. */
  readonly path?: PathPattern;
  /** Absent when the text is not made of plain words. */
  readonly words?: WordPattern;
  /** When it forbids, folders may stand before it: Claude's meaning of a name without a slash. */
  readonly anyDepth: boolean;
};

type Means = "yes" | "maybe" | "no";

const ALIASES: { readonly [name: string]: Need["type"] } = {
  Read: "read",
  Edit: "write",
  Write: "write",
  Bash: "execute",
};
/** The tool that starts a command and does not wait: rules of `shell` hold for it too. */
const BACKGROUND_SHELL = "shell_start";
/** Kinds whose tools reach everything below the path that they name. */
const TAKES_FOLDERS: ReadonlySet<ToolKind> = new Set(["delete", "move", "search"]);
const FORM = /^([^\s()]+)(?:\((.*)\))?$/;
const TOOL = /^[A-Za-z][A-Za-z0-9_-]{0,63}$|^mcp:[A-Za-z0-9_.-]+\/(?:\*|[A-Za-z0-9_./-]+)$/;

/** Reads `name`, `name(pattern)`, `mcp:server/tool`, `mcp:server/*`, `Read(x)`, `Edit(x)`, `Write(x)`, `Bash(x)`. Throws `rule-invalid`. */
export function parseRule(text: string): Rule {
  const trimmed = text.trim();
  const [, name = "", pattern] = FORM.exec(trimmed) ?? [];
  if (/\p{Cc}/u.test(trimmed) || !TOOL.test(name)) {
    throw invalid(trimmed, "write it as name, name(pattern) or mcp:server/*");
  }
  if (pattern === undefined) return { text: trimmed, name };
  if (pattern.trim() === "")
    throw invalid(trimmed, "its pattern is empty; leave the parentheses out to mean every call");
  return { text: trimmed, name, pattern: parsePattern(trimmed, name, pattern.trim()) };
}

/** Whether the rule allows this one need of the call. */
export function covers(rule: Rule, call: CallFacts, reading: NeedReading): boolean {
  const own = isOwn(rule, call);
  if (!own && (call.mcp === true || aliasOf(rule) !== reading.need.type)) return false;
  return rule.pattern === undefined || coversNeed(rule.pattern, reading);
}

/** Whether the rule, as one that denies or asks, means the call. `maybe`: nothing shows that it does not. */
export function forbids(rule: Rule, call: CallFacts): Means {
  const own = isOwn(rule, call);
  const { pattern } = rule;
  if (own && pattern === undefined) return "yes";
  const reading = readingOf(call);
  const { needs } = reading;
  let found: Means = own && needs.length === 0 ? "maybe" : "no";
  const alias = aliasOf(rule);
  const aboutCommands = mayMeanCommand(pattern, reading);
  for (const one of needs) {
    const { type } = one.need;
    if (own ? !isJudged(rule, one.need) : type !== alias) continue;
    if (type === "execute" && aboutCommands !== undefined && pattern !== undefined) {
      if (aboutCommands === "maybe") found = "maybe";
      continue;
    }
    const means = pattern === undefined ? "yes" : forbidsNeed(pattern, one, call);
    if (means === "yes") return "yes";
    if (means === "maybe") found = "maybe";
  }
  return found === "no" && !own && namesFile(rule, reading) ? "maybe" : found;
}

/** What a rule says of every command of the call, where its program is not among all their words; undefined: look at each. */
function mayMeanCommand(pattern: Pattern | undefined, reading: CallReading): Means | undefined {
  const { words } = pattern ?? {};
  if (words === undefined || words.program === "") return undefined;
  const all = reading.text();
  if (all === undefined || all.includes(words.program)) return undefined;
  return reading.isOpaque() ? "maybe" : "no";
}

/** Whether commands name, among their words, a file that a rule about reads or writes means: they may well touch it. */
function namesFile(rule: Rule, { isOpen, text, files }: CallReading): boolean {
  const { path, anyDepth = false } = rule.pattern ?? {};
  if (path === undefined || aliasOf(rule) === "execute") return false;
  if (isOpen()) return true; // whatever stands there
  const all = text();
  const isIn = (given: string): boolean => path.needed.some((needed) => given.includes(needed.text));
  const isMentioned = all === undefined || isIn(all);
  const places = !anyDepth && !isAnywhere(path); // else any word could be a folder above
  const means = (named: NamedFiles, name: string): boolean => {
    const at = placeOf(named, name);
    if (at === undefined) return false;
    return forbidsPath(path, at, anyDepth) || ((places || isFolderName(name)) && forbidsBelow(path, at, anyDepth));
  };
  const mayMean = (name: string): boolean => path.needed.some((needed) => hasNeeded(needed, name.toLowerCase()));
  for (const named of files()) {
    const isNear = all === undefined || isIn(named.around);
    // a folder on the way to what is meant has the needed text in its name, or is where the pattern begins
    for (const { name, leadsOut } of named.folders) {
      if ((!places || leadsOut || isNear || mayMean(name)) && means(named, name)) return true;
    }
    for (const name of isMentioned ? named.names : []) if ((isNear || mayMean(name)) && means(named, name)) return true;
  }
  return false;
}

/** Whether the rule names a tool of its own, not one of the aliases. */
export function namesTool(rule: Rule): boolean {
  return aliasOf(rule) === undefined;
}

/**
 * Texts of the rules that together allow just this call from now on; empty when rules cannot say that (several files, a
 * command that is not literal, a protected path). An address is stored as its host, a call without declared needs as its
 * tool.
 */
export function rulesFor(call: CallFacts): readonly string[] {
  const readings = readingOf(call).needs;
  const needs = readings.filter((reading) => !isFree(call, reading));
  if (needs.length === 0) return oneRule(call, readings[0]);
  if (needs.length > 1 && needs.some(({ need }) => need.type !== "execute")) return [];
  const rules = new Set<string>();
  for (const need of needs) {
    const [rule] = oneRule(call, need);
    if (rule === undefined) return [];
    rules.add(rule);
  }
  return [...rules];
}

function oneRule(call: CallFacts, reading: NeedReading | undefined): readonly string[] {
  const pattern = reading === undefined ? "" : patternOf(reading, call);
  if (pattern === undefined) return [];
  const text = pattern === "" ? call.tool : `${call.tool}(${pattern})`;
  if (reading?.need.type === "execute" && isAboutCommands(call.tool)) return [text]; // plain words: nothing to parse
  try {
    const rule = parseRule(text);
    return reading === undefined || covers(rule, call, reading) ? [rule.text] : [];
  } catch {
    return []; // a name that no rule can hold
  }
}

/** Whether the need is allowed without a rule: a read inside the root, a step of a script. */
export function isFree(call: CallFacts, reading: NeedReading): boolean {
  const { need } = reading;
  if (call.mcp === true) return false; // what a server of MCP says it reads does not count
  if (need.type === "execute") return need.named === 0;
  return need.type === "read" && call.root !== undefined && locationOf(reading)?.inside !== undefined;
}

function parsePattern(rule: string, name: string, text: string): Pattern {
  const words = parseWordPattern(text);
  const anyDepth = Object.hasOwn(ALIASES, name) && !text.includes("/");
  if (name === "Bash" || isAboutCommands(name)) {
    if (words === undefined) throw invalid(rule, "a command in a rule is plain words, which may end in *");
    return { text, words, anyDepth };
  }
  try {
    return { text, path: parsePathPattern(text), anyDepth, ...(words !== undefined && { words }) };
  } catch (error) {
    throw invalid(rule, error instanceof Error ? error.message : String(error));
  }
}

function isAboutCommands(tool: string): boolean {
  return tool === "shell" || tool === BACKGROUND_SHELL;
}

function aliasOf(rule: Rule): Need["type"] | undefined {
  return Object.hasOwn(ALIASES, rule.name) ? ALIASES[rule.name] : undefined;
}

/** A rule of the shell is about commands; the files of redirects have rules of their own. */
function isJudged(rule: Rule, need: Need): boolean {
  const isFile = need.type === "read" || need.type === "write";
  return rule.pattern === undefined || rule.pattern.path !== undefined || !isFile;
}

function isOwn(rule: Rule, call: CallFacts): boolean {
  if (call.builtIn && call.tool === BACKGROUND_SHELL && rule.name === "shell") return true;
  return rule.name === call.tool || (rule.name.endsWith("/*") && call.tool.startsWith(rule.name.slice(0, -1)));
}

function coversNeed(pattern: Pattern, reading: NeedReading): boolean {
  const { need } = reading;
  switch (need.type) {
    case "read":
    case "write": {
      const location = pattern.path && locationOf(reading);
      return pattern.path !== undefined && location !== undefined && coversPath(pattern.path, location);
    }
    case "execute":
      return pattern.words !== undefined && coversCommand(pattern.words, need) && isAtRoot(reading);
    case "fetch":
      return coversUrl(pattern.text, need.url);
    case "other":
      return matchesText(pattern.text, need.what);
    default:
      return need satisfies never;
  }
}

function forbidsNeed(pattern: Pattern, reading: NeedReading, call: CallFacts): Means {
  const { need } = reading;
  switch (need.type) {
    case "read":
    case "write": {
      const location = locationOf(reading);
      if (pattern.path === undefined || location === undefined) return "maybe";
      if (forbidsPath(pattern.path, location, pattern.anyDepth)) return "yes";
      return TAKES_FOLDERS.has(call.kind) && forbidsBelow(pattern.path, location, pattern.anyDepth) ? "maybe" : "no";
    }
    case "execute":
      return pattern.words === undefined ? "maybe" : forbidsExecute(pattern.words, need, reading);
    case "fetch":
      return forbidsUrl(pattern.text, need.url);
    case "other":
      if (matchesText(pattern.text.toLowerCase(), need.what.toLowerCase())) return "yes";
      return need.what === call.tool ? "maybe" : "no"; // the tool declares no needs: a pattern cannot be judged
    default:
      return need satisfies never;
  }
}

function forbidsExecute(words: WordPattern, need: ExecuteNeed, reading: NeedReading): Means {
  if (words.program === "") return "yes"; // `*`
  const means = forbidsCommand(words, need, programNamesOf(reading));
  return means === "no" && isOpaque(need) ? "maybe" : means;
}

/** Empty: the whole tool. */
function patternOf(reading: NeedReading, call: CallFacts): string | undefined {
  const { need } = reading;
  switch (need.type) {
    case "read":
    case "write": {
      const location = locationOf(reading);
      if (location === undefined || (need.type === "write" && protectedName(location) !== undefined)) return undefined;
      return patternFor(location);
    }
    case "execute":
      return isAtRoot(reading) ? ruleWords(need)?.join(" ") : undefined;
    case "fetch":
      return urlPatternFor(need.url);
    case "other":
      if (need.what === call.tool) return "";
      return /[*\\{}]/.test(need.what) ? undefined : need.what;
    default:
      return need satisfies never;
  }
}

function invalid(rule: string, problem: string): CapstanError {
  return new CapstanError("rule-invalid", `Permission rule ${JSON.stringify(rule)} cannot be used: ${problem}`);
}
