/** Paths as permission rules see them: resolved as text against the root, matched by globs segment by segment. */

import { CapstanError } from "../errors.ts";

/** Where a path lies. Text only: what a symbolic link points at is decided by the workspace when it opens the file. */
export type Location = {
  /** Segments from the file system's root; from the workspace's root (with leading `..`) when that root is unknown. */
  readonly all: readonly string[];
  readonly absolute: boolean;
  /** Segments below the root, compared letter for letter. Absent when the path is outside. */
  readonly inside?: readonly string[];
  /** As `inside`, but also when the root's own name is spelled differently (file systems that fold case). */
  readonly nearlyInside?: readonly string[];
  /** The path is a folder the root lies in. */
  readonly above?: true;
};

type Token = "one" | "many" | { readonly literal: string };
type Segment = "deep" | readonly Token[];
type Glob = readonly Segment[];

export type PathPattern = {
  readonly absolute: boolean;
  /** One glob for every choice of `{a,b}`. */
  readonly exact: readonly Glob[];
  /** The same with folded case, for rules that forbid. */
  readonly folded: readonly Glob[];
};

const MAX_CHOICES = 128;
/** Characters of the longest path of any system; a longer one opens nothing. */
const MAX_PATH = 32_767;
const DRIVE = /^[A-Za-z]:(?:\/|$)/;
/** Characters some file systems drop from names: zero width characters, direction marks, byte order mark. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;

/** Where systems keep other names of files: what a process has open or stands in, the same disk once more. */
const ALIASES = /^(?:proc|dev|system\/volumes)(?:\/|$)/;
/** Other names on Windows: relative to a drive's folder, device paths, short names such as `GIT~1`, dots with blanks. */
const WINDOWS_ALIASES = /^[A-Za-z]:(?!\/|$)|^\/\/[?.]\/|~\d+(?:[./]|$)|(?:^|\/)(?!\.{1,2}(?:\/|$))[. ]+(?:\/|$)/;

/** Undefined when where the path lies cannot be told from its text: nobody could judge it by a rule. */
export function locate(path: string, root?: string): Location | undefined {
  const windows = root !== undefined && DRIVE.test(slashed(root));
  const text = windows ? slashed(path) : path;
  if (path.length > MAX_PATH || path.includes("\0") || (windows && WINDOWS_ALIASES.test(text))) return undefined;
  const base = root === undefined ? undefined : normalised([], withDrive(windows ? slashed(root) : root, windows));
  const absolute = text.startsWith("/") || (windows && DRIVE.test(text));
  if (absolute) {
    return unlessAlias(placed(normalised([], windows ? withDrive(text, true, base?.[0]) : text), base), base);
  }
  if (base !== undefined) return unlessAlias(placed(normalised(base, text), base), base);
  const all = normalised([], text, true);
  if (all[0] === "..") return { all, absolute: false };
  return { all, absolute: false, inside: all, nearlyInside: all };
}

/** A name as the most forgiving file system compares it. */
function foldName(name: string): string {
  return name.normalize("NFKC").replace(IGNORED, "").toLowerCase().toUpperCase().toLowerCase();
}

/** A folded name without what Windows ignores at its end: dots, spaces, the name of a stream. */
export function trimmedName(name: string): string {
  return foldName(name)
    .replace(/(?<=.):.*$/, "")
    .replace(/(?<=[^. ])[. ]+$/, "");
}

/** Reads a glob: `*`, `?`, `**`, `{a,b}`, `\` before a literal character. Throws `rule-invalid`. */
export function parsePathPattern(text: string): PathPattern {
  if (/^[~!]/.test(text)) {
    throw invalid(text, `write the absolute path; "${text[0]}" at the start has no meaning here`);
  }
  const absolute = text.startsWith("/") || DRIVE.test(text);
  const lowered = DRIVE.test(text) ? `${text[0]?.toLowerCase()}${text.slice(1)}` : text; // as `locate` writes drives
  const exact = choices(lowered).map((choice) => segments(choice, text));
  return { absolute, exact, folded: exact.map((glob) => glob.map((segment) => foldSegment(segment))) };
}

