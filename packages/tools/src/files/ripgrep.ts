/**
 * Runs ripgrep in a folder of the workspace: no configuration file, no link followed, ignore files respected. It opens
 * files by name while it walks; who swaps them for links in that moment has already run as the user.
 */

import { CapstanError, messageOf, type RunOutcome, type Workspace } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { TEMPORARY_GLOB } from "../workspaces/temporary-files.ts";

export type Search = {
  /** A folder of the workspace, relative to its root. */
  readonly folder: string;
  readonly arguments: readonly string[];
  readonly signal: AbortSignal;
  /** Takes records as they come; `false` ends the search. */
  readonly onRecord: (record: string) => boolean;
  /** What ends a record. */
  readonly separator: "\0" | "\n";
};
export type SearchEnd = {
  readonly status: "done" | "stopped" | "timeout";
  /** Why ripgrep could not search, or not to the end. */
  readonly problem?: string;
  /** Some of what was to be searched could not be read. */
  readonly unread?: true;
};

/** Hidden files are searched. */
const ALWAYS = [
  "--no-config",
  "--no-follow",
  "--hidden",
  "--no-require-git",
  "--no-ignore-global",
  "--no-messages",
  "--color=never",
];
/** Git's own folder and files that are about to be written are not. */
export const NOT_SEARCHED: readonly string[] = ["--glob=!.git", `--glob=!${TEMPORARY_GLOB}`];
/** What ripgrep says of options that the tools do not have. */
const OPTIONS_ADVICE = /\n+Consider enabling [^]*$/;
/** Longest record that is waited for; a longer one is dropped. */
const MAX_RECORD = 1_048_576;

export async function search(
  workspace: Workspace,
  { folder, arguments: given, signal, onRecord, separator }: Search,
): Promise<SearchEnd> {
  const stop = new AbortController();
  let rest = "";
  const outcome = await workspace.run([await ripgrepPath(), ...ALWAYS, ...given], {
    cwd: folder,
    timeoutMs: TOOL_LIMITS.searchTimeoutMs,
    maxOutputBytes: 8_192,
    signal: AbortSignal.any([signal, stop.signal]),
    onOutput(stream, chunk) {
      if (stream === "stderr" || stop.signal.aborted) return;
      const records = (rest + chunk).split(separator);
      rest = (records.pop() ?? "").slice(0, MAX_RECORD);
      if (!records.every((record) => onRecord(record))) stop.abort();
    },
  });
  signal.throwIfAborted();
  if (rest !== "" && !stop.signal.aborted && separator === "\n") onRecord(rest);
  return endOf(outcome, stop.signal.aborted);
}

function endOf({ exitCode, exitSignal, killedBy, stderr }: RunOutcome, stopped: boolean): SearchEnd {
  if (stopped) return { status: "stopped" };
  if (killedBy === "timeout") return { status: "timeout" };
  if (exitCode !== null && exitCode <= 1) return { status: "done" };
  if (exitSignal !== null) return { status: "done", problem: `ripgrep was ended by ${exitSignal}` };
  const said = stderr.replace(OPTIONS_ADVICE, "").trim();
  return said === "" ? { status: "done", unread: true } : { status: "done", problem: said };
}

/** Where the package keeps its binary: an absolute path, never a search on PATH. */
async function ripgrepPath(): Promise<string> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return rgPath;
  } catch (cause) {
    throw new CapstanError("process-failed", `ripgrep is not installed for this platform: ${messageOf(cause)}`, {
      cause,
    });
  }
}
