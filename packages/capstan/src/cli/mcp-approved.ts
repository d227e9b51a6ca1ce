/** Definitions of MCP tools that were let run, kept in the data folder: one that changes between two days asks again. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock, systemIds } from "@capstan/core";
import type { ApprovedDefinitions } from "@capstan/mcp";

const ids = systemIds(() => systemClock.now());

/** Read when first asked, written when something changes. A file that cannot be read or written counts as empty: what is unknown was never approved. */
export function approvedDefinitions(dataFolder: string): ApprovedDefinitions {
  const path = join(dataFolder, "mcp-approved.json");
  let known: Map<string, string> | undefined;
  const all = (): Map<string, string> => (known ??= readHashes(path));
  return {
    get: (name) => all().get(name),
    set(name, hash) {
      if (all().get(name) === hash) return;
      known = readHashes(path).set(name, hash); // another process may have added some
      writeHashes(dataFolder, path, known);
    },
  };
}

function readHashes(path: string): Map<string, string> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}

function writeHashes(folder: string, path: string, hashes: ReadonlyMap<string, string>): void {
  const draft = `${path}.${ids.random()}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(draft, JSON.stringify(Object.fromEntries(hashes)), { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch {
    // the next process asks again: no harm
  }
}
