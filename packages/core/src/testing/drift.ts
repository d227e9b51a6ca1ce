/** Where a replay went another way than its recording. Pure. */

import type { Json } from "../words/json.ts";

export type Drift = {
  /** `request`: what the model is asked. `call`: what a tool is given. `result`: what a live tool returns. */
  readonly where: "session" | "request" | "call" | "result" | "answer" | "end";
  readonly agent: string;
  /** From 1: of the model's requests or the tool's calls, in their session. */
  readonly number: number;
  /** Of the first difference, such as `messages[2].parts[0].text`. */
  readonly path: string;
  /** The first 200 characters from a little before the difference. */
  readonly recorded: string;
  readonly now: string;
};

const SHOWN = 200;
const BEFORE = 40;
const MAX_DEPTH = 100;

export type Difference = Pick<Drift, "path" | "recorded" | "now">;

/** The first difference of two values of JSON; members that are `undefined` are missing. */
export function firstDifference(recorded: unknown, now: unknown, path = "", depth = 0): Difference | undefined {
  if (recorded === now) return undefined;
  if (typeof recorded === "string" && typeof now === "string") return textDifference(recorded, now, path);
  if (depth < MAX_DEPTH && Array.isArray(recorded) && Array.isArray(now)) {
    for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
      const found = firstDifference(recorded[index], now[index], `${path}[${index}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (depth < MAX_DEPTH && isObject(recorded) && isObject(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      const found = firstDifference(recorded[key], now[key], path === "" ? key : `${path}.${key}`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return shown(recorded) === shown(now)
    ? undefined
    : { path, recorded: short(shown(recorded)), now: short(shown(now)) };
}

function textDifference(recorded: string, now: string, path: string): Difference {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at += 1;
  const begin = Math.max(0, at - BEFORE);
  return { path, recorded: short(recorded.slice(begin)), now: short(now.slice(begin)) };
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return value === undefined ? "(nothing)" : JSON.stringify(value as Json);
}

function short(text: string): string {
  return text.slice(0, SHOWN).toWellFormed();
}

/** One line for each. */
export function driftText(drift: readonly Drift[]): string {
  return drift
    .map(({ where, agent, number, path, recorded, now }) => {
      const place = `${where} ${number} of ${agent}${path === "" ? "" : ` at ${path}`}`;
      return `${place}: recorded ${JSON.stringify(recorded)}, now ${JSON.stringify(now)}\n`;
    })
    .join("");
}
