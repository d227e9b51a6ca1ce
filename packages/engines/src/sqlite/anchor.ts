/** Heads kept outside the database: what was on disk once and is missing later shows. One line a head, `<crc32> <json>`. */

import * as fs from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { syncFolder } from "./files.ts";

/** `number` is the row of the session, never used twice: an id that is made again is another session. Head 0 says removed. */
export type Anchor = { readonly sessionId: string; readonly number: number; readonly head: number };
/** By `anchorKey`. */
export type Anchors = ReadonlyMap<string, Anchor>;

/** The file is written anew when it has this many lines more than it needs. */
const SPARE_LINES = 4_096;

export function anchorKey({ sessionId, number }: Anchor): string {
  return `${number}/${sessionId}`;
}

/** Lines that are torn or altered say nothing: an anchor can only be forgotten, never invented. */
export function readAnchors(path: string): Anchors {
  return parse(textOf(path)).anchors;
}

/** Adds heads at the end, on disk when it returns. Other processes may do the same at the same time. */
export async function writeAnchors(path: string, anchors: Iterable<Anchor>): Promise<void> {
  const isNew = !fs.existsSync(path);
  const file = await fs.promises.open(path, "a", 0o600);
  try {
    await file.appendFile(toLines(anchors));
    await file.datasync();
  } finally {
    await file.close();
  }
  if (isNew) syncFolder(dirname(path));
}

/** Writes the file anew when most of its lines are outdated. Called when the store is opened. */
export function compactAnchors(path: string): void {
  const { anchors, lines } = parse(textOf(path));
  const kept = [...anchors.values()].filter(({ head }) => head > 0);
  if (lines - kept.length <= SPARE_LINES) return;
  const file = fs.openSync(`${path}.new`, "w", 0o600);
  try {
    fs.writeFileSync(file, toLines(kept));
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
  fs.renameSync(`${path}.new`, path);
  syncFolder(dirname(path));
}

function parse(text: string): { readonly anchors: Anchors; readonly lines: number } {
  const anchors = new Map<string, Anchor>();
  const lines = text.split("\n");
  for (const line of lines) {
    const json = line.slice(9);
    if (line.length < 10 || line.slice(0, 8) !== checksum(json)) continue;
    const anchor = JSON.parse(json) as Anchor; // as toLines wrote it
    const known = anchors.get(anchorKey(anchor));
    // Two processes may write out of order: the highest head counts, and removed stays removed.
    if (known !== undefined && (known.head === 0 || (anchor.head > 0 && anchor.head < known.head))) continue;
    anchors.set(anchorKey(anchor), anchor);
  }
  return { anchors, lines: lines.length };
}

/** A line break first: what follows a torn line is a line of its own. */
function toLines(anchors: Iterable<Anchor>): string {
  let lines = "\n";
  for (const { sessionId, number, head } of anchors) {
    const json = JSON.stringify({ sessionId, number, head });
    lines += `${checksum(json)} ${json}\n`;
  }
  return lines;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, "0");
}

function textOf(path: string): string {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
