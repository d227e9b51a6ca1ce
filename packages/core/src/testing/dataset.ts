/** Items of an evaluation: a list, or a file of JSON lines. */

import { readFile, stat } from "node:fs/promises";
import { CapstanError, messageOf } from "../words/errors.ts";
import type { Json } from "../words/json.ts";

export type EvalItem = {
  /** Unique in its dataset. Default its number. */
  readonly id: string;
  readonly input: Json;
  readonly expected?: Json;
  readonly metadata?: { readonly [name: string]: Json };
};

const MAX_BYTES = 256 * 1_024 * 1_024;
const MAX_ITEMS = 100_000;

/** Lines of `{ "id"?, "input", "expected"?, "metadata"? }`; empty ones are passed over. Throws `path-not-found`, `input-invalid` with the line. */
export async function readDataset(path: string): Promise<readonly EvalItem[]> {
  let text: string;
  try {
    if ((await stat(path)).size > MAX_BYTES)
      throw new CapstanError("input-too-large", `${path} is over ${MAX_BYTES} bytes`);
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (CapstanError.is(cause)) throw cause;
    throw new CapstanError("path-not-found", `The dataset cannot be read: ${messageOf(cause)}`, { cause });
  }
  const items = text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [itemOf(line, `${path}:${index + 1}`, index + 1)]));
  return checkedItems(items, path);
}

/** Throws `input-invalid` for a dataset that is empty, too long, or names an item twice. */
export function checkedItems(items: readonly EvalItem[], name: string): readonly EvalItem[] {
  if (items.length === 0) throw new CapstanError("input-invalid", `${name}: there are no items`);
  if (items.length > MAX_ITEMS) throw new CapstanError("input-too-large", `${name}: at most ${MAX_ITEMS} items`);
  const ids = new Set<string>();
  for (const { id } of items) {
    if (ids.has(id)) throw new CapstanError("input-invalid", `${name}: two items are named ${JSON.stringify(id)}`);
    ids.add(id);
  }
  return items;
}

const MEMBERS: readonly string[] = ["id", "input", "expected", "metadata"];

function itemOf(line: string, place: string, number: number): EvalItem {
  const wrong = (what: string): CapstanError => new CapstanError("input-invalid", `${place}: ${what}`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw wrong(`this line is not JSON: ${messageOf(cause)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong("an item is an object");
  const unknown = Object.keys(value).find((key) => !MEMBERS.includes(key));
  if (unknown !== undefined) throw wrong(`an item has no ${JSON.stringify(unknown)}; it has ${MEMBERS.join(", ")}`);
  const { id = number, input, ...rest } = value as { readonly [name: string]: Json };
  if (input === undefined) throw wrong('"input" is missing');
  if (typeof id !== "string" && typeof id !== "number") throw wrong('"id" is a text or a number');
  return { ...rest, id: String(id), input };
}
