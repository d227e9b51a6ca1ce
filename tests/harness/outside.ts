/** The world outside the engine: a synced ledger of what really happened, and a service that knows idempotency keys. */

import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

export type Line = {
  /** A model that was asked, a tool or step that acted, or a tool that only looked. */
  readonly what: "ask" | "effect" | "look";
  /** `<session>/<plan>/<turn>` of an ask; else the call, with the step's name behind it. */
  readonly id: string;
  readonly tool: string;
  /** Idempotency key of a keyed effect. */
  readonly key?: string;
  /** What the tool was given. */
  readonly input?: string;
  readonly pid: number;
  /** Wall clock in milliseconds, as in facts. */
  readonly at: number;
};

export interface Outside {
  /** On disk when it returns. */
  write(line: Omit<Line, "pid" | "at">): void;
  lines(): readonly Line[];
  /** Performs the effect of a key once, however often it is asked to. */
  serve(key: string): void;
}

export function outside(folder: string, now: () => number): Outside {
  const path = join(folder, "ledger.ndjson");
  const served = join(folder, "served");
  mkdirSync(served, { recursive: true });
  return {
    write(line) {
      const descriptor = openSync(path, "a");
      writeSync(descriptor, `${JSON.stringify({ ...line, pid: process.pid, at: now() })}\n`);
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    lines() {
      const text = read(path);
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Line); // written above, each by one write
    },
    serve: (key) => writeFileSync(join(served, encodeURIComponent(key)), "", { flag: "a" }),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // nothing happened yet
  }
}
