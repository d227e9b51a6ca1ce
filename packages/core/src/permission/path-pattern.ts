/** Paths as permission rules see them: resolved as text against the root, matched by globs segment by segment. */

import { CapstanError, messageOf } from "../words/errors.ts";
import {
  ends,
  foldedGlob,
  type Glob,
  leadsTo,
  neededText,
  type NeededText,
  parseGlob,
  startsWith,
} from "./path-glob.ts";

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

export type PathPattern = {
  readonly absolute: boolean;
  /** One glob for every choice of `{a,b}`. */
  readonly exact: readonly Glob[];
  /** The same with folded case, for rules that forbid. */
  readonly folded: readonly Glob[];
  /** Both with folders before them. */
  readonly anyDepth: { readonly [Spelling in "exact" | "folded"]: readonly Glob[] };
  /** Of each glob, what stands in every text that names what it means, or a folder on the way there. */
  readonly needed: readonly NeededText[];
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
  const { base, windows } = baseOf(root);
  const text = windows ? slashed(path) : path;
  if (path.length > MAX_PATH || path.includes("\0") || (windows && WINDOWS_ALIASES.test(text))) return undefined;
  const absolute = text.startsWith("/") || (windows && DRIVE.test(text));
  if (absolute) {
    return unlessAlias(placed(normalised([], windows ? withDrive(text, true, base?.[0]) : text), base), root);
  }
  if (base !== undefined && (base.length < 2 || text.includes("..")))
    return unlessAlias(placed(normalised(base, text), base), root);
  if (base !== undefined) {
    const inside = normalised([], text);
    return { all: base.concat(inside), absolute: true, inside, nearlyInside: inside };
  }
  const all = normalised([], text, true);
  if (all[0] === "..") return { all, absolute: false };
  return { all, absolute: false, inside: all, nearlyInside: all };
}

type Base = { readonly base: readonly string[] | undefined; readonly windows: boolean; readonly isAlias: boolean };
/** Of the root that was asked about last. */
let lastBase: { readonly root: string | undefined; readonly base: Base } | undefined;

function baseOf(root: string | undefined): Base {
  if (lastBase?.root === root && lastBase !== undefined) return lastBase.base;
  const windows = root !== undefined && DRIVE.test(slashed(root));
  const base = root === undefined ? undefined : normalised([], withDrive(windows ? slashed(root) : root, windows));
  lastBase = { root, base: { base, windows, isAlias: base !== undefined && isAlias(base) } };
  return lastBase.base;
}

/** Whether names below the root are places of their own: none is another name of something else, whatever it is. */
export function isOwnFolder(root: string | undefined): boolean {
  const { base, windows } = baseOf(root);
  return !windows && (base === undefined || base.length > 1);
}

function isPlain(name: string): boolean {
  return /^[ -~]*$/.test(name);
}

/** A name as the most forgiving file system compares it. */
function foldName(name: string): string {
  if (isPlain(name)) return name.toLowerCase();
  return name.normalize("NFKC").replace(IGNORED, "").toLowerCase().toUpperCase().toLowerCase();
}

/** A folded name without what Windows ignores at its end: dots, spaces, the name of a stream. */
export function trimmedName(name: string): string {
  return withoutEnd(foldName(name));
}

function hasEnd(folded: string): boolean {
  return /:|[. ]$/.test(folded);
}

function withoutEnd(folded: string): string {
  if (!hasEnd(folded)) return folded;
  return folded.replace(/(?<=.):.*$/, "").replace(/(?<=[^. ])[. ]+$/, "");
}

/** Reads a glob: `*`, `?`, `**`, `{a,b}`, `\` before a literal character. Throws `rule-invalid`. */
export function parsePathPattern(text: string): PathPattern {
  if (/^[~!]/.test(text)) {
    throw invalid(text, `write the absolute path; "${text[0]}" at the start has no meaning here`);
  }
  const absolute = text.startsWith("/") || DRIVE.test(text);
  const lowered = DRIVE.test(text) ? `${text[0]?.toLowerCase()}${text.slice(1)}` : text; // as `locate` writes drives
  const exact = choices(lowered).map((choice) => globOf(choice, text));
  const folded = exact.map((glob) => foldedGlob(glob, foldName));
  const anyDepth = { exact: exact.map(deepened), folded: folded.map(deepened) };
  return { absolute, exact, folded, anyDepth, needed: folded.map((glob) => neededText(glob)) };
}

