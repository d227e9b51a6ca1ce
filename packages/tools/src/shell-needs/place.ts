/** Where a command stands in its script, and where what it needs is written down. */

import type { Need } from "@capstan/core";
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
  /** Something runs, or something is touched, of which nothing is known. */
  unproved(source: string): void;
}

export function needsList(): Needs & { readonly list: readonly Need[] } {
  const found = new Map<string, Need>();
  const add = (need: Need): void => void found.set(keyOf(need), need);
  return {
    add,
    unproved: (command) => add({ type: "execute", command, words: [null] }),
    get list() {
      return [...found.values()];
    },
  };
}

/** Two needs with one key say the same: no word holds a control character but newline and tab. */
function keyOf(need: Need): string {
  if (need.type !== "execute") return JSON.stringify(need);
  const { named, folder = "", words = [], command } = need;
  return words[0] === null ? `?${command}` : `${named}\0${folder}\0${words.map((word) => word ?? "\u0001").join("\0")}`;
}

export function executeNeed(words: readonly Argument[], named: number, folder = ""): Need {
  const known = words.map(({ text }) => text ?? null);
  return { type: "execute", command: sourceOf(words), words: known, named, ...(folder !== "" && { folder }) };
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

/** Whether a path goes up after it went down. */
export function climbs(path: string): boolean {
  const names = path.split("/");
  return names.lastIndexOf("..") > names.findIndex(isName) && names.some(isName);
}

function isName(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== "..";
}
