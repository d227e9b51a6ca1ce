/** A JSON file that a person wrote: checked against a schema, with the file and the place in every complaint. */

import { readFile } from "node:fs/promises";
import { CapstanError, messageOf } from "@capstan/core";
import type { z } from "zod";

/** Undefined when there is no such file. Throws `config-invalid`; the file is never changed. */
export async function readJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const why = code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8 text" : messageOf(cause);
    throw invalid(path, why, cause);
  }
  return parsedJson(path, text, schema);
}

/** The text of such a file, when it was read already. Throws `config-invalid`. */
export function parsedJson<T>(path: string, text: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(parse(path, text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.map(String).join(".")}: `;
  throw invalid(path, `${place}${issue?.message ?? "it does not fit"}`, parsed.error);
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (cause) {
    const said = messageOf(cause);
    const at = /at position (\d+)/.exec(said)?.[1]; // missing for some mistakes in short texts
    const place = at === undefined ? `: ${said}` : ` ${placeOf(text, Number(at))}`;
    throw invalid(path, `not JSON${place}`, cause);
  }
}

function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  return `at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

function invalid(path: string, why: string, cause: unknown): CapstanError {
  return new CapstanError("config-invalid", `${path}: ${why}; correct it or move it away`, { cause });
}
