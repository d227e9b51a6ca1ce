/** How a run is shown: as text for people, as one JSON object at its end, or as one envelope a line. */

import { type Envelope, type Fact, INTERRUPT_MARKER, isLive, type Live, type Message } from "@capstan/core";
import { type OpenRequest, type RunResult, textOf } from "@capstan/core";
import { inertLine } from "./inert.ts";
import type { Refusal } from "./refusals.ts";
import type { Screen } from "./screen.ts";
import { toolLines } from "./tool-lines.ts";

export type RunEnd = {
  readonly sessionId: string;
  readonly runId: string;
  /** Of a waiting run: what it had said by then. */
  readonly result: RunResult<unknown>;
  readonly requests: readonly OpenRequest[];
  /** Calls that were denied because nobody could be asked. */
  readonly refusals: readonly Refusal[];
  readonly exitCode: number;
};
export interface RunView {
  show(envelope: Envelope): void;
  end(end: RunEnd): void;
}
export const OUTPUTS = ["text", "json", "stream-json"] as const;
export type Output = (typeof OUTPUTS)[number];

export type ViewOptions = {
  /** As text, facts up to this one are known already. */
  readonly after?: number;
  /** Also say what programs run in, and notices that need nothing done, whatever the output is. */
  readonly verbose?: boolean;
};

export function runView(output: Output, screen: Screen, { after = 0, verbose = false }: ViewOptions = {}): RunView {
  const view = outputView(output, screen, after);
  return verbose ? withDetails(view, screen) : view;
}

function outputView(output: Output, screen: Screen, after: number): RunView {
  switch (output) {
    case "text":
      return textView(screen, after);
    case "json":
      return jsonView(screen);
    case "stream-json":
      return { show: (envelope) => screen.data(JSON.stringify(envelope)), end: () => undefined };
    default:
      return output satisfies never;
  }
}

function withDetails(view: RunView, screen: Screen): RunView {
  let said = "";
  return {
    show(envelope) {
      const { event } = envelope;
      if (event.type === "tool.started" && event.confinement !== said) {
        said = event.confinement;
        screen.note(`  · Programs run in: ${inertLine(said)}`, "dim");
      }
      if (event.type === "notice" && event.severity === "info")
        screen.note(
          `  · ${inertLine([event.title, event.detail ?? ""].filter((said) => said !== "").join(": "))}`,
          "dim",
        );
      view.show(envelope);
    },
    end: (end) => view.end(end),
  };
}

function jsonView(screen: Screen): RunView {
  let confinement: string | undefined;
  return {
    show({ event }) {
      if (event.type === "tool.started") ({ confinement } = event);
    },
    end: (end) => screen.data(JSON.stringify(resultObject(end, confinement))),
  };
}

/** The object of `--output json`. `confinement`: what programs ran in, if any tool was called. */
function resultObject(end: RunEnd, confinement: string | undefined): object {
  const { sessionId, runId, result, requests, refusals, exitCode } = end;
  const { status, reason, text, output, usage, turns, error } = result;
  return {
    sessionId,
    runId,
    status,
    ...(reason !== undefined && { reason }),
    exitCode,
    text,
    ...(output !== undefined && output !== text && { output }),
    turns,
    usage,
    ...(confinement !== undefined && { confinement }),
    ...(error !== undefined && { error }),
    ...(requests.length > 0 && { requests }),
    ...(refusals.length > 0 && { refusals }),
  };
}

/** The text of a message without the mark that an interrupt left for the model. */
export function saidBy({ parts }: Message): string {
  return textOf(parts.filter((part) => part.type !== "text" || part.text !== INTERRUPT_MARKER));
}

const ANSWERING: ReadonlySet<Live["type"]> = new Set([
  "block.started",
  "text.delta",
  "reasoning.delta",
  "tool-input.delta",
  "block.finished",
]);

/** What happened, and when the model is asked again. `begun`: a part of the answer had come. */
function againLine({ error, delayMs, attempt }: Extract<Live, { type: "turn.reset" }>, begun: boolean): string {
  const what = `${begun ? "the answer broke off: " : ""}${inertLine(error.message, 160).replace(/(?<!\.)\.$/, "")}`;
  const wait = delayMs > 0 ? `in ${Math.max(0.1, Math.round(delayMs / 100) / 10)} s` : "now";
  return `${what} (${inertLine(error.code, 40)}); trying again ${wait} (attempt ${attempt})`;
}

/** On a terminal text comes as it is written; into a pipe only what is committed, so that nothing comes twice. */
function textView(screen: Screen, after: number): RunView {
  const tools = toolLines(screen);
  let shown = "";
  let begun = false; // something of the answer came, not only text
  const commit = (text: string): void => {
    const rest = text.startsWith(shown) ? text.slice(shown.length) : text;
    screen.answer(rest);
    screen.endAnswer();
    shown = "";
  };
  const showLive = (event: Live): void => {
    if (ANSWERING.has(event.type)) begun = true;
    if (event.type === "text.delta" && screen.live) {
      shown += event.delta;
      screen.answer(event.delta);
    } else if (event.type === "turn.reset") {
      if (shown !== "") screen.endAnswer();
      shown = "";
      screen.note(`  … ${againLine(event, begun)}`, "yellow");
      begun = false;
    } else if (event.type === "notice" && event.severity !== "info") {
      screen.note(`  ! ${inertLine(event.title)}`, event.severity === "error" ? "red" : "yellow");
    }
  };
  const showFact = (fact: Fact): void => {
    const past = fact.seq <= after;
    if (fact.type === "turn.started" || fact.type === "turn.finished") begun = false;
    if (fact.type === "tool.started") tools.started(fact, { past });
    else if (past) return;
    else if (fact.type === "message.added" && fact.message.role === "assistant") commit(saidBy(fact.message));
    else if (fact.type === "tool.finished") tools.finished(fact);
  };
  return {
    show: ({ event }) => (isLive(event) ? showLive(event) : showFact(event)),
    end() {
      tools.close();
      screen.endAnswer();
    },
  };
}
