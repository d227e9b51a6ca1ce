/** How the tools of this package answer: what the model can put right is a result, everything else a throw. */

import { posix } from "node:path";
import { CapstanError, textOutput, type ErrorCode, type ToolOutput } from "@capstan/core";

/** Codes the model can put right, each with what it should do when the message does not say so. */
const FOR_THE_MODEL: Partial<Record<ErrorCode, string>> = {
  "file-changed": "",
  "file-too-large": "Use grep to find the part you need, or a shell command that reads a range of it.",
  "not-text": "",
  "path-invalid": "",
  "path-not-found": "",
  "path-outside": "",
  "path-special": "",
  "permission-denied": "Do not try again; tell the user what is needed.",
  "process-failed": "",
  "tool-failed": "",
};

/** Runs the work of a tool; its problems of the kinds above become error results. */
export async function answering(work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await work();
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    const advice = FOR_THE_MODEL[error.code];
    if (advice === undefined) throw error;
    return failure(advice === "" ? `${error.message}.` : `${error.message}. ${advice}`);
  }
}

/** An error result. */
export function failure(message: string): ToolOutput {
  return textOutput(message, { isError: true });
}

/** A path for people and models: plain when every character can be seen, else quoted with escapes. */
export function shownPath(path: string): string {
  const plain = path !== "" && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(path);
  return plain ? path : JSON.stringify(path).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** A path for rules: without `.`, `..` and doubled separators where the text allows. */
export function neededPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}

/** The first `limit` UTF-16 units; never half of a character. */
export function cutAt(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
