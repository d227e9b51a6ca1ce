/** For tests: whether a sandbox can be used on this machine, with the reason when it cannot. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@capstan/core";
import type { Sandbox } from "./confiner.ts";

/** Stands in the name of the tests that are skipped because of it. */
export async function missingHere(sandbox: Sandbox): Promise<string | undefined> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-canary-")));
  try {
    mkdirSync(join(folder, "work"));
    const confiner = await sandbox.open(join(folder, "work"));
    await confiner.close();
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The name of a suite, with why it is skipped. */
export function suiteName(name: string, missing: string | undefined): string {
  return missing === undefined ? name : `${name}, skipped: ${missing}`;
}
