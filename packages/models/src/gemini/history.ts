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

/** The parts of a message, results first, and where the results end. */
type Encoded = { readonly json: string; readonly resultsEnd: number };

export function contentsEncoder(options: PartOptions): ContentsEncoder {
  const encode = messageEncoder<Encoded>(GEMINI.id, (message, context) => {
    const { results, others } = encodeParts(message, context, options);
    return { json: [...results, ...others].join(","), resultsEnd: results.join(",").length };
  });
  return async (messages, load) => join(messages, await encode(messages, load));
}

function join(messages: readonly Message[], entries: readonly Encoded[]): string[] {
  const segments: string[] = [];
  let group: Encoded[] = [];
  let role = "";
  const flush = (): void => {
    if (group.length > 0)
      segments.push(`${segments.length > 0 ? "," : ""}{"role":"${role}","parts":[`, parts(group), "]}");
    group = [];
  };
  for (const [index, entry] of entries.entries()) {
    if (entry.json === "") continue;
    const own = messages[index]?.role === "assistant" ? "model" : "user";
    if (own !== role) flush();
    role = own;
    group.push(entry);
  }
  flush();
  return segments;
}

function parts(group: readonly Encoded[]): string {
  const [only] = group;
  if (group.length === 1 && only !== undefined) return only.json;
  const results: string[] = [];
  const others: string[] = [];
  for (const { json, resultsEnd } of group) {
    if (resultsEnd > 0) results.push(json.slice(0, resultsEnd));
    const rest = resultsEnd > 0 ? resultsEnd + 1 : 0; // behind the comma
    if (rest < json.length) others.push(json.slice(rest));
  }
  return [...results, ...others].join(",");
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
