/** System messages in the middle of a conversation: most providers take them from the user only. */

import type { Message } from "@capstan/core";
import { isBlank } from "../wire-text.ts";

/** In the tag that the loop's own markers use; "" when the message says nothing. */
export function systemText({ parts }: Message): string {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return isBlank(text) ? "" : `<system>${text}</system>`;
}
