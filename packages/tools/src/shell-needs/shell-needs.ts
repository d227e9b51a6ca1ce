/** What a bash command touches: every program it runs with its words, and every file its redirects open. */

import type { Need } from "@capstan/core";
import { needsList } from "./place.ts";
import { readCall } from "./walk.ts";

/** UTF-16 units of a command that is read; a longer one is not proved. */
const SHELL_NEEDS_CHARACTERS = 16_384;

/** Control characters and blanks beyond ASCII mean things to one bash or another that no reader sees. */
const UNSEEN = /[^\P{Cc}\n\t]|[^\P{Z} ]|\p{Cf}/u;

/**
 * The needs of a command in the folder of the workspace. Of what cannot be proved literal nothing is claimed: such a need
 * has the words `[null]`, which no rule covers. Pure; opens nothing.
 */
export function shellNeeds(command: string): readonly Need[] {
  const needs = needsList();
  if (command.length > SHELL_NEEDS_CHARACTERS || UNSEEN.test(command) || !command.isWellFormed()) {
    needs.unproved(command);
    return needs.list;
  }
  try {
    readCall(command, needs);
  } catch {
    needs.unproved(command); // a parser that fails has proved nothing
  }
  return needs.list;
}
