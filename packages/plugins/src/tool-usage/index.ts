/** How tools are used: calls, ends, times, questions and sizes by agent and tool, of any number of sessions. Pure. */

import type { Fact, FactOf, ToolStatus } from "@capstan/core";

export type ToolUse = {
  readonly agent: string;
  readonly tool: string;
  readonly calls: number;
  readonly ends: { readonly [Status in ToolStatus]?: number };
  /** Calls that a person was asked about, and of those the ones they allowed. */
  readonly asked: number;
  readonly allowed: number;
  /** Calls with the input of an earlier one of the same session. */
  readonly repeated: number;
  /** Calls that a plugin answered or refused. */
  readonly decidedByPlugins: number;
  /** Of calls that ran, in milliseconds. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** UTF-16 units of what the model was given. */
  readonly outputCharacters: number;
};
export interface ToolUsage {
  /** The facts of one session, in their order, one after the other. */
  add(fact: Fact): void;
  /** Most calls first. */
  report(): readonly ToolUse[];
}

/** Durations that are kept of one tool, and inputs of one session: beyond it times are of a sample. */
const SAMPLE = 10_000;

type Counts = {
  calls: number;
  readonly ends: { [Status in ToolStatus]?: number };
  asked: number;
  allowed: number;
  repeated: number;
  decided: number;
  readonly durations: number[];
  characters: number;
};

export function toolUsage(): ToolUsage {
  const counts = new Map<string, Counts>();
  let agent = "";
  let inputs = new Set<string>();
  let names = new Map<string, string>();
  let requests = new Map<string, string>();
  const of = (tool: string): Counts => {
    const key = JSON.stringify([agent, tool]);
    const known = counts.get(key);
    if (known !== undefined) return known;
    const begun: Counts = {
      calls: 0,
      ends: {},
      asked: 0,
      allowed: 0,
      repeated: 0,
      decided: 0,
      durations: [],
      characters: 0,
    };
    counts.set(key, begun);
    return begun;
  };
  const see = (fact: FactOf<"message.added">): void => {
    for (const part of fact.message.parts) {
      if (part.type !== "tool-call" || part.by === "provider") continue;
      const use = of(part.name);
      use.calls += 1;
      const input = `${part.name} ${JSON.stringify(part.input)}`;
      if (inputs.has(input)) use.repeated += 1;
      else if (inputs.size < SAMPLE) inputs.add(input);
      names.set(part.callId, part.name);
    }
  };
  return {
    add(fact) {
      if (fact.type === "session.created") {
        agent = fact.agent;
        inputs = new Set();
        names = new Map();
        requests = new Map();
      } else if (fact.type === "message.added" && fact.message.role === "assistant") see(fact);
      else if (fact.type === "request.opened" && fact.request.type === "permission") {
        requests.set(fact.requestId, fact.request.tool);
        of(fact.request.tool).asked += 1;
      } else if (fact.type === "request.resolved") {
        const tool = requests.get(fact.requestId);
        if (tool !== undefined && "allow" in fact.answer && fact.answer.allow) of(tool).allowed += 1;
      } else if (fact.type === "tool.finished") {
        const use = of(names.get(fact.callId) ?? fact.name);
        finish(use, fact);
        if (fact.handoff !== undefined) agent = fact.handoff;
      }
    },
    report: () => [...counts].map(([key, use]) => toUse(key, use)).toSorted((left, right) => right.calls - left.calls),
  };
}

function finish(use: Counts, { status, durationMs, by, output }: FactOf<"tool.finished">): void {
  use.ends[status] = (use.ends[status] ?? 0) + 1;
  if (by !== undefined) use.decided += 1;
  else if (status !== "denied") {
    if (use.durations.length < SAMPLE) use.durations.push(durationMs);
    else use.durations[use.calls % SAMPLE] = durationMs;
  }
  for (const part of output.content) if (part.type === "text") use.characters += part.text.length;
}

function toUse(key: string, use: Counts): ToolUse {
  const [agent = "", tool = ""] = JSON.parse(key) as readonly string[]; // written above
  const durations = use.durations.toSorted((left, right) => left - right);
  const at = (share: number): number => durations[Math.ceil(share * durations.length) - 1] ?? 0;
  return {
    agent,
    tool,
    calls: use.calls,
    ends: use.ends,
    asked: use.asked,
    allowed: use.allowed,
    repeated: use.repeated,
    decidedByPlugins: use.decided,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    maxMs: durations.at(-1) ?? 0,
    outputCharacters: use.characters,
  };
}
