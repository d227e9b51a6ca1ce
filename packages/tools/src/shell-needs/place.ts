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
};

export interface Needs {
  add(need: Need): void;
  /** As `unprovedNeed`. */
  unproved(source: string): void;
}

/** Different things of one call, and things of which some are the same: what holds more is not read to its end. */
const MAX_NEEDS = 64;
const MAX_READ = 192;

/** `add` and `unproved` throw when there are too many. */
export function needsList(): Needs & { readonly list: readonly Need[] } {
  const found = new Map<string, Need>();
  let read = 0;
  const keep = (key: string, need: Need): void => {
    found.set(key, need);
    if (found.size > MAX_NEEDS || ++read > MAX_READ) throw new Error("too many needs");
  };
  return {
    add: (need) => keep(keyOf(need), need),
    unproved: (command) => keep(`?${command}`, unprovedNeed(command)),
    get list() {
      return [...found.values()];
    },
  };
}

/** Something runs, or something is touched, of which nothing is known. */
export function unprovedNeed(command: string): Need {
  return { type: "execute", command, words: [null] };
}

/** Two needs with one key say the same: no word holds a control character but newline and tab. */
function keyOf(need: Need): string {
  if (need.type !== "execute") return JSON.stringify(need);
  const { named, folder = "", words = [], leads = [] } = need;
  return `${named}\0${folder}\0${words.map((word) => word ?? "\u0001").join("\0")}\0\0${leads.join("\0")}`;
}

export function executeNeed(words: readonly Argument[], named: number, folder = ""): ExecuteNeed {
  const known = words.map(({ text }) => text ?? null);
  return { type: "execute", command: sourceOf(words), words: known, named, ...(folder !== "" && { folder }) };
}

/** The need with the paths of its words as they are seen from the folders it may stand in, and below the home folder. */
export function withPlaces(need: ExecuteNeed, words: readonly Argument[], { folders }: Place): ExecuteNeed {
  const moved = need.folder === undefined ? folders.filter((folder) => folder !== "") : [];
  const leads = words.slice(1).flatMap(({ text, source }) => {
    if (text === undefined) return homePath(source) ?? [];
    return text.startsWith("/") ? [] : moved.map((folder) => `${folder}/${text}`);
  });
  return leads.length === 0 ? need : { ...need, leads };
}

const HOME = /^"?(?:(~|\$HOME|\$\{HOME\})|\$PWD|\$\{PWD\})(\/[\w./@+-]+)"?$/;

/** A path below the home folder or the one it stands in, as a name: `~/x`, `./x`. */
export function homePath(source: string): string | undefined {
  const [, home, rest] = HOME.exec(source) ?? [];
  return rest === undefined ? undefined : `${home === undefined ? "." : "~"}${rest}`;
}

export function sourceOf(words: readonly Argument[]): string {
  return words.map(({ source }) => source).join(" ");
}

/** A path as it is seen from each folder. Undefined when links could make it another one: it goes up from a folder with a name. */
export function pathsFrom({ folders }: Place, path: string): readonly string[] | undefined {
  if (climbs(path)) return undefined;
  if (path.startsWith("/")) return [path];
  const from = folders.length === 0 ? [""] : folders;
  if (path.split("/").includes("..") && from.some((folder) => folder.split("/").some(isName))) return undefined;
  return from.map((folder) => (folder === "" ? path : `${folder}/${path}`));
}

/** The path from each folder as text: what rules that forbid are asked about where links could make it another one. */
export function textualPaths({ folders }: Place, path: string): readonly string[] {
  if (path.startsWith("/") || folders.length === 0) return [path];
  return folders.map((folder) => (folder === "" ? path : `${folder}/${path}`));
}

/** Whether a path goes up after it went down. */
export function climbs(path: string): boolean {
  const names = path.split("/");
  return names.lastIndexOf("..") > names.findIndex(isName) && names.some(isName);
}

function isName(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== "..";
}
