/** What a trusted folder tells agents: its AGENTS.md and CLAUDE.md, as a part of the coding agent's instructions. */

import type { Trust } from "../trust.ts";

/** Of each line the first that is there. */
const FILES = [["AGENTS.override.md", "AGENTS.md"], ["CLAUDE.md"], [".claude/CLAUDE.md"], ["CLAUDE.local.md"]];
/** Of all files together: it is sent with every model call. */
const MAX_BYTES = 32_768;

export const INSTRUCTION_FILES: readonly string[] = FILES.flat();

export type FolderInstructions = {
  readonly text: string;
  readonly names: readonly string[];
  readonly bytes: number;
  /** Bytes that were left out at the end. */
  readonly left: number;
};

/** Undefined when there is nothing, or nothing that is trusted. */
export async function folderInstructions(trust: Trust): Promise<FolderInstructions | undefined> {
  const found = new Map<string, { readonly name: string; readonly bytes: Uint8Array }>();
  for (const names of FILES) {
    const file = await firstOf(trust, names);
    if (file === undefined) continue;
    const text = new TextDecoder().decode(file.bytes).trim();
    if (text !== "" && !found.has(text)) found.set(text, file); // one file is often a link to the other
  }
  if (found.size === 0) return undefined;
  let [bytes, left] = [0, 0];
  const parts: string[] = [];
  for (const [text, { name }] of found) {
    const whole = new TextEncoder().encode(text);
    const kept = whole.subarray(0, MAX_BYTES - bytes);
    bytes += kept.length;
    left += whole.length - kept.length;
    const shown = new TextDecoder().decode(kept, { stream: true }); // without half a character at its end
    if (shown !== "") parts.push(`Instructions of this folder (${name}):\n\n${shown}`);
  }
  return { text: parts.join("\n\n"), names: [...found.values()].map(({ name }) => name), bytes, left };
}

async function firstOf(
  trust: Trust,
  names: readonly string[],
): Promise<{ readonly name: string; readonly bytes: Uint8Array } | undefined> {
  for (const name of names) {
    const bytes = await trust.read(name);
    if (bytes !== undefined) return { name, bytes };
  }
  return undefined;
}
