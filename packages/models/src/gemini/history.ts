/** The contents of a request: each message is encoded once, and messages of one role that stand side by side become one. */

import type { Message } from "@capstan/core";
import { messageEncoder } from "../provider/encoded-messages.ts";
import { memberOf } from "../provider/json.ts";
import { encodeParts, type PartOptions } from "./parts.ts";
import { GEMINI, isOwn } from "./signature.ts";

/** Segments of the JSON array's content. */
export type ContentsEncoder = (
  messages: readonly Message[],
  load: (hash: string) => Promise<Uint8Array>,
) => Promise<string[]>;

export function contentsEncoder(options: PartOptions): ContentsEncoder {
  const encode = messageEncoder(GEMINI.id, (message, context) => {
    const { results, others } = encodeParts(message, context, options);
    const first = results.join(",");
    const json = [...results, ...others].join(",");
    return json === "" ? "" : `${first.length}:${json}`;
  });
  return async (messages, load) => join(messages, await encode(messages, load));
}

/** `texts`: the length of the results, a colon, and the parts, results first. */
function join(messages: readonly Message[], texts: readonly string[]): string[] {
  const segments: string[] = [];
  let group: string[] = [];
  let role = "";
  const flush = (): void => {
    if (group.length > 0)
      segments.push(`${segments.length > 0 ? "," : ""}{"role":"${role}","parts":[`, ...parts(group), "]}");
    group = [];
  };
  for (const [index, text] of texts.entries()) {
    if (text === "") continue;
    const own = messages[index]?.role === "assistant" ? "model" : "user";
    if (own !== role) flush();
    role = own;
    group.push(text);
  }
  flush();
  return segments;
}

function parts(group: readonly string[]): readonly string[] {
  const [only] = group;
  if (group.length === 1 && only !== undefined) return [only.slice(only.indexOf(":") + 1)];
  const results: string[] = [];
  const others: string[] = [];
  for (const text of group) {
    const from = text.indexOf(":") + 1;
    const end = from + Number.parseInt(text, 10);
    if (end > from) results.push(text.slice(from, end));
    const rest = end > from ? end + 1 : from; // behind the comma
    if (rest < text.length) others.push(text.slice(rest));
  }
  return [[...results, ...others].join(",")];
}

/**
 * An answer that the provider broke off to go on later is continued by the request that it answered, with the token it
 * left: the broken pieces at the end of the conversation stay out.
 */
export function continued(
  messages: readonly Message[],
  modelId: string,
): { readonly messages: readonly Message[]; readonly token?: string } {
  let end = messages.length;
  while (end > 0 && tokenOf(messages[end - 1], modelId) !== undefined) end--;
  const token = end < messages.length ? tokenOf(messages.at(-1), modelId) : undefined;
  return token === undefined ? { messages } : { messages: messages.slice(0, end), token };
}

function tokenOf(message: Message | undefined, modelId: string): string | undefined {
  const last = message?.role === "assistant" ? message.parts.at(-1) : undefined;
  if (last?.type !== "opaque" || !isOwn(last.seal, modelId)) return undefined;
  const token = memberOf(last.seal.data, "continuationToken");
  return typeof token === "string" ? token : undefined;
}
