/** Assignments that change no command: variables of the script, and a few of the environment that every program may be given. */

import type { Assignment } from "unbash";
import { argumentOf, type Argument, type OnScript } from "./argument.ts";

/** Lower case is the script's own, but for the few that programs look at. */
const OF_SCRIPT = /^(?!.*proxy$)(?!auto_resume$|histchars$)[a-z_][a-z0-9_]*$/;
const ENVIRONMENT =
  /^(?:NODE_ENV|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|TZ|LANG|LC_ALL|COLUMNS|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED)$/;
const VALUE = /^[A-Za-z0-9_.,-]*$/;

/** Whether `NAME=value` means nothing to a program but a way to show or to test. */
export function isHarmlessVariable(text: string): boolean {
  const equals = text.indexOf("=");
  return equals > 0 && ENVIRONMENT.test(text.slice(0, equals)) && VALUE.test(text.slice(equals + 1));
}

export function isScriptVariable(name: string): boolean {
  return OF_SCRIPT.test(name);
}

/** An assignment as a word: `NAME=value`. Undefined for arrays and for values that do more than stand there. */
export function assignmentWord(assignment: Assignment, onScript: OnScript): Argument | undefined {
  const { name, value, append, index, text: source } = assignment;
  if (index !== undefined || value.type !== "Word") return undefined;
  const made = value.text === "" ? ({ shape: "text", text: "", source } as const) : argumentOf(value, onScript);
  if (made === undefined) return undefined;
  if (made.text === undefined) return { shape: "one", source };
  return { shape: "text", text: `${name}${append === true ? "+=" : "="}${made.text}`, source };
}
