/** JSON that somebody gave to a command. */

import { type Json, messageOf } from "@capstan/core";
import { usage } from "./failure.ts";

/** Throws `usage`, which names the text as `what`. */
export function parseJson(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw usage(`${what} is no JSON: ${messageOf(cause)}`);
  }
}
