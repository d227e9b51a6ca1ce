/** One simple command whose words are known as far as they are: what it needs. */

import type { Argument } from "./argument.ts";
import { changesShell, isStep } from "./builtins.ts";
import { findCommands } from "./find.ts";
import {
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

/** Programs whose scripts bash reads as they do, when nothing but plain words and separators is in them. */
const SHELLS = /^(?:sh|dash|ash)$/;
const COMMON_SCRIPT = /^(?:[A-Za-z0-9_./:@%+,\s'"|;=-]|&&)*$/;

export function commandNeeds(words: readonly Argument[], place: Place, needs: Needs, readScript: ReadScript): void {
  const program = words[0]?.text;
  if (program === undefined || program === "") return needs.unproved(sourceOf(words));
  const inner = (command: readonly Argument[], more: Partial<Place> = {}): void =>
    commandNeeds(command, { ...place, ...more }, needs, readScript);
  if (isStep(words)) return needs.add(executeNeed(words, 0));
  if (readsInstructions(words) && !place.sole && !isHandled(program)) {
    needs.add(executeNeed(words, words.length)); // rules that forbid still see it
    return needs.unproved(sourceOf(words));
  }
  const wrapped = unwrap(words);
  if (wrapped !== undefined) {
    needs.add(executeNeed(words, wrapped.named));
    if (wrapped.inner !== undefined) inner(wrapped.inner, program === "xargs" ? { sole: false } : {});
    return;
  }
  if (changesShell(words)) {
    needs.add(executeNeed(words, words.length));
    if (!place.sole) needs.unproved(sourceOf(words));
    return;
  }
  const script = scriptOf(words);
  if (script !== undefined) {
    needs.add(executeNeed(words, 2));
    return readScript(script, { ...place, sole: false, depth: place.depth + 1 });
  }
  if (program === "find") {
    const commands = findCommands(words);
    needs.add(executeNeed(words, commands === undefined ? words.length : 1));
    for (const command of commands ?? []) inner(command, { sole: false });
    return;
  }
  const named = program === "tee" && teeNeeds(words, place, needs) ? 1 : namedWords(words);
  const folders = dependsOnFolder(words) && place.folders.length > 0 ? place.folders : [""];
  for (const folder of folders) needs.add(withPlaces(executeNeed(words, named, folder), words, place));
}

/** What has nothing on its standard input that it would do. */
function isHandled(program: string): boolean {
  return /^(?:find|xargs|tee|exec|command|env|sed|awk|ln|link|install)$/.test(program);
}

/** The text of `bash -c text`, when this shell reads it as bash does. */
function scriptOf(words: readonly Argument[]): string | undefined {
  const [shell, option, script] = words;
  if (words.length !== 3 || option?.text !== "-c" || script?.text === undefined) return undefined;
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
