/** `capstan trust`: decides that a folder's own settings and instructions may be used, shows such decisions, takes them back. */

import { CapstanError } from "@capstan/core";
import type { Config } from "../config.ts";
import { distrustFolder, trustedFolders, trustFolder, trustOf, type Trust, type TrustOptions } from "../trust.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { type Screen, screen as newScreen } from "./screen.ts";
import type { AskTrust } from "./folder-trust.ts";
import { type LineReader, terminalLine } from "./terminal-line.ts";

export type TrustFlags = { readonly list?: boolean; readonly remove?: boolean; readonly yes?: boolean };

const SHOWN_FILES = 50;

/** Returns the exit code. */
export async function trustCommand(
  name: string,
  config: Config | undefined,
  folder: string | undefined,
  flags: TrustFlags,
): Promise<number> {
  const screen = newScreen();
  const options = config?.dataFolder === undefined ? {} : { dataFolder: config.dataFolder };
  if (flags.list === true && (flags.remove === true || folder !== undefined)) throw usage("--list takes nothing else");
  const code =
    flags.list === true
      ? await list(screen, options)
      : flags.remove === true
        ? await remove(screen, folder ?? ".", options)
        : await decide(name, screen, folder ?? ".", flags.yes === true, options);
  await screen.flush();
  return code;
}

async function list(screen: Screen, options: TrustOptions): Promise<number> {
  const folders = await trustedFolders(options);
  if (folders.length === 0) screen.note("No folder was trusted yet.");
  for (const folder of folders) {
    const state = await trustOf(folder, options).then(
      (trust) => trust.state,
      () => "gone",
    );
    screen.data(`${state.padEnd(9)}  ${inertLine(folder)}`);
  }
  return EXIT.done;
}

async function remove(screen: Screen, folder: string, options: TrustOptions): Promise<number> {
  const removed = await distrustFolder(folder, options);
  screen.data(removed ? "No longer trusted." : "It was not trusted.");
  return EXIT.done;
}

async function decide(
  name: string,
  screen: Screen,
  folder: string,
  yes: boolean,
  options: TrustOptions,
): Promise<number> {
  if (isOfAgent()) {
    const message =
      "Trust is for a person to decide, not for a command that an agent runs; call this in a terminal of your own";
    throw new CapstanError("permission-denied", message);
  }
  const trust = await trustOf(folder, options);
  if (trust.state === "trusted") {
    screen.data(`${inertLine(trust.folder)} is trusted already.`);
    return EXIT.done;
  }
  for (const line of trustLines(trust)) screen.note(line);
  if (!yes && !(screen.asks && (await confirmed(screen, terminalLine(process.stdin, process.stderr))))) {
    screen.note(
      screen.asks ? "Not trusted." : `Not trusted: there is nobody to ask. Add --yes, or see "${name} trust --help".`,
    );
    return EXIT.refused;
  }
  await trustFolder(trust, options);
  screen.data(`${inertLine(trust.folder)} is trusted.`);
  return EXIT.done;
}

/** What a person sees before the decision. */
function trustLines({ folder, state, files, changed }: Trust): readonly string[] {
  const shown = state === "changed" ? changed : files;
  const head =
    files.length === 0
      ? "Nothing in this folder could configure or instruct an agent yet; what is added later asks again."
      : state === "changed"
        ? "These have changed since you trusted the folder:"
        : "These can configure, instruct or start programs:";
  const more = shown.length > SHOWN_FILES ? [`  and ${shown.length - SHOWN_FILES} more`] : [];
  return [inertLine(folder), head, ...shown.slice(0, SHOWN_FILES).map((file) => `  ${inertLine(file)}`), ...more];
}

/** Asks for a decision in the middle of another command, once for a folder; nobody is asked where an agent runs it. */
export function askTrust(screen: Screen, readLine: LineReader | undefined): AskTrust | undefined {
  if (readLine === undefined || isOfAgent()) return undefined;
  const refused = new Set<string>();
  return async (trust) => {
    if (refused.has(trust.folder)) return false;
    for (const line of trustLines(trust)) screen.note(line);
    const yes = await confirmed(screen, readLine);
    if (!yes) refused.add(trust.folder);
    return yes;
  };
}

/** Whether a command that an agent runs has called this: what people decide is not decided there. */
export function isOfAgent(): boolean {
  return (process.env["CAPSTAN_RUN"] ?? "") !== "";
}

export async function confirmed(screen: Screen, ask: LineReader, what = "this folder"): Promise<boolean> {
  const { signal } = new AbortController();
  const said = await screen.asking(() => ask(`Trust ${what}? yes (y), no (n) > `, signal));
  return /^(y|yes)$/i.test((said ?? "").trim());
}
