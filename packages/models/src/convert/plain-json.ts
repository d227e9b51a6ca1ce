/** Parts of foreign streams and messages as plain JSON: bytes become base64, dates and URLs text, the rest is left out. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, memberOf } from "../provider/json.ts";

/** A plain copy; undefined for what is no JSON: cycles, functions, big integers, nesting without end. */
export function plainJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value, function (this: unknown, name: string, member: unknown): unknown {
      const original: unknown = name === "" ? value : (this as Record<string, unknown>)[name]; // before its toJSON
      return original instanceof Uint8Array || original instanceof ArrayBuffer ? base64OfBytes(original) : member;
    });
    return text === undefined ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** An empty object for what is none. Most parts are plain already and small: only those with bytes are copied. */
export function plainPart(part: unknown): JsonObject {
  if (typeof part !== "object" || part === null) return {};
  if ("delta" in part && typeof part.delta === "string" && !("providerMetadata" in part)) return part as JsonObject; // id and text
  const plain = plainJson(part);
  return isObject(plain) ? plain : {};
}

function base64OfBytes(bytes: Uint8Array | ArrayBuffer): string {
  return bytes instanceof ArrayBuffer
    ? Buffer.from(bytes).toString("base64")
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export type FileBytes = { readonly base64?: string; readonly url?: string };

/** `data` of a file after `plainJson`: base64, a data URL, a URL, or V4's `{ type: "data" | "url" | "text" }`. */
export function bytesMember(data: Json | undefined): FileBytes {
  const type = memberOf(data, "type");
  if (type === "data") return bytesMember(memberOf(data, "data"));
  if (type === "url") return bytesMember(memberOf(data, "url"));
  const text = memberOf(data, "text");
  if (type === "text" && typeof text === "string") return { base64: Buffer.from(text).toString("base64") };
  if (typeof data !== "string") return {};
  const inline = /^data:[^,]*?(;base64)?,([^]*)$/.exec(data);
  if (inline !== null) {
    const [, encoded, content = ""] = inline;
    return { base64: encoded === undefined ? Buffer.from(unescaped(content)).toString("base64") : content };
  }
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(data) ? { url: data } : { base64: data };
}

function unescaped(content: string): string {
  try {
    return decodeURIComponent(content);
  } catch {
    return content;
  }
}
