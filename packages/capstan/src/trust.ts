/**
 * Which folders a person trusts (G19). Trust is bound to the folder's real path and to the content of what in it can
 * execute or configure; it is kept in the user's data folder. Whatever reads a project's own settings asks here first.
 */

import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
import { CapstanError, hashJson } from "@capstan/core";
import { homeFolders } from "./home-folders.ts";
import { linksOn, readRegular, trustFiles, trustHash, type TrustFiles } from "./trust-files.ts";
import type * as store from "./trust-store.ts";

export type TrustState = "trusted" | "untrusted" | "changed";
export type Trust = {
  /** Real path. */
  readonly folder: string;
  readonly state: TrustState;
  /** What there is to trust, by name; empty: nothing here could execute or configure. */
  readonly files: readonly string[];
  /** Names that are new, gone or different since the decision; only when `changed`. */
  readonly changed: readonly string[];
  /** Of all of it: hand it to `trustFolder`, so that what was shown is what is trusted. */
  readonly hash: string;
  /** A file of the folder, as it was when the person decided; undefined when it is not there, not trusted, or changed since. */
  read(name: string): Promise<Uint8Array | undefined>;
};
export type TrustOptions = {
  /** Where decisions are kept. Default: the user's data folder. */
  readonly dataFolder?: string;
};

/** Loaded when a decision is first asked for: with it comes the library of schemas, a third of the time a program takes to start. */
const decisions = (): Promise<typeof store> => import("./trust-store.ts");

/** Looks at a folder; decides nothing, runs nothing. Throws `workspace-missing`. */
export async function trustOf(folder: string, { dataFolder = defaultFolder() }: TrustOptions = {}): Promise<Trust> {
  const real = await realFolder(folder);
  const [files, decision] = await Promise.all([
    trustFiles(real),
    // what a project brings along itself is no decision of a person
    holdsData(real, dataFolder).then(async (holds) =>
      holds ? undefined : (await decisions()).readDecision(dataFolder, real),
    ),
  ]);
  const changed = decision === undefined ? [] : differences(decision.files, files);
  const state = decision === undefined ? "untrusted" : changed.length > 0 ? "changed" : "trusted";
  const trusted = state === "trusted" ? files : {};
  return {
    folder: real,
    state,
    files: Object.keys(files),
    changed,
    hash: hashJson(files),
    read: (name) => readTrusted(real, name, trusted),
  };
}

/**
 * Writes the decision down. Throws `file-changed` when what is there is not what `seen` looked at, and `usage` for a
 * folder that holds the decisions themselves.
 */
export async function trustFolder(seen: Trust, { dataFolder = defaultFolder() }: TrustOptions = {}): Promise<void> {
  const { folder, hash } = seen;
  if (await holdsData(folder, dataFolder)) {
    const message = `${folder} holds Capstan's own data, so what works in it could trust itself; trust the folder of one project`;
    throw new CapstanError("usage", message);
  }
  const files = await trustFiles(folder);
  if (hashJson(files) !== hash) {
    throw new CapstanError("file-changed", `${folder} was changed while it was looked at. Look again, then decide`);
  }
  await (await decisions()).writeDecision(dataFolder, folder, files);
}

/** False when there was no decision. A folder that is gone can be named by the path it had. */
export async function distrustFolder(
  folder: string,
  { dataFolder = defaultFolder() }: TrustOptions = {},
): Promise<boolean> {
  const real = await realpath(folder).catch(() => resolve(folder));
  return (await decisions()).forgetDecision(dataFolder, real);
}

/** Real paths of all folders with a decision, sorted. */
export async function trustedFolders({ dataFolder = defaultFolder() }: TrustOptions = {}): Promise<readonly string[]> {
  return (await decisions()).readDecisions(dataFolder);
}

/**
 * The folder as it may be used: asks a person where there is one and something to decide. Without `ask`, as without a
 * terminal, nothing becomes trusted.
 */
export async function settledTrust(
  folder: string,
  { ask, ...options }: TrustOptions & { readonly ask?: (trust: Trust) => Promise<boolean> } = {},
): Promise<Trust> {
  const trust = await trustOf(folder, options);
  if (trust.state === "trusted" || trust.files.length === 0 || ask === undefined) return trust;
  if (!(await ask(trust))) return trust;
  await trustFolder(trust, options);
  return trustOf(folder, options);
}

function defaultFolder(): string {
  return homeFolders(process.env).data;
}

/** Whether decisions are kept in the folder that they would be about. */
async function holdsData(folder: string, dataFolder: string): Promise<boolean> {
  const kept = await realPlace(dataFolder);
  return kept === folder || kept.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Where a path leads, also when its last folders are not there yet. */
async function realPlace(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async () => (above === whole ? whole : join(await realPlace(above), basename(whole))));
}

async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (cause) {
    throw new CapstanError("workspace-missing", `There is no folder ${resolve(folder)}`, { cause });
  }
}

function differences(before: TrustFiles, now: TrustFiles): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]).toSorted();
}

/** Reads first, compares what was read, and only then hands it out: the file may change at any time. */
async function readTrusted(folder: string, name: string, trusted: TrustFiles): Promise<Uint8Array | undefined> {
  const clean = normalize(name).replaceAll(sep, "/");
  if (isAbsolute(clean) || relative(folder, join(folder, clean)).startsWith("..")) return undefined;
  const wanted = Object.hasOwn(trusted, clean) ? trusted[clean] : undefined;
  if (wanted === undefined) return undefined;
  const links = await linksOn(folder, clean);
  const bytes = await readRegular(join(folder, clean));
  return bytes !== undefined && trustHash(links, bytes) === wanted ? bytes : undefined;
}
