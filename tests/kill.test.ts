import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { judge } from "./harness/judge.ts";
import { killLoop } from "./harness/kill-loop.ts";
import { seedOfRun } from "./harness/random.ts";

const seed = seedOfRun(systemClock.now());

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "capstan-kill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

describe("a killed worker", () => {
  for (const durability of ["full", "relaxed"] as const) {
    it(`loses nothing (${durability}, seed ${seed})`, { timeout: 60_000 }, async () => {
      const client = await killLoop({ folder: temporaryFolder(), durability, kills: 6, seed });
      const verdict = await judge(client).finally(() => client.close());
      console.log(JSON.stringify(verdict, null, 1));
      expect(verdict.problems).toEqual([]);
    });
  }
});
