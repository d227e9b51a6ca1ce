/** Facts and live events as rows of the inspector: what each says in a line, and what it came of. */

import type { Event, Fact, Live, Message } from "@capstan/core";
import { count, duration, inputLine, pretty, saidText } from "../format.ts";
import { tokensOf } from "./overview.ts";

export type LogRow = { readonly cursor: string; readonly event: Event; readonly live: boolean };

/** In the order they happened. */
export function logRows(facts: readonly Fact[], live: readonly Live[]): readonly LogRow[] {
  const rows: LogRow[] = [];
  let next = 0;
  const first = facts[0]?.seq ?? 0;
  for (const event of facts) {
    for (; (live[next]?.seq ?? Infinity) < event.seq; next++) {
      const one = live[next];
      if (one !== undefined && one.seq >= first - 1) rows.push(liveRow(one));
    }
    rows.push({ cursor: String(event.seq), event, live: false });
  }
  for (const one of live.slice(next)) rows.push(liveRow(one));
  return rows;
}

function liveRow(event: Live): LogRow {
  return { cursor: `${event.seq}.${event.eph}`, event, live: true };
}

export function lineOf(event: Event): string {
  switch (event.type) {
    case "session.created":
      return `${event.agent} · ${event.mode}`;
    case "input.accepted":
      return saidText(event.parts);
    case "message.added":
      return messageLine(event.message);
    case "turn.started":
      return `turn ${event.turn}${event.attempt > 1 ? `, try ${event.attempt}` : ""} · ${event.model}`;
    case "turn.finished":
      return `turn ${event.turn} · ${event.reason} · ${count(tokensOf(event.usage))} tokens`;
    case "tool.started":
      return `${event.name} ${inputLine(event.input)}`;
    case "tool.finished":
      return `${event.name} · ${event.status} · ${duration(event.durationMs)}`;
    case "request.opened":
      return event.request.type === "permission" ? `permission · ${event.request.title}` : event.request.type;
    case "request.resolved":
      return `${event.answer.type} · by ${event.by.id}`;
    case "run.started":
      return `by ${event.trigger}`;
    case "run.finished":
      return `${event.reason} · ${event.turns} turns`;
    case "task.started":
      return `${event.kind} · ${event.title}`;
    case "task.finished":
      return `${event.status} · ${event.summary}`;
    case "text.delta":
    case "reasoning.delta":
    case "tool-input.delta":
      return JSON.stringify(event.delta);
    case "tool.progress":
      return event.chunk ?? event.message ?? "";
    case "notice":
      return `${event.code} · ${event.title}`;
    default:
      return restLine(event);
  }
}

function messageLine({ role, parts }: Message): string {
  const kinds = parts
    .filter(({ type }) => type !== "text")
    .map((part) => ("name" in part ? `${part.type} ${part.name}` : part.type));
  return [role, saidText(parts), ...kinds].filter((one) => one !== "").join(" · ");
}

const ALWAYS = new Set(["type", "seq", "at", "key", "eph", "runId"]);

function restLine(event: Event): string {
  const rest = Object.entries(event).filter(([name]) => !ALWAYS.has(name));
  return rest
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ");
}

/** Whether a row has the words in its type, its line or anywhere in it. */
export function hasWords({ event, cursor }: LogRow, words: string): boolean {
  if (words === "") return true;
  return cursor === words || event.type.includes(words) || pretty(event).toLowerCase().includes(words);
}

/** The fact that this one came of. */
export function causeOf(event: Event, facts: readonly Fact[]): Fact | undefined {
  const earlier = facts.slice(0, lowerBound(facts, event.seq + ("eph" in event ? 1 : 0)));
  const last = (fits: (fact: Fact) => boolean): Fact | undefined => earlier.findLast(fits);
  const runStart = (): Fact | undefined => last((fact) => fact.type === "run.started" && fact.runId === event.runId);
  switch (event.type) {
    case "tool.finished":
    case "tool.progress":
      return (
        last((fact) => fact.type === "tool.started" && fact.callId === event.callId) ?? callOf(event.callId, earlier)
      );
    case "tool.started":
      return callOf(event.callId, earlier);
    case "request.opened":
      return "callId" in event.request && event.request.callId !== undefined
        ? callOf(event.request.callId, earlier)
        : runStart();
    case "request.resolved":
      return last((fact) => fact.type === "request.opened" && fact.requestId === event.requestId);
    case "task.finished":
      return last((fact) => fact.type === "task.started" && fact.taskId === event.taskId);
    case "task.started":
      return event.callId === undefined ? runStart() : callOf(event.callId, earlier);
    case "run.started":
      return last((fact) => fact.type === "input.accepted" && fact.inputId === event.inputId);
    case "message.added":
      if (event.inputId !== undefined)
        return last((fact) => fact.type === "input.accepted" && fact.inputId === event.inputId);
      return last((fact) => fact.type === "turn.started" && fact.runId === event.runId) ?? runStart();
    case "turn.finished":
    case "turn.reset":
      return last((fact) => fact.type === "turn.started" && fact.runId === event.runId && fact.turn === event.turn);
    case "input.withdrawn":
      return last((fact) => fact.type === "input.accepted" && fact.inputId === event.inputId);
    case "session.created":
    case "input.accepted":
    case "session.updated":
      return undefined;
    default:
      return "eph" in event ? last((fact) => fact.type === "turn.started") : runStart();
  }
}

function callOf(callId: string, facts: readonly Fact[]): Fact | undefined {
  return facts.findLast(
    (fact) =>
      fact.type === "message.added" &&
      fact.message.parts.some((part) => part.type === "tool-call" && part.callId === callId),
  );
}

/** Facts are in the order of their `seq`. */
function lowerBound(facts: readonly Fact[], seq: number): number {
  let [low, high] = [0, facts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((facts[middle]?.seq ?? Infinity) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
