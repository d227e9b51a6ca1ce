/** Which models a server on this machine offers: asked over the loopback only, and not waited for. */

import type { Json } from "@capstan/core";
import { listOf, memberOf, parseJson, stringOf } from "./provider/json.ts";

export type AskOptions = {
  readonly key: string | undefined;
  /** All of the answer has this long. */
  readonly deadlineMs: number;
};

const MAX_BYTES = 1024 * 1024;
const MAX_MODELS = 50;
const MAX_NAME = 200;

/** `GET {baseUrl}/models`, as OpenAI-compatible servers answer it. Undefined when no such server answers in time. */
export async function servedModels(
  baseUrl: string,
  { key, deadlineMs }: AskOptions,
): Promise<readonly string[] | undefined> {
  if (!isLoopback(baseUrl)) return undefined;
  try {
    const response = await fetch(`${baseUrl.trim().replace(/\/+$/, "")}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: "error", // it could lead off this machine
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await textOf(response);
    return response.ok ? namesIn(parseJson(text)) : undefined;
  } catch {
    return undefined; // nobody there, or something else
  }
}

export function isLoopback(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { protocol, hostname } = new URL(baseUrl);
  return /^https?:$/.test(protocol) && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true }); // the type of a body leaves its chunks open
    if (text.length > MAX_BYTES) return "";
  }
  return text;
}

function namesIn(body: Json | undefined): readonly string[] | undefined {
  const list = memberOf(body, "data");
  if (!Array.isArray(list)) return undefined;
  const names = listOf(list).map((item) => stringOf(memberOf(item, "id")).trim());
  return [...new Set(names)].filter((name) => name !== "" && name.length <= MAX_NAME).slice(0, MAX_MODELS);
}
