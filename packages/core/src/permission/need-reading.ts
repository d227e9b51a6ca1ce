/** What several rules ask of the needs of one call, worked out once: where paths lie, which files the words of commands may name. */

import type { ExecuteNeed, Need } from "../ports/workspace.ts";
import { locate, type Location } from "./path-pattern.ts";
import { isOpaque, programsOf } from "./shell-words.ts";

/** One need. Ask for its parts through the functions below. */
export type NeedReading = {
  readonly need: Need;
  readonly root: string | undefined;
  /** Null until it was asked for. */
  located: Location | undefined | null;
  programs: readonly (string | null)[] | null;
};
export type CallReading = {
  readonly needs: readonly NeedReading[];
  /** All words of commands, and where they stand, in lower case; undefined when letters beyond ASCII are among them. */
  readonly text: () => string | undefined;
  /** Some command may be any other. */
  readonly isOpaque: () => boolean;
  /** Some word of a command is not known. */
  readonly isOpen: () => boolean;
  /** Files that words may name, command by command. */
  readonly files: () => readonly NamedFiles[];
};
export type NamedFolder = {
  readonly name: string;
  /** It may lie outside of where the command stands, or be that folder. */
  readonly leadsOut: boolean;
};
/** What words of one command may name. Ask for a place through `placeOf`. */
export type NamedFiles = {
  readonly names: readonly string[];
  /** Those that may be folders, as far as their names tell. */
  readonly folders: readonly NamedFolder[];
  /** What else their places are made of: the root and the command's folder, in lower case. */
  readonly around: string;
  readonly folder: string | undefined;
  /** Undefined until one was asked for. */
  places: Map<string, Location | undefined> | undefined;
};

const FOLDER = /(?:^|\/)\.{0,2}\/?$/;
const MAY_LEAD_OUT = /^[/\\]|\.\.|^[A-Za-z]:/;
const ONLY_DOTS = /^[./]*$/;
const PARTS = /[=:@,]/;

type Call = { readonly needs: readonly Need[]; readonly root?: string };
/** Of the call that was asked about last: one is judged by many rules, and by those of its session's ancestors. */
let last:
  | { readonly needs: readonly Need[]; readonly root: string | undefined; readonly reading: CallReading }
  | undefined;

export function readingOf({ needs, root }: Call): CallReading {
  if (last?.needs !== needs || last.root !== root) last = { needs, root, reading: callReading(needs, root) };
  return last.reading;
}

/** Where a read or write lies; undefined when that cannot be told. */
export function locationOf(reading: NeedReading): Location | undefined {
  if (reading.located === null) {
    reading.located = "path" in reading.need ? locate(reading.need.path, reading.root) : undefined;
  }
  return reading.located;
}

/** Where the file of this name lies, were there no links; undefined where that cannot be told. */
export function placeOf(files: NamedFiles, name: string): Location | undefined {
  const places = (files.places ??= new Map());
  let place = places.get(name);
  if (place === undefined && !places.has(name)) places.set(name, (place = locate(name, files.folder)));
  return place;
}

/** The name is one of a folder. */
export function isFolderName(name: string): boolean {
  return /^$|[./]$/.test(name) && FOLDER.test(name);
}

/** Every word of a command as the name of a program. */
export function programNamesOf(reading: NeedReading): readonly (string | null)[] {
  return (reading.programs ??= reading.need.type === "execute" ? programsOf(reading.need) : []);
}

/** Rules hold for commands in the workspace's own folder. */
export function isAtRoot({ need, root }: NeedReading): boolean {
  return need.type !== "execute" || need.folder === undefined || locate(need.folder, root)?.inside?.length === 0;
}

function callReading(needs: readonly Need[], root: string | undefined): CallReading {
  const commands = needs.filter((need) => need.type === "execute");
  return {
    needs: needs.map((need) => ({ need, root, located: null, programs: null })),
    text: once(() => textOf(commands, root)),
    isOpaque: once(() => commands.some(isOpaque)),
    isOpen: once(() => commands.some(({ words }) => words?.includes(null, 1) === true)),
    files: once(() => commands.map((need) => namedFiles(need, root))),
  };
}

function namedFiles(need: ExecuteNeed, root = ""): NamedFiles {
  const { folder = root } = need;
  const names = namesIn(need);
  return {
    names,
    folders: names.flatMap((name) => namedFolder(name) ?? []),
    around: `${root}\n${folder}`.toLowerCase(),
    folder: folder === "" ? undefined : folder,
    places: undefined,
  };
}

function namedFolder(name: string): NamedFolder | undefined {
  const leadsOut = MAY_LEAD_OUT.test(name);
  return leadsOut || isFolderName(name) ? { name, leadsOut: leadsOut || ONLY_DOTS.test(name) } : undefined;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function textOf(commands: readonly ExecuteNeed[], root = ""): string | undefined {
  const texts: (string | null)[] = [root];
  for (const { words, command, folder = "", leads = [] } of commands) {
    texts.push(folder, ...(words ?? [command]), ...leads);
  }
  const whole = texts.join("\n");
  return /^[\n\t -~]*$/.test(whole) ? whole.toLowerCase() : undefined;
}

/** Each word whole, behind its option, and in its parts: `--file=x`, `-fx`, `HEAD:file`, `@file`, `file:/inside`. */
function namesIn({ words = [], leads = [] }: ExecuteNeed): readonly string[] {
  const texts = leads.filter((lead) => lead !== "");
  const add = (text: string): void => {
    if (text !== "") texts.push(text);
  };
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === null || word === undefined) continue;
    add(word);
    if (word.startsWith("-")) add(word.slice(2));
    if (!PARTS.test(word)) continue;
    add(word.slice(word.indexOf("=") + 1));
    for (const part of word.split(PARTS)) add(part);
  }
  return texts;
}
