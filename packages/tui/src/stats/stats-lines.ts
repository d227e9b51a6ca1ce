/** Statistics as lines: numbers of one session, and bars over days. */

import type { Usage } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { shownCost, shownCount, shownDuration } from "../shown-values.ts";
import type { ThemeContext } from "../theme-context.ts";
import { fit, pad } from "../view/text-width.ts";
import type { DayStats } from "./day-stats.ts";
import { cacheShare, type SessionStats } from "./session-stats.ts";

const MAX_TOOLS = 12;
const NAME = 11;

export function sessionStatsLines(stats: SessionStats, context: ThemeContext, width: number): readonly string[] {
  const { style } = context;
  const row = (name: string, value: string): string => fit(`${style("dim", pad(name, NAME))} ${value}`, width);
  const { usage, childUsage, runs, turns, retries, workedMs, ends, models, tools, asked, compactions, children } =
    stats;
  const share = cacheShare(usage);
  return [
    row("tokens", tokens(usage)),
    row(
      "cache",
      share === undefined
        ? "nothing yet"
        : `${Math.round(share * 100)}% of the input was read from it${usage.cacheWriteTokens === undefined ? "" : `, ${shownCount(usage.cacheWriteTokens)} written`}`,
    ),
    row("cost", usage.costMicroUsd === undefined ? "not known" : shownCost(usage.costMicroUsd)),
    row(
      "runs",
      `${runs}${ends.length === 0 ? "" : ` (${ends.map(([reason, count]) => `${inertLine(reason)} ${count}`).join(", ")})`}`,
    ),
    row("turns", `${turns}${retries === 0 ? "" : `, ${retries} tried again`}, ${shownDuration(workedMs)} in all`),
    ...(asked === 0 ? [] : [row("questions", String(asked))]),
    ...(compactions === 0 ? [] : [row("summed up", `${compactions} times`)]),
    ...(children === 0 ? [] : [row("sub-agents", `${children}, ${tokens(childUsage)}`)]),
    ...models.map(([model, used]) => row("model", `${inertLine(model, 40)}: ${tokens(used)}`)),
    ...toolRows(tools, context, width),
  ];
}

function tokens({
  inputTokens,
  outputTokens,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens,
}: Usage): string {
  const reasoning = reasoningTokens === undefined ? "" : ` (${shownCount(reasoningTokens)} of them reasoning)`;
  return `${shownCount(inputTokens + cacheReadTokens + cacheWriteTokens)} in, ${shownCount(outputTokens)} out${reasoning}`;
}

function toolRows(tools: SessionStats["tools"], context: ThemeContext, width: number): readonly string[] {
  const { style } = context;
  if (tools.length === 0) return [];
  const most = Math.max(...tools.map(({ calls }) => calls));
  const name = Math.min(24, Math.max(...tools.map((tool) => tool.name.length)), Math.floor(width / 2));
  const rows = tools.slice(0, MAX_TOOLS).map((tool) => {
    const said = `${tool.calls}${tool.failed === 0 ? "" : `, ${tool.failed} failed`}, ${shownDuration(tool.ms)}`;
    return fit(
      `${pad(inertLine(tool.name, 40), name)} ${style("accent", bar(tool.calls / most, 12, context))} ${said}`,
      width,
    );
  });
  return [
    style("strong", "Tools"),
    ...rows,
    ...(tools.length > MAX_TOOLS ? [style("dim", `(${tools.length - MAX_TOOLS} more tools)`)] : []),
  ];
}

export function dayStatsLines(days: readonly DayStats[], context: ThemeContext, width: number): readonly string[] {
  const all = days.map(({ usage }) => sumOf(usage));
  const most = Math.max(...all, 1);
  return days.map(({ day, sessions, usage }, at) => {
    const cost = usage.costMicroUsd === undefined ? "" : ` ${shownCost(usage.costMicroUsd)}`;
    const said =
      sessions === 0 ? "" : `${sessions} ${sessions === 1 ? "session" : "sessions"} ${shownCount(all[at] ?? 0)}${cost}`;
    const room = Math.max(4, Math.min(40, width - 40));
    return fit(
      `${context.style("dim", day)} ${context.style("accent", bar((all[at] ?? 0) / most, room, context))} ${said}`,
      width,
    );
  });
}

function sumOf({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

/** `share` of `width` columns, to an eighth of one where the glyphs allow. */
function bar(share: number, width: number, { glyphs: { blocks } }: ThemeContext): string {
  const steps = Math.round(share * width * blocks.length);
  const whole = Math.floor(steps / blocks.length);
  const rest = blocks[(steps % blocks.length) - 1] ?? "";
  const full = (blocks.at(-1) ?? "#").repeat(whole) + (whole < width ? rest : "");
  return pad(full, width);
}
