/** A run as stable, readable text: what was said, called and decided, without ids and times. */

import { type Fact, type FactOf, isLive } from "../words/event.ts";
import { type Message, type Part, textOf, type ToolOutput } from "../words/message.ts";
import type { Run } from "../session/session.ts";

/** One line for each thing that happened, up to the end of the run. Waits for that end. */
export async function transcript(run: Run<unknown>): Promise<string> {
  const facts: Fact[] = [];
  for await (const { event } of run.events()) if (!isLive(event)) facts.push(event);
  return transcriptOf(facts);
}

/** Results stand in the order of their calls, whichever came first. */
export function transcriptOf(facts: readonly Fact[]): string {
  const written: string[] = [];
  let results: FactOf<"tool.finished">[] = [];
  const flush = (): void => {
    written.push(...results.toSorted((left, right) => indexOf(left.callId) - indexOf(right.callId)).flatMap(lines));
    results = [];
  };
  for (const fact of facts) {
    if (fact.type === "tool.finished") results.push(fact);
    else {
      if (fact.type === "message.added" || fact.type === "run.finished") flush();
      written.push(...lines(fact));
    }
  }
  flush();
  return `${written.join("\n")}\n`;
}

function indexOf(callId: string): number {
  return Number(callId.split("/").at(-1));
}

function lines(fact: Fact): readonly string[] {
  switch (fact.type) {
    case "message.added":
      return said(fact.message);
    case "tool.finished":
      return [`${fact.name} ${fact.status}: ${shown(fact.output)}`];
    case "request.opened":
      return [`asks (${fact.request.type}): ${"title" in fact.request ? fact.request.title : ""}`.trimEnd()];
    case "request.resolved":
      return [`answered: ${JSON.stringify(fact.answer)}`];
    case "turn.finished":
      return fact.reason === "stop" || fact.reason === "tool-calls" ? [] : [`turn ended: ${fact.reason}`];
    case "context.compacted":
      return [`compacted (${fact.trigger}): ${textOf(fact.summary)}`];
    case "run.finished":
      return [`end: ${fact.reason} after ${fact.turns} ${fact.turns === 1 ? "turn" : "turns"}`];
    default:
      return [];
  }
}

function said({ role, parts }: Message): readonly string[] {
  return parts.map((part) => `${role}: ${describe(part)}`);
}

function describe(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return `(thinks) ${part.text}`;
    case "tool-call":
      return `calls ${part.name} ${JSON.stringify(part.input)}`;
    case "file":
      return `[${part.mediaType}${part.name === undefined ? "" : ` ${part.name}`}]`;
    case "tool-result":
    case "source":
    case "opaque":
      return `[${part.type}]`;
    default:
      return part satisfies never;
  }
}

function shown({ content }: ToolOutput): string {
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
