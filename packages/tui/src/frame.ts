/** One frame: the conversation, and below it what is planned, what waits, what is asked or typed, and the status. */

import { inertLine } from "./inert.ts";
import { planLines, queueLines, statusLine } from "./status-lines.ts";
import type { Terminal } from "./terminal.ts";
import { fit } from "./view/text-width.ts";

/** Rows from which on a plan is shown beside a panel. */
const TALL = 36;

export function frameLines(terminal: Terminal, width: number, rows: number): readonly string[] {
  const { context, transcript, link, conversation, unfolded, editor } = terminal;
  const above = [...headLines(terminal, width), ...conversation.lines(transcript, { width, unfolded }), ""];
  if (terminal.isLeaving) return above;
  const asked = terminal.panel === undefined ? terminal.asker.panel : undefined;
  const panel = terminal.panel ?? asked;
  const plan = panel === undefined || rows >= TALL ? planLines(transcript.plan, context, width) : [];
  const queue = panel === undefined || rows >= TALL ? queueLines(link?.state?.queue ?? [], context, width) : [];
  const isTyping = panel === undefined || (asked !== undefined && editor.text !== "");
  return [
    ...above,
    ...plan,
    ...queue,
    ...(panel?.lines(width, Math.max(4, rows - 2 - (isTyping ? 3 : 0))) ?? []),
    ...(isTyping ? editor.lines(width, panel === undefined) : []),
    status(terminal, width),
  ];
}

function headLines({ context: { style }, options, link }: Terminal, width: number): readonly string[] {
  const title = link?.state?.title;
  const place = link?.state?.workspace?.root ?? options.folder;
  const where = [
    inertLine(link?.state?.agent ?? options.agent, 40),
    ...(place === undefined ? [] : [inertLine(place, 200)]),
  ];
  return [
    style("heading", fit(title === undefined ? "Capstan" : `Capstan  ${inertLine(title, 120)}`, width)),
    style("dim", fit(where.join("  "), width)),
  ];
}

function status(terminal: Terminal, width: number): string {
  const { context, link, transcript, options } = terminal;
  const run = link?.state?.run;
  const shown = {
    state: link?.state,
    mode: terminal.mode,
    model: terminal.model ?? transcript.model ?? options.model ?? "",
    context: transcript.context,
    runMs: run === undefined ? undefined : Math.max(0, terminal.clock.now() - run.startedAt),
    tick: terminal.tick,
    requests: link?.requests.length ?? 0,
    flash: terminal.flashed,
  };
  return statusLine(shown, context, width);
}
