/** `capstan packages`: decides that a package may be used as it is now, shows such decisions, takes them back. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CapstanError, messageOf } from "@capstan/core";
import type { SeenPackage } from "@capstan/plugins/packages";
import { homeFolders } from "../home-folders.ts";
import { changeSettings } from "./change-settings.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { type Screen, screen as newScreen } from "./screen.ts";
import { type PackageSetting, readSettings } from "./settings.ts";
import { terminalLine } from "./terminal-line.ts";
import { confirmed, isOfAgent } from "./trust-command.ts";

export type PackagesFlags = { readonly remove?: boolean; readonly yes?: boolean };

const SHOWN_FILES = 50;

/** Returns the exit code. */
export async function packagesCommand(name: string, from: string | undefined, flags: PackagesFlags): Promise<number> {
  const screen = newScreen();
  const { packages = [] } = await readSettings();
  if (from === undefined && (flags.remove === true || flags.yes === true)) throw usage("Name a package");
  const code =
    from === undefined
      ? await list(screen, packages)
      : flags.remove === true
        ? await remove(screen, placeOf(from), packages)
        : await add(name, screen, placeOf(from), flags.yes === true);
  await screen.flush();
  return code;
}

/** A folder by its absolute path; anything else is the name of an npm package. */
function placeOf(from: string): string {
  return /^[./]/.test(from) || existsSync(resolve(from)) ? resolve(from) : from;
}

async function look(from: string): Promise<SeenPackage> {
  const { lookAtPackage, packageFolder } = await import("@capstan/plugins/packages");
  return lookAtPackage(packageFolder(from, homeFolders(process.env).settings));
}

async function list(screen: Screen, packages: readonly PackageSetting[]): Promise<number> {
  if (packages.length === 0) screen.note("No package was trusted yet.");
  for (const { from, hash } of packages) {
    const state = await look(from).then(
      (seen) => (seen.hash === hash ? "trusted" : "changed"),
      (error: unknown) => inertLine(`broken (${messageOf(error)})`),
    );
    screen.data(`${state.padEnd(8)}  ${inertLine(from)}`);
  }
  return EXIT.done;
}

async function remove(screen: Screen, from: string, packages: readonly PackageSetting[]): Promise<number> {
  const known = packages.some((one) => one.from === from);
  if (known)
    await changeSettings((settings) => ({
      ...settings,
      packages: (settings.packages ?? []).filter((one) => one.from !== from),
    }));
  screen.data(known ? "No longer used." : "It was not used.");
  return EXIT.done;
}

async function add(name: string, screen: Screen, from: string, yes: boolean): Promise<number> {
  if (isOfAgent()) {
    const message =
      "Packages are for a person to trust, not for a command that an agent runs; call this in a terminal of your own";
    throw new CapstanError("permission-denied", message);
  }
  const { manifest, files, hash, folder } = await look(from);
  const { version = "", description = "" } = manifest;
  screen.note(inertLine(`${manifest.name} ${version} in ${folder}`));
  if (description !== "") screen.note(inertLine(description));
  screen.note("These can instruct an agent and be run:");
  for (const file of files.slice(0, SHOWN_FILES)) screen.note(`  ${inertLine(file)}`);
  if (files.length > SHOWN_FILES) screen.note(`  and ${files.length - SHOWN_FILES} more`);
  if (
    !yes &&
    !(screen.asks && (await confirmed(screen, terminalLine(process.stdin, process.stderr), "this package")))
  ) {
    screen.note(
      screen.asks
        ? "Not trusted."
        : `Not trusted: there is nobody to ask. Add --yes, or see "${name} packages --help".`,
    );
    return EXIT.refused;
  }
  await changeSettings((settings) => ({
    ...settings,
    packages: [...(settings.packages ?? []).filter((one) => one.from !== from), { from, hash }],
  }));
  screen.data(`${inertLine(manifest.name)} is trusted.`);
  return EXIT.done;
}
