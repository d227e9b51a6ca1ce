/** `capstan sessions rewind`: shows what going back to a point of a session would do to its files, does it, and forks there. */

import { CapstanError, type Workspace, type WorkspaceRef } from "@capstan/core";
import {
  type LeftFile,
  planRewind,
  type RewindFile,
  type RewindPlan,
  restoreFiles,
} from "@capstan/plugins/checkpoints";
import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import type { Screen } from "./screen.ts";
import { knownSummary, withRuntime } from "./stored-sessions.ts";
import { terminalLine } from "./terminal-line.ts";
import { isOfAgent } from "./trust-command.ts";

export type RewindFlags = {
  readonly to: number;
  readonly changed?: "keep" | "overwrite";
  readonly dryRun?: boolean;
  readonly yes?: boolean;
};

const SHOWN_FILES = 200;
const SHOWN_COMMANDS = 10;

/** Writes the id of the session that goes on from there. The files come first: after a crash the same command goes on with them. */
export function rewindCommand(
  name: string,
  config: Config | undefined,
  id: string,
  { to, changed, dryRun = false, yes = false }: RewindFlags,
): Promise<number> {
  return withRuntime(config, async ({ runtime, engine, screen }) => {
    if (isOfAgent() && !dryRun) throw ofAgent();
    await knownSummary(engine, id);
    const opened: Workspace[] = [];
    const openWorkspace = async (ref: WorkspaceRef): Promise<Workspace> => {
      const workspace = await openFolder(config, ref);
      opened.push(workspace);
      return workspace;
    };
    try {
      const plan = await planRewind({ engine, openWorkspace, sessionId: id, at: to });
      showPlan(screen, plan);
      if (dryRun) return EXIT.done;
      const conflicts = plan.files.flatMap(({ conflict, path }) => (conflict === undefined ? [] : [path]));
      const consent = await decide(name, screen, { changed, yes, conflicts: conflicts.length });
      const [workspace] = opened;
      if (consent === undefined || workspace === undefined) return EXIT.refused;
      const overwrite = consent === "overwrite" ? conflicts : [];
      const { restored, left } = await restoreFiles(plan, { engine, workspace }, { overwrite });
      const fork = await (await runtime.session(id)).fork({ at: to });
      for (const file of left.filter((one) => !plan.left.includes(one))) screen.note(leftLine(file), "yellow");
      const next = `"${name} run --session ${fork.id}" goes on from there`;
      screen.note(`Restored ${restored.length} files; ${id} stays as it is, ${next}`);
      screen.data(fork.id);
      return left.some(({ why }) => why === "failed" || why === "changed") ? EXIT.failed : EXIT.done;
    } finally {
      for (const workspace of opened) await workspace.close();
    }
  });
}

/** No program runs in it: it needs no sandbox. */
async function openFolder(config: Config | undefined, { kind, root }: WorkspaceRef): Promise<Workspace> {
  const factory = config?.workspaces?.[kind];
  if (factory !== undefined) return factory(root);
  if (kind === "local") return (await import("@capstan/tools/workspaces/local")).localWorkspace(root);
  throw new CapstanError(
    "workspace-missing",
    `The session works in a folder of the kind ${JSON.stringify(kind)}; name the configuration that brings it`,
  );
}

function showPlan(screen: Screen, { files, left, commands, workspace }: RewindPlan): void {
  screen.note(
    files.length === 0
      ? `${inertLine(workspace.root)}: no file would change`
      : `${inertLine(workspace.root)}: would change`,
  );
  const lines = [
    ...files.map((file) => ({ line: fileLine(file), isOdd: file.conflict !== undefined })),
    ...left.map((file) => ({ line: leftLine(file), isOdd: true })),
  ];
  for (const { line, isOdd } of lines.slice(0, SHOWN_FILES)) screen.note(line, isOdd ? "yellow" : undefined);
  if (lines.length > SHOWN_FILES) screen.note(`  and ${lines.length - SHOWN_FILES} more`);
  if (commands.length === 0) return;
  screen.note("Commands ran since then; what else they changed is not undone:");
  for (const command of commands.slice(0, SHOWN_COMMANDS)) screen.note(`  ${inertLine(command, 120)}`, "dim");
  if (commands.length > SHOWN_COMMANDS) screen.note(`  and ${commands.length - SHOWN_COMMANDS} more`, "dim");
}

const CONFLICTS = {
  "changed-since": "others changed it since",
  "changed-between": "others changed it in between",
  unknown: "nobody knows how its last change ended",
} as const satisfies Record<NonNullable<RewindFile["conflict"]>, string>;

function fileLine({ path, action, now, nowSize, size = 0, conflict }: RewindFile): string {
  const what =
    action === "remove"
      ? `remove ${inertLine(path)} (${nowSize} bytes)`
      : now === null
        ? `create ${inertLine(path)} (${size} bytes)`
        : `write  ${inertLine(path)} (${nowSize} to ${size} bytes)`;
  return `  ${what}${conflict === undefined ? "" : `: ${CONFLICTS[conflict]}`}`;
}

const REASONS = {
  "not-kept": "what it held was not kept",
  protected: "protected files are not touched",
  "not-a-file": "no regular file of this name",
  "cannot-remove": "it cannot be removed here",
  "no-consent": "others changed it",
  changed: "it has changed just now; rewind again",
  failed: "it could not be restored",
} as const satisfies Record<LeftFile["why"], string>;

function leftLine({ path, why, detail }: LeftFile): string {
  return `  leave  ${inertLine(path)}: ${REASONS[why]}${detail === undefined ? "" : ` (${inertLine(detail, 200)})`}`;
}

type Asked = { readonly changed: "keep" | "overwrite" | undefined; readonly yes: boolean; readonly conflicts: number };

/** What a person says, or the flags; undefined to leave everything as it is. */
async function decide(
  name: string,
  screen: Screen,
  { changed, yes, conflicts }: Asked,
): Promise<"keep" | "overwrite" | undefined> {
  const isOpen = conflicts > 0 && changed === undefined;
  if (yes && !isOpen) return changed ?? "keep";
  if (!screen.asks) {
    const missing = isOpen ? "--changed keep or --changed overwrite" : "--yes";
    screen.note(
      `Nothing was changed: there is nobody to ask. Add ${missing}, or see "${name} sessions rewind --help".`,
    );
    return undefined;
  }
  const question = isOpen
    ? `Go back? yes, but keep what others changed (y), overwrite that too (o), no (n) > `
    : "Go back? yes (y), no (n) > ";
  const read = terminalLine(process.stdin, process.stderr);
  const { signal } = new AbortController();
  const said = ((await screen.asking(() => read(question, signal))) ?? "").trim().toLowerCase();
  if (isOpen && (said === "o" || said === "overwrite")) return "overwrite";
  if (said === "y" || said === "yes") return changed ?? "keep";
  screen.note("Nothing was changed.");
  return undefined;
}

function ofAgent(): CapstanError {
  const message =
    "Going back is for a person to decide, not for a command that an agent runs; call this in a terminal of your own, or look with --dry-run";
  return new CapstanError("permission-denied", message);
}