/** Whether a rule that allows covers the path: letter for letter. */
export function coversPath(pattern: PathPattern, location: Location): boolean {
  const path = pattern.absolute ? (location.absolute ? location.all : undefined) : location.inside;
  return path !== undefined && pattern.exact.some((glob) => ends(glob, path, true));
}

/** Whether a rule that forbids means the path or a folder it lies in. `anyDepth`: also when its first folders are left out. */
export function forbidsPath(pattern: PathPattern, location: Location, anyDepth = false): boolean {
  const path = forbidding(pattern, location);
  if (path === undefined) return false;
  const matches = (globs: readonly Glob[], names: readonly string[]): boolean =>
    globs.some((glob) => startsWith(anyDepth ? ["deep", ...glob] : glob, names));
  return (
    matches(pattern.exact, path) ||
    matches(pattern.folded, path.map(foldName)) ||
    matches(pattern.folded, path.map(trimmedName))
  );
}

/** Whether something below the path could be what a rule forbids: the path is a folder on the way to it. */
export function forbidsBelow(pattern: PathPattern, location: Location, anyDepth = false): boolean {
  if (location.above === true && !pattern.absolute) return true;
  const path = forbidding(pattern, location);
  if (path === undefined) return false;
  if (anyDepth) return true;
  const folded = path.map((name) => foldName(name));
  return pattern.folded.some((glob) => [...reached(glob, folded)].some((at) => at < glob.length));
}

/** The text of a pattern that means exactly this path. */
export function patternFor(location: Location): string {
  const names = (location.inside ?? location.all).map((name) => name.replace(/[\\*?{}[\]]/g, "\\$&"));
  if (location.inside !== undefined) return `./${names.join("/")}`;
  return DRIVE.test(`${names[0] ?? ""}/`) ? names.join("/") : `/${names.join("/")}`;
}

/** Nothing, for a path under such a name, unless the workspace itself lies there. */
function unlessAlias(location: Location, base: readonly string[] = []): Location | undefined {
  const isAlias = ALIASES.test(location.all.slice(0, 2).map(foldName).join("/"));
  const isHome = location.nearlyInside !== undefined && ALIASES.test(base.slice(0, 2).map(foldName).join("/"));
  return isAlias && !isHome ? undefined : location;
}

function forbidding(pattern: PathPattern, location: Location): readonly string[] | undefined {
  if (!pattern.absolute) return location.nearlyInside;
  return location.absolute ? location.all : undefined;
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

/** Absolute Windows text always starts with a drive or, for a share, with an empty name. */
function withDrive(path: string, windows: boolean, drive = "c:"): string {
  if (!windows) return path;
  if (path.startsWith("//")) return `share:/${path.slice(2)}`;
  return path.startsWith("/") ? `${drive}${path}` : path[0]?.toLowerCase() + path.slice(1);
}

function normalised(base: readonly string[], path: string, keepParents = false): readonly string[] {
  const names = [...base];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (keepParents && (names.length === 0 || names.at(-1) === "..")) names.push("..");
    else names.pop();
  }
  return names;
}

function placed(all: readonly string[], base: readonly string[] | undefined): Location {
  if (base === undefined) return { all, absolute: true };
  if (all.length < base.length) {
    const above = all.every((name, at) => trimmedName(name) === trimmedName(base[at] ?? ""));
    return { all, absolute: true, ...(above && { above }) };
  }
  const inside = all.slice(base.length);
  if (base.every((name, at) => name === all[at])) return { all, absolute: true, inside, nearlyInside: inside };
  const near = base.every((name, at) => trimmedName(name) === trimmedName(all[at] ?? ""));
  return { all, absolute: true, ...(near && { nearlyInside: inside }) };
}

