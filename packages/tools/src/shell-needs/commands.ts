/** One simple command whose words are known as far as they are: what it needs. */

import type { Argument } from "./argument.ts";
import { changesShell, isStep } from "./builtins.ts";
import { findCommands } from "./find.ts";
import {
  amongOthers,
  deeper,
  executeNeed,
  homePath,
  type Needs,
  pathsFrom,
  type Place,
  sourceOf,
  textualPaths,
  withPlaces,
} from "./place.ts";
import { dependsOnFolder, namedWords, readsInstructions } from "./programs.ts";
import { unwrap } from "./wrappers.ts";

/** Reads the text of `sh -c`. */
export type ReadScript = (text: string, place: Place) => void;

/** They have nothing on their standard input that they would do. */
const HANDLED: ReadonlySet<string> = new Set("find xargs tee exec command env sed awk ln link install".split(" "));
/** Programs whose scripts bash reads as they do, when nothing but plain words and separators is in them. */
const SHELLS = /^(?:sh|dash|ash)$/;
const COMMON_SCRIPT = /^(?:[A-Za-z0-9_./:@%+,\s'"|;=-]|&&)*$/;

export function commandNeeds(words: readonly Argument[], place: Place, needs: Needs, readScript: ReadScript): void {
  const program = words[0]?.text;
  if (program === undefined || program === "") return needs.unproved(sourceOf(words));
  if (isStep(words)) return needs.add(executeNeed(words, 0));
  if (!place.sole && readsInstructions(words) && !HANDLED.has(program)) {
    needs.add(executeNeed(words, words.length)); // rules that forbid still see it
    return needs.unproved(sourceOf(words));
  }
  const wrapped = unwrap(words);
  if (wrapped !== undefined) {
    needs.add(executeNeed(words, wrapped.named));
    if (wrapped.inner === undefined) return;
    return commandNeeds(wrapped.inner, program === "xargs" ? amongOthers(place) : place, needs, readScript);
  }
  if (changesShell(words)) {
    needs.add(executeNeed(words, words.length));
    if (!place.sole) needs.unproved(sourceOf(words));
    return;
  }
  const script = scriptOf(words);
  if (script !== undefined) {
    needs.add(executeNeed(words, 2));
    return readScript(script, deeper(place));
  }
  if (program === "find") {
    const commands = findCommands(words);
    needs.add(executeNeed(words, commands === undefined ? words.length : 1));
    for (const command of commands ?? []) commandNeeds(command, amongOthers(place), needs, readScript);
    return;
  }
  programNeeds(words, place, needs);
}

function programNeeds(words: readonly Argument[], place: Place, needs: Needs): void {
  const named = words[0]?.text === "tee" && teeNeeds(words, place, needs) ? 1 : namedWords(words);
  const [only = "", ...others] = place.folders;
  if (others.length === 0 && only === "") {
    needs.add(withPlaces(executeNeed(words, named), words, place));
    return;
  }
  const folders = dependsOnFolder(words) ? place.folders : [""];
  for (const folder of folders) needs.add(withPlaces(executeNeed(words, named, folder), words, place));
}

/** The text of `bash -c text`, when this shell reads it as bash does. */
function scriptOf(words: readonly Argument[]): string | undefined {
  if (words.length !== 3) return undefined;
  const [shell, option, script] = words;
  if (option?.text !== "-c" || script?.text === undefined) return undefined;
  const name = shell?.text ?? "";
  return name === "bash" || (SHELLS.test(name) && COMMON_SCRIPT.test(script.text)) ? script.text : undefined;
}

/** Whether all that `tee` writes is known. */
function teeNeeds(words: readonly Argument[], place: Place, needs: Needs): boolean {
  let proved = true;
  for (const { text, source } of words.slice(1)) {
    if (text === "-a" || text === "-i" || text === "/dev/null" || text === "/dev/stderr") continue;
    const home = text === undefined ? homePath(source) : undefined;
    const name = text === undefined || text === "" || text.startsWith("-") ? undefined : text;
    const paths = name === undefined ? undefined : pathsFrom(place, name);
    const seen = paths ?? (name === undefined ? (home ?? []) : textualPaths(place, name));
    for (const path of [seen].flat()) needs.add({ type: "write", path });
    proved &&= paths !== undefined;
  }
  return proved;
}