function globOf(choice: string, whole: string): Glob {
  try {
    return parseGlob(choice);
  } catch (error) {
    throw invalid(whole, messageOf(error));
  }
}

function deepened(glob: Glob): Glob {
  return ["deep", ...glob];
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
  const { exact, folded } = anyDepth ? pattern.anyDepth : pattern;
  const spellings = spelled(location, path);
  return (
    folded.some((glob) => startsWith(glob, spellings.folded)) ||
    (spellings.trimmed !== spellings.folded && folded.some((glob) => startsWith(glob, spellings.trimmed))) ||
    (!spellings.plain && exact.some((glob) => startsWith(glob, path)))
  );
}

/** Whether something below the path could be what a rule forbids: the path is a folder on the way to it. */
export function forbidsBelow(pattern: PathPattern, location: Location, anyDepth = false): boolean {
  if (location.above === true && !pattern.absolute) return true;
  const path = forbidding(pattern, location);
  if (path === undefined) return false;
  return anyDepth || pattern.folded.some((glob) => leadsTo(glob, spelled(location, path).folded));
}

/** Whether the pattern says nothing of where a folder lies: whatever lies below any folder may fit it. */
export function isAnywhere({ exact }: PathPattern): boolean {
  return exact.some(([first]) => first === "deep");
}

type Spellings = {
  readonly folded: readonly string[];
  /** The same list where nothing was to be trimmed. */
  readonly trimmed: readonly string[];
  /** Letters of ASCII only: what fits as it is written fits folded too. */
  readonly plain: boolean;
};
/** Several rules look at one path: what was made for one is kept with the location, for the list of names it is of. */
function spelled(
  location: Location & { spellings?: Spellings & { readonly of: readonly string[] } },
  path: readonly string[],
): Spellings {
  if (location.spellings?.of !== path) location.spellings = { ...spellingsOf(path), of: path };
  return location.spellings;
}

function spellingsOf(names: readonly string[]): Spellings {
  const plain = names.every(isPlain);
  const folded = plain ? names.map((name) => name.toLowerCase()) : names.map(foldName);
  return { folded, trimmed: folded.some(hasEnd) ? folded.map(withoutEnd) : folded, plain };
}

/** The text of a pattern that means exactly this path. */
export function patternFor(location: Location): string {
  const names = (location.inside ?? location.all).map((name) => name.replace(/[\\*?{}[\]]/g, "\\$&"));
  if (location.inside !== undefined) return `./${names.join("/")}`;
  return DRIVE.test(`${names[0] ?? ""}/`) ? names.join("/") : `/${names.join("/")}`;
}

/** Nothing, for a path under such a name, unless the workspace itself lies there. */
function unlessAlias(location: Location, root: string | undefined): Location | undefined {
  if (!isAlias(location.all)) return location;
  return location.nearlyInside !== undefined && baseOf(root).isAlias ? location : undefined;
}

function isAlias(names: readonly string[]): boolean {
  const [first = "", second = ""] = names;
  if (isPlain(first) && !/^[pds]/i.test(first)) return false;
  return ALIASES.test(`${foldName(first)}/${foldName(second)}`);
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
  const names = base.slice();
  for (let start = 0, end = 0; start < path.length; start = end + 1) {
    end = path.indexOf("/", start);
    if (end < 0) end = path.length;
    const name = path.slice(start, end);
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
  const near = base.every((name, at) => name === all[at] || trimmedName(name) === trimmedName(all[at] ?? ""));
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

function invalid(pattern: string, problem: string): CapstanError {
  return new CapstanError("rule-invalid", `Pattern ${JSON.stringify(pattern)} cannot be used: ${problem}`);
}