/** The texts without `{a,b}`, one for every choice. */
function choices(text: string, whole = text): readonly string[] {
  const group = /^((?:[^\\{}]|\\.)*)\{((?:[^\\{}]|\\.)*)\}(.*)$/s.exec(text);
  if (group === null) {
    if (/^(?:[^\\{}]|\\.)*[{}]/s.test(text)) throw invalid(whole, "its braces do not match or are nested");
    return [text];
  }
  const [, before = "", inner = "", after = ""] = group;
  const rest = choices(after, whole);
  const found = inner.split(/(?<!\\),/).flatMap((choice) => rest.map((tail) => before + choice + tail));
  if (found.length > MAX_CHOICES) throw invalid(whole, `it has more than ${MAX_CHOICES} choices`);
  return found;
}

function segments(text: string, whole: string): Glob {
  const glob: Segment[] = [];
  for (const part of text.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") throw invalid(whole, 'a pattern cannot go up with ".."; write the absolute path');
    if (part !== "**") glob.push(tokens(part, whole));
    else if (glob.at(-1) !== "deep") glob.push("deep");
  }
  return glob;
}

function tokens(part: string, whole: string): readonly Token[] {
  const found: Token[] = [];
  const characters = Array.from(part);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (found.at(-1) !== "many") found.push("many");
    } else if (character === "?") found.push("one");
    else if (character === "[" || character === "]") {
      throw invalid(whole, "sets of characters are not supported; write \\[ and \\] for brackets in a name");
    } else if (character !== "\\") found.push({ literal: character });
    else found.push({ literal: characters[++at] ?? "\\" });
  }
  return found;
}

function foldSegment(segment: Segment): Segment {
  if (segment === "deep") return segment;
  const found: Token[] = [];
  let literal = "";
  for (const token of [...segment, undefined]) {
    if (typeof token === "object") {
      literal += token.literal;
      continue;
    }
    found.push(...Array.from(foldName(literal), (character) => ({ literal: character })));
    literal = "";
    if (token !== undefined) found.push(token);
  }
  return found;
}

/** Whether the glob ends exactly where the path does. `below`: a last `**` stands for at least one name. */
function ends(glob: Glob, path: readonly string[], below: boolean): boolean {
  if (below && glob.at(-1) === "deep") return ends([...glob, ["many"]], path, false);
  return reached(glob, path).has(glob.length);
}

/** Whether the glob ends at the path or at a folder it lies in. */
function startsWith(glob: Glob, path: readonly string[]): boolean {
  return ends([...glob, "deep"], path, false);
}

/** Positions in the glob that can be reached by reading the whole path; time is the product of both lengths. */
function reached(glob: Glob, path: readonly string[]): ReadonlySet<number> {
  return positions(
    glob,
    path,
    (segment) => segment === "deep",
    (segment, name) =>
      segment !== "deep" && positions(segment, Array.from(name), isMany, isCharacter).has(segment.length),
  );
}

function isMany(token: Token): boolean {
  return token === "many";
}

function isCharacter(token: Token, character: string): boolean {
  return token === "one" || (typeof token === "object" && token.literal === character);
}

function positions<Step, Item>(
  steps: readonly Step[],
  items: readonly Item[],
  repeats: (step: Step) => boolean,
  fits: (step: Step, item: Item) => boolean,
): ReadonlySet<number> {
  let current = new Set<number>();
  enter(0, current);
  for (const item of items) {
    const next = new Set<number>();
    for (const at of current) {
      const step = steps[at];
      if (step === undefined) continue;
      if (repeats(step)) enter(at, next);
      else if (fits(step, item)) enter(at + 1, next);
    }
    current = next;
  }
  return current;

  /** A step that repeats may also stand for nothing. */
  function enter(at: number, into: Set<number>): void {
    into.add(at);
    const step = steps[at];
    if (step !== undefined && repeats(step)) enter(at + 1, into);
  }
}

function invalid(pattern: string, problem: string): CapstanError {
  return new CapstanError("rule-invalid", `Pattern ${JSON.stringify(pattern)} cannot be used: ${problem}`);
}
