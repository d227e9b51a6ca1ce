/** Where a command stands in its script, and where what it needs is written down. */

import type { ExecuteNeed, Need } from "@capstan/core";
import type { Argument } from "./argument.ts";

export type Place = {
  /** Every folder it may run in, as paths from the root of the workspace; empty: it is never reached. */
  readonly folders: readonly string[];
  /** The only command of the whole call, with the call's own standard input. */
  readonly sole: boolean;
  /** How many scripts lie around it. */
  readonly depth: number;
  /** The script that is read; absent where the places of its commands in it are not known. */
  readonly script?: Script;
};

/** A script and the commands of it that were read. */
export type Script = { readonly text: string; readonly commands: Map<string, Seen> };
/** A simple command after which the shell is as before: where it stood, and how many needs it has. */
type Seen = { readonly folders: readonly string[]; readonly sole: boolean; readonly needs: number };

export interface Needs {
  /** How many were given, the same ones too. */
  readonly read: number;
  add(need: Need): void;
  /** As many as `count` that were given before are given again. */
  again(count: number): void;
  /** As `unprovedNeed`. */
  unproved(source: string): void;
}

/** Different things of one call, and things of which some are the same: what holds more is not read to its end. */
const MAX_NEEDS = 64;
const MAX_READ = 192;

/** `add` and `unproved` throw when there are too many. */
export function needsList(): Needs & { readonly list: readonly Need[] } {
  const list: Need[] = [];
  const commands = new Map<string, readonly ExecuteNeed[]>();
  const others = new Set<string>();
  let read = 0;
  const keep = (need: Need | undefined): void => {
    if (need !== undefined) list.push(need);
    if (list.length > MAX_NEEDS) throw new Error("too many needs");
    again(1);
  };
  const again = (count: number): void => {
    read += count;
    if (read > MAX_READ) throw new Error("too many needs");
  };
  const isNew = (key: string): boolean => others.size < others.add(key).size;
  return {
    list,
    again,
    get read() {
      return read;
    },
    add(need) {
      if (need.type !== "execute") return keep(isNew(keyOf(need)) ? need : undefined);
      const words = wordsOf(need);
      const same = commands.get(words);
      if (same?.some((other) => saysSame(need, other)) === true) return keep(undefined);
      commands.set(words, same === undefined ? [need] : [...same, need]);
      return keep(need);
    },
    unproved: (command) => keep(isNew(`?${command}`) ? unprovedNeed(command) : undefined),
  };
}

/** Something runs, or something is touched, of which nothing is known. */
export function unprovedNeed(command: string): Need {
  return { type: "execute", command, words: [null] };
}

function keyOf(need: Need): string {
  return need.type === "read" || need.type === "write" ? `${need.type} ${need.path}` : JSON.stringify(need);
}

/** The same for all needs with the same words: their command itself where nothing in it is quoted. */
function wordsOf({ command, words = [] }: ExecuteNeed): string {
  const characters = words.reduce((sum, word) => sum + 1 + (word?.length ?? Number.NaN), -1);
  return characters === command.length ? command : words.map((word) => word ?? "\u0001").join(" ");
}

/** Of two needs with one command: not what people are shown. */
function saysSame(one: ExecuteNeed, other: ExecuteNeed): boolean {
  return (
    one.named === other.named &&
    one.folder === other.folder &&
    hasSame(one.words, other.words) &&
    hasSame(one.leads, other.leads)
  );
}

function hasSame(some: readonly (string | null)[] = [], others: readonly (string | null)[] = []): boolean {
  return some.length === others.length && some.every((item, at) => item === others[at]);
}

export function executeNeed(words: readonly Argument[], named: number, folder = ""): ExecuteNeed {
  const known = words.map(({ text }) => text ?? null);
  const need: ExecuteNeed = { type: "execute", command: sourceOf(words), words: known, named };
  return folder === "" ? need : { ...need, folder };
}

/** The need with the paths of its words as they are seen from the folders it may stand in, and below the home folder. */
export function withPlaces(need: ExecuteNeed, words: readonly Argument[], { folders }: Place): ExecuteNeed {
  const leads: string[] = [];
  for (let at = 1; at < words.length; at++) {
    const { text, source = "" } = words[at] ?? {};
    if (text === undefined) {
      const home = homePath(source);
      if (home !== undefined) leads.push(home);
    } else if (need.folder === undefined && !text.startsWith("/")) {
      for (const folder of folders) if (folder !== "") leads.push(`${folder}/${text}`);
    }
  }
  return leads.length === 0 ? need : { ...need, leads };
}

const HOME = /^"?(?:(~|\$HOME|\$\{HOME\})|\$PWD|\$\{PWD\})(\/[\w./@+-]+)"?$/;

/** A path below the home folder or the one it stands in, as a name: `~/x`, `./x`. */
export function homePath(source: string): string | undefined {
  const [, home, rest] = HOME.exec(source) ?? [];
  return rest === undefined ? undefined : `${home === undefined ? "." : "~"}${rest}`;
}

export function sourceOf(words: readonly Argument[]): string {
  let text = words[0]?.source ?? "";
  for (let at = 1; at < words.length; at++) text += ` ${words[at]?.source ?? ""}`;
  return text;
}

/** The place with these folders instead. */
export function withFolders(place: Place, folders: readonly string[]): Place {
  return folders === place.folders ? place : { ...place, folders };
}

/** As one command among others. */
export function amongOthers(place: Place): Place {
  return place.sole ? { ...place, sole: false } : place;
}

/** In a script of its own. */
export function deeper({ folders, depth }: Place): Place {
  return { folders, sole: false, depth: depth + 1 };
}

/** A path as it is seen from each folder. Undefined when links could make it another one: it goes up from a folder with a name. */
export function pathsFrom({ folders }: Place, path: string): readonly string[] | undefined {
  if (climbs(path)) return undefined;
  if (path.startsWith("/")) return [path];
  const from = folders.length === 0 ? [""] : folders;
  if (path.includes("..") && path.split("/").includes("..") && from.some((folder) => folder.split("/").some(isName)))
    return undefined;
  return from.map((folder) => (folder === "" ? path : `${folder}/${path}`));
}

/** The path from each folder as text: what rules that forbid are asked about where links could make it another one. */
export function textualPaths({ folders }: Place, path: string): readonly string[] {
  if (path.startsWith("/") || folders.length === 0) return [path];
  return folders.map((folder) => (folder === "" ? path : `${folder}/${path}`));
}

/** Whether a path goes up after it went down. */
export function climbs(path: string): boolean {
  if (!path.includes("..")) return false;
  const names = path.split("/");
  return names.lastIndexOf("..") > names.findIndex(isName) && names.some(isName);
}

function isName(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== "..";
}
