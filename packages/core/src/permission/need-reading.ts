/** What several rules ask of the needs of one call, worked out once: where paths lie, which files the words of commands may name. */

import type { ExecuteNeed, Need } from "../workspace.ts";
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
  /** Files that words may name. */
  readonly files: () => readonly NamedFile[];
  /** Of those, the folders, as far as their names tell. */
  readonly folders: () => readonly NamedFile[];
};
export type NamedFile = {
  /** All that its names can come from, in lower case. */
  readonly text: string;
  /** Undefined where that cannot be told. */
  readonly location: () => Location | undefined;
  /** It ends as the name of a folder does. */
  readonly isFolder: boolean;
};

const FOLDER = /(?:^|\/)\.{0,2}\/?$/;
const MAY_LEAD_OUT = /^[/\\]|\.\.|^[A-Za-z]:/;
const PARTS = /[=:@,]/;

type Call = { readonly needs: readonly Need[]; readonly root?: string };
const readings = new WeakMap<readonly Need[], { readonly root: string | undefined; readonly reading: CallReading }>();

export function readingOf({ needs, root }: Call): CallReading {
  const known = readings.get(needs);
  if (known !== undefined && known.root === root) return known.reading;
  const reading = callReading(needs, root);
  readings.set(needs, { root, reading });
  return reading;
}

/** Where a read or write lies; undefined when that cannot be told. */
export function locationOf(reading: NeedReading): Location | undefined {
  if (reading.located === null) {
    reading.located = "path" in reading.need ? locate(reading.need.path, reading.root) : undefined;
  }
  return reading.located;
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
  const names = once(() => commands.map((need) => ({ folder: need.folder ?? root, texts: namesIn(need) })));
  const filesOf = (isMeant: (text: string) => boolean): readonly NamedFile[] =>
    names().flatMap(({ folder = "", texts }) => {
      const before = `${root ?? ""}\n${folder}\n`.toLowerCase();
      return texts
        .filter(isMeant)
        .map((text) => ({
          text: before + text.toLowerCase(),
          location: once(() => locate(text, folder === "" ? undefined : folder)),
          isFolder: FOLDER.test(text),
        }));
    });
  return {
    needs: needs.map((need) => ({ need, root, located: null, programs: null })),
    text: once(() => textOf(commands, root)),
    isOpaque: once(() => commands.some(isOpaque)),
    isOpen: once(() => commands.some(({ words }) => words?.includes(null, 1) === true)),
    files: once(() => filesOf(() => true)),
    folders: once(() => filesOf((text) => FOLDER.test(text) || MAY_LEAD_OUT.test(text))),
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function textOf(commands: readonly ExecuteNeed[], root = ""): string | undefined {
  const text = commands
    .map(({ words, command, folder = "", leads = [] }) => [folder, ...(words ?? [command]), ...leads].join("\n"))
    .join("\n");
  const whole = `${root}\n${text}`;
  return /^[\n\t -~]*$/.test(whole) ? whole.toLowerCase() : undefined;
}

/** Each word whole, behind its option, and in its parts: `--file=x`, `-fx`, `HEAD:file`, `@file`, `file:/inside`. */
function namesIn({ words = [], leads = [] }: ExecuteNeed): readonly string[] {
  const texts = new Set<string>(leads);
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === null || word === undefined) continue;
    texts.add(word);
    if (word.startsWith("-")) texts.add(word.slice(2));
    if (!PARTS.test(word)) continue;
    texts.add(word.slice(word.indexOf("=") + 1));
    for (const part of word.split(PARTS)) texts.add(part);
  }
  texts.delete("");
  return [...texts];
}
