/** Tool calls as lines for people: a slow call is announced, every finished one gets one line with what came of it. */

import { type Clock, type FactOf, systemClock, textOf, type ToolOutput, type ToolStatus } from "@capstan/core";
import { inert, inertLine } from "./inert.ts";
import type { Screen, Style } from "./screen.ts";

const ANNOUNCE_MS = 1_000;
const MAX_DIFF_LINES = 12;
const MAX_TITLE = 100;

export interface ToolLines {
  /** `past`: it started before anybody looked on, and is not announced. */
  started(fact: FactOf<"tool.started">, options?: { readonly past?: boolean }): void;
  finished(fact: FactOf<"tool.finished">): void;
  close(): void;
}

export function toolLines(screen: Screen, clock: Clock = systemClock): ToolLines {
  const running = new Map<string, { readonly title: string; readonly execute: boolean; readonly cancel: () => void }>();
  return {
    started({ callId, title, kind }, { past = false } = {}) {
      running.get(callId)?.cancel(); // an attempt that a crash cut short
      const shown = inertLine(title, MAX_TITLE);
      const announce = (): void => screen.note(`  … ${shown}`, "dim");
      const cancel = past ? (): void => undefined : clock.after(ANNOUNCE_MS, announce, { background: true });
      running.set(callId, { title: shown, execute: kind === "execute", cancel });
    },
    finished({ callId, name, status, output, durationMs }) {
      const call = running.get(callId);
      call?.cancel();
      running.delete(callId);
      const title = call?.title ?? name;
      const time = durationMs >= ANNOUNCE_MS ? ` (${(durationMs / 1_000).toFixed(1)} s)` : "";
      const outcome = status === "ok" ? "" : `: ${outcomeOf(status, output, call?.execute === true)}`;
      screen.note(`  ${status === "ok" ? "✓" : "✗"} ${title}${time}${outcome}`, STYLES[status]);
      for (const { line, style } of diffLines(output)) screen.note(`      ${line}`, style);
    },
    close() {
      for (const { cancel } of running.values()) cancel();
    },
  };
}

const STYLES: { readonly [status in ToolStatus]: Style } = {
  ok: "dim",
  error: "yellow",
  denied: "red",
  cancelled: "yellow",
  timeout: "yellow",
  unknown: "red",
};

/** The line of a failed call that says most: of a program the last one, of everything else the first. */
export function outcomeOf(status: ToolStatus, output: ToolOutput, execute = false): string {
  const lines = textOf(output.content)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const telling = inertLine((execute ? lines.at(-1) : lines[0]) ?? "", 160);
  return status === "error" || telling.toLowerCase().startsWith("refused")
    ? telling
    : `${status}${telling === "" ? "" : `, ${telling}`}`;
}

/** The changed lines of the diffs of an output, up to a bound. */
export function diffLines(output: ToolOutput): readonly { readonly line: string; readonly style: Style }[] {
  return output.content.flatMap((part) => {
    if (part.type !== "diff" || part.before === undefined) return [];
    const { removed, added } = changed(part.before.split("\n"), part.after.split("\n"));
    const all = [
      ...removed.map((line) => ({ line: `- ${inert(line)}`, style: "red" as const })),
      ...added.map((line) => ({ line: `+ ${inert(line)}`, style: "green" as const })),
    ];
    if (all.length <= MAX_DIFF_LINES) return all;
    return [
      ...all.slice(0, MAX_DIFF_LINES),
      { line: `(${all.length - MAX_DIFF_LINES} more changed lines)`, style: "dim" as const },
    ];
  });
}

/** What lies between the lines that both texts begin and end with. */
function changed(
  before: readonly string[],
  after: readonly string[],
): { readonly removed: readonly string[]; readonly added: readonly string[] } {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  return { removed: before.slice(start, before.length - end), added: after.slice(start, after.length - end) };
}
