/** A session as lines for people: what was said, what was done, and what came of it. Everything of others is inert. */

import { type Fact, type FactOf, type Message, type SessionSummary, textOf } from "@capstan/core";
import { inert, inertLine } from "./inert.ts";
import { saidBy } from "./run-view.ts";
import { shownCost, shownTime } from "./shown-values.ts";
import { diffLines, outcomeOf } from "./tool-lines.ts";

/** Lines of one tool's output that are shown. */
const MAX_OUTPUT_LINES = 10;

export interface TranscriptLines {
  head(): readonly string[];
  lines(fact: Fact): readonly string[];
}

export function transcriptLines(summary: SessionSummary): TranscriptLines {
  const started = new Map<string, FactOf<"tool.started">>();
  return {
    head: () => headLines(summary),
    lines(fact) {
      switch (fact.type) {
        case "session.created":
          return fact.workspace === undefined ? [] : [`folder   ${inertLine(fact.workspace.root)}`];
        case "message.added":
          return messageLines(fact.message);
        case "tool.started":
          started.set(fact.callId, fact);
          return [];
        case "tool.finished":
          return toolLines(fact, started.get(fact.callId));
        case "request.opened":
          return ["", `  ? asked: ${inertLine("title" in fact.request ? fact.request.title : fact.request.type)}`];
        case "request.resolved":
          return [`    answered by ${inertLine(fact.by.id)}: ${answerText(fact)}`];
        case "run.resumed":
          return ["", `  (gone on with after: ${fact.by})`];
        case "run.finished":
          return endLines(fact);
        default:
          return [];
      }
    },
  };
}

function headLines({ sessionId, agent, key, title, status, createdAt, usage }: SessionSummary): readonly string[] {
  return [
    `session  ${sessionId}`,
    `agent    ${inertLine(agent)}`,
    ...(key === undefined ? [] : [`key      ${inertLine(key)}`]),
    ...(title === undefined ? [] : [`about    ${inertLine(title)}`]),
    `status   ${status}`,
    `begun    ${shownTime(createdAt)}`,
    `tokens   ${usage.inputTokens} in, ${usage.outputTokens} out${shownCost(usage)}`,
  ];
}

function messageLines(message: Message): readonly string[] {
  const { role } = message;
  const said = inert(saidBy(message)).trim();
  if (said === "") return [];
  const who = role === "user" ? "you" : role;
  return ["", who, ...said.split("\n").map((line) => `  ${line}`.trimEnd())];
}

function toolLines(fact: FactOf<"tool.finished">, intent: FactOf<"tool.started"> | undefined): readonly string[] {
  const { name, status, output, durationMs } = fact;
  const title = inertLine(intent?.title ?? name, 160);
  const how = status === "ok" ? "ok" : outcomeOf(status, output, intent?.kind === "execute");
  const text = inert(textOf(output.content)).trimEnd().split("\n");
  const shown = text.slice(0, MAX_OUTPUT_LINES);
  const more = text.length - shown.length;
  return [
    "",
    `  ${status === "ok" ? "✓" : "✗"} ${title}  [${name}, ${how}, ${durationMs} ms]`,
    ...(intent?.kind === "edit"
      ? diffLines(output).map(({ line }) => `      ${line}`)
      : shown.map((line) => `      ${line}`.trimEnd())),
    ...(more > 0 && intent?.kind !== "edit" ? [`      (${more} more lines; the export has them)`] : []),
  ];
}

function answerText({ answer }: FactOf<"request.resolved">): string {
  if (!("allow" in answer)) return answer.type;
  const reason = answer.reason === undefined ? "" : `, ${inertLine(answer.reason)}`;
  return `${answer.allow ? "yes" : "no"}${answer.remember === undefined ? "" : `, always (${answer.remember})`}${reason}`;
}

function endLines({ reason, turns, error }: FactOf<"run.finished">): readonly string[] {
  const why = error === undefined ? "" : `: ${inertLine(error.message)} (${error.code})`;
  return ["", `  ended with ${reason} after ${turns} turn${turns === 1 ? "" : "s"}${why}`];
}
