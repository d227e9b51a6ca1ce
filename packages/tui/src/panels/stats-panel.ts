/** The statistics: of this session, and of all over the last days. */

import { isLive, messageOf, type Runtime, type SessionSummary } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import { dayStats } from "../stats/day-stats.ts";
import { sessionStats, type SessionStats } from "../stats/session-stats.ts";
import { dayStatsLines, sessionStatsLines } from "../stats/stats-lines.ts";
import { hintLines, type Panel, type PanelPlace, ruleLine } from "./panel.ts";

export type StatsPlace = PanelPlace & {
  readonly runtime: Runtime;
  /** Without one only the days are shown. */
  readonly sessionId: string | undefined;
  readonly now: number;
  readonly redraw: () => void;
  readonly close: () => void;
};

const DAYS = 14;
const WAIT_MS = 30_000;

export function statsPanel({ context, runtime, sessionId, now, redraw, close }: StatsPlace): Panel {
  let session: SessionStats | undefined;
  let sessions: readonly SessionSummary[] | undefined;
  let problem = "";
  let shown: "session" | "days" = sessionId === undefined ? "days" : "session";
  let offset = 0;
  const stop = AbortSignal.timeout(WAIT_MS);
  const load = async (): Promise<void> => {
    sessions = await runtime.sessions({ limit: TERMINAL_LIMITS.sessions });
    redraw();
    if (sessionId !== undefined) session = await statsOf(runtime, sessionId, stop);
    redraw();
  };
  load().catch((error: unknown) => {
    problem = inertLine(messageOf(error), 200);
    redraw();
  });
  const body = (width: number): readonly string[] => {
    if (problem !== "") return [context.style("error", problem)];
    if (shown === "days")
      return sessions === undefined
        ? ["counting..."]
        : dayStatsLines(dayStats(sessions, now, DAYS).toReversed(), context, width);
    return session === undefined ? ["counting..."] : sessionStatsLines(session, context, width);
  };
  return {
    lines(width, rows) {
      const all = body(width);
      const room = Math.max(1, rows - 4);
      offset = Math.max(0, Math.min(offset, all.length - room));
      const title = shown === "session" ? "Statistics of this session" : `Statistics of the last ${DAYS} days`;
      const more =
        all.length > room
          ? `, arrows scroll (${offset + 1}-${Math.min(all.length, offset + room)} of ${all.length})`
          : "";
      return [
        ruleLine(context, title, width),
        ...all.slice(offset, offset + room),
        ...hintLines(context, `${sessionId === undefined ? "" : "tab shows the other, "}esc closes${more}`, width),
      ];
    },
    key({ name }) {
      if (name === "escape" || name === "enter" || name === "q") close();
      else if (name === "tab" && sessionId !== undefined) {
        shown = shown === "session" ? "days" : "session";
        offset = 0;
      } else if (name === "down") offset += 1;
      else if (name === "up") offset -= 1;
      else if (name === "pageDown") offset += 10;
      else if (name === "pageUp") offset -= 10;
    },
  };
}

/** Of all facts that there are now. */
async function statsOf(runtime: Runtime, sessionId: string, signal: AbortSignal): Promise<SessionStats> {
  const session = await runtime.session(sessionId);
  const { head } = await session.state();
  const fold = sessionStats();
  const after = String(Math.max(0, head - TERMINAL_LIMITS.statFacts));
  if (head > 0)
    for await (const { event } of session.events({ after, live: false, signal })) {
      if (isLive(event)) continue;
      fold.add(event);
      if (event.seq >= head) break;
    }
  return fold.stats();
}
