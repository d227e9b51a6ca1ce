/** The lines around the editor: plan, queue, and the status at the very bottom. */

import type { PlanEntry, QueuedInput, SessionView } from "@capstan/core";
import { textOf } from "@capstan/core";
import { inertLine } from "./inert.ts";
import { TERMINAL_LIMITS } from "./limits.ts";
import { shownCost, shownCount, shownDuration } from "./shown-values.ts";
import type { ThemeContext } from "./theme-context.ts";
import { fit, widthOf } from "./view/text-width.ts";

const SIGNS = {
  completed: "ok",
  "in-progress": "pointer",
  pending: "open",
  cancelled: "failed",
} as const satisfies Record<PlanEntry["status"], string>;

/** Around the entry that is worked on; nothing when all is done. */
export function planLines(
  entries: readonly PlanEntry[],
  { style, glyphs }: ThemeContext,
  width: number,
): readonly string[] {
  const done = entries.filter(({ status }) => status === "completed" || status === "cancelled").length;
  if (entries.length === 0 || done === entries.length) return [];
  const current = Math.max(
    0,
    entries.findIndex(({ status }) => status === "in-progress"),
  );
  const count = Math.min(entries.length, TERMINAL_LIMITS.planLines);
  const start = Math.max(0, Math.min(current - Math.floor(count / 2), entries.length - count));
  const lines = entries.slice(start, start + count).map(({ status, content }) => {
    const line = fit(`  ${glyphs[SIGNS[status]]} ${inertLine(content, width)}`, width);
    return status === "in-progress" ? style("strong", line) : style(status === "pending" ? "accent" : "dim", line);
  });
  return [style("dim", fit(`Plan: ${done} of ${entries.length} done`, width)), ...lines];
}

export function queueLines(
  queue: readonly QueuedInput[],
  { style, glyphs }: ThemeContext,
  width: number,
): readonly string[] {
  if (queue.length === 0) return [];
  const lines = queue.slice(-TERMINAL_LIMITS.queueLines).map(({ parts, ifBusy }) => {
    const when = ifBusy === "steer" ? "next turn" : "next run";
    return style("dim", fit(`  ${glyphs.waiting} ${when}: ${inertLine(textOf(parts), width)}`, width));
  });
  return [...lines, style("dim", fit("  alt+up takes the last one back", width))];
}

export type Status = {
  readonly state: SessionView | undefined;
  readonly mode: string;
  readonly model: string;
  readonly context: { readonly tokens: number; readonly size: number } | undefined;
  /** Milliseconds that the run has taken; undefined when none runs. */
  readonly runMs: number | undefined;
  readonly tick: number;
  readonly requests: number;
  /** In place of all else, such as "ctrl+c again leaves". */
  readonly flash: string | undefined;
};

export function statusLine(status: Status, context: ThemeContext, width: number): string {
  const { style, glyphs } = context;
  if (status.flash !== undefined) return style("warning", fit(status.flash, width));
  const left = activity(status, context);
  const right = fit(facts(status).join(` ${glyphs.dot} `), Math.max(0, width - 2));
  const room = width - widthOf(right) - 2;
  if (room < 4) return style("dim", fit(left === "" ? right : `${left} ${right}`, width));
  const shown = fit(left, room);
  return `${shown}${" ".repeat(Math.max(2, width - widthOf(shown) - widthOf(right)))}${style("dim", right)}`;
}

function activity({ runMs, tick, requests, state }: Status, { style, glyphs }: ThemeContext): string {
  if (requests > 0) return style("warning", `${glyphs.waiting} waits for an answer`);
  if (runMs === undefined) return style("dim", "? help");
  if (state?.status === "waiting" || state?.status === "parked")
    return style("warning", `${glyphs.waiting} ${state.status}`);
  const sign = glyphs.running[tick % glyphs.running.length] ?? "";
  return `${style("accent", sign)} ${style("dim", `${shownDuration(Math.floor(runMs / 1_000) * 1_000).replace(".0", "")}, esc interrupts`)}`;
}

function facts({ model, mode, context, state }: Status): readonly string[] {
  const cost = state?.usage.costMicroUsd;
  const used = context?.tokens ?? state?.contextTokens ?? 0;
  const size = context?.size ?? 0;
  const share =
    size > 0 ? `${Math.min(999, Math.round((used / size) * 100))}% of ${shownCount(size)}` : shownCount(used);
  return [
    inertLine(model, 40),
    mode,
    ...(used > 0 ? [`context ${share}`] : []),
    ...(cost === undefined ? [] : [shownCost(cost)]),
  ].filter((fact) => fact !== "");
}
