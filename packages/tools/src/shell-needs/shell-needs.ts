/** What a bash command touches: every program it runs with its words, and every file its redirects open. */

import type { Need } from "@capstan/core";
import { withOwnLinks } from "./links.ts";
import { needsList, unprovedNeed } from "./place.ts";
import { readCall } from "./walk.ts";

/** UTF-16 units of a command that is read; a longer one is not proved. */
const SHELL_NEEDS_CHARACTERS = 16_384;

/** Expansions of a command that is read: parsers take long over what lies deep in each other. */
const EXPANSIONS = 256;
const EXPANSION = /\$[({[]|`|[<>]\(/g;

/** Control characters and blanks beyond ASCII mean things to one bash or another that no reader sees. */
const UNSEEN = /[^\P{Cc}\n\t]|[^\P{Z} ]|\p{Cf}/u;
const SEEN = /^[\n\t -~]*$/;

/**
 * The needs of a command in the folder of the workspace. Of what cannot be proved literal nothing is claimed: such a need
 * has the words `[null]`, which no rule covers. Pure; opens nothing.
 */
export function shellNeeds(command: string): readonly Need[] {
  if (command.length > SHELL_NEEDS_CHARACTERS || (!SEEN.test(command) && !isSeen(command)))
    return [unprovedNeed(command)];
  if ((command.match(EXPANSION)?.length ?? 0) > EXPANSIONS) return [unprovedNeed(command)];
  const needs = needsList();
  try {
    readCall(command, needs);
    return withOwnLinks(needs.list);
  } catch {
    return [...needs.list, unprovedNeed(command)]; // a parser that fails, or does not come to the end, has proved nothing
  }
}

function isSeen(command: string): boolean {
  return !UNSEEN.test(command) && command.isWellFormed();
}
