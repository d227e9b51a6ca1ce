/** The line of `capstan doctor` on sandboxes: whether programs can be confined here, proved by confining one. */

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import { sandboxBy } from "./sandbox-setting.ts";
import type { SandboxSettings } from "./settings.ts";

/** Throws `sandbox-unavailable` where the settings require it. */
export async function sandboxCheck(settings: SandboxSettings | undefined): Promise<string | { readonly hint: string }> {
  const { confinement = "preferred" } = settings ?? { confinement: "off" };
  const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-doctor-")));
  try {
    const confiner = await (await sandboxBy(settings ?? {})).open(folder);
    await confiner.close();
    const use = confinement === "off" ? 'not in use: "run --sandbox required" or the setting does' : confinement;
    return `${confiner.confinement} (${use})`;
  } catch (error) {
    if (confinement === "required" || !CapstanError.is(error, "sandbox-unavailable")) throw error;
    return { hint: `${error.message}; programs run as you do` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
