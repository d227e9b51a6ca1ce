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

/** Needs of the commands that were read last: one is judged when it is proposed, when a person is asked, and when it starts. */
const lately = new Map<string, readonly Need[]>();
const MAX_COMMANDS = 8;

/**
 * The needs of a command in the folder of the workspace. Of what cannot be proved literal nothing is claimed: such a need
 * has the words `[null]`, which no rule covers. Opens nothing, and depends on nothing but the text: the same text may get
 * the same list.
 */
export function shellNeeds(command: string): readonly Need[] {
  const known = lately.get(command);
  if (known !== undefined) return known;
  const needs = readNeeds(command);
  if (command.length > SHELL_NEEDS_CHARACTERS) return needs;
  for (const oldest of lately.keys()) if (lately.size >= MAX_COMMANDS) lately.delete(oldest);
  lately.set(command, needs);
  return needs;
}

function readNeeds(command: string): readonly Need[] {
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
