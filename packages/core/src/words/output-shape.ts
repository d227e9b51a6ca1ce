/** Whether a value from outside is an output of a tool as the log keeps it: what is none would break every later reader. */

import type { ToolOutput } from "./message.ts";

type Members = { readonly [name: string]: unknown };

/** All that its type says; members that it does not name may stand beside. */
export function isOutput(value: unknown): value is ToolOutput {
  const output = membersOf(value);
  if (output === undefined) return false;
  const { content, labels, isError, truncated } = output;
  return (
    Array.isArray(content) &&
    content.every((part) => isPart(membersOf(part))) &&
    (labels === undefined || (Array.isArray(labels) && labels.every(isText))) &&
    isFlag(isError) &&
    isFlag(truncated)
  );
}

/** A file part with its bytes inline, in the store or behind an address. */
export function isFilePart(part: Members): boolean {
  return part["type"] === "file" && isText(part["mediaType"]) && isBytes(part["data"]) && isTextOrNone(part["name"]);
}

export function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined; // any object has members
}

function isPart(part: Members | undefined): boolean {
  if (part === undefined) return false;
  if (part["type"] === "text") return isText(part["text"]);
  if (part["type"] === "diff") return isText(part["path"]) && isText(part["after"]) && isTextOrNone(part["before"]);
  return isFilePart(part);
}

function isBytes(value: unknown): boolean {
  const data = membersOf(value);
  switch (data?.["type"]) {
    case "base64":
      return isText(data["base64"]);
    case "url":
      return isText(data["url"]);
    case "blob":
      return isText(data["hash"]) && typeof data["size"] === "number";
    default:
      return false;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}
