/** `capstan sessions report`: what a session and its sub-agents did, as one inert HTML file or as JSON. */

import { CapstanError, type Engine, type Fact } from "@capstan/core";
import { type Trace, traceHtml, traceOf, type TraceSpan } from "@capstan/plugins/trace-report";
import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { knownSummary, withEngine } from "./stored-sessions.ts";

export type ReportFlags = { readonly output: "html" | "json" };

/** Sub-agents of one report, each below the task that started it. */
const MAX_CHILDREN = 256;

/** Runs nothing and changes nothing. Of a damaged session: what can be read, and the exit code of a failure. */
export function reportCommand(config: Config | undefined, id: string, { output }: ReportFlags): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const { status } = await knownSummary(engine, id);
    const trace = await readTrace(engine, id, status === "quarantined" ? "the session is quarantined" : undefined);
    if (trace === undefined) throw new CapstanError("session-damaged", `Nothing of session ${id} can be read`);
    await addChildren(engine, trace);
    const text = output === "json" ? JSON.stringify(trace) : traceHtml(trace);
    for (const line of text.trimEnd().split("\n")) screen.data(line);
    return trace.damage === undefined ? EXIT.done : EXIT.failed;
  });
}

async function readTrace(engine: Engine, id: string, damaged?: string): Promise<Trace | undefined> {
  const facts: Fact[] = [];
  let damage = damaged;
  try {
    for await (const fact of engine.read(id)) facts.push(fact);
  } catch (error) {
    if (!CapstanError.is(error, "session-damaged")) throw error;
    damage = error.message;
  }
  return facts[0]?.type === "session.created" ? traceOf(facts, damage) : undefined;
}

async function addChildren(engine: Engine, root: Trace): Promise<void> {
  const waiting: TraceSpan[] = [...root.runs];
  let children = 0;
  for (let span = waiting.pop(); span !== undefined; span = waiting.pop()) {
    if (span.kind === "task" && typeof span.input === "string" && children < MAX_CHILDREN) {
      children += 1;
      const child = await readTrace(engine, span.input).catch(missing);
      span.children.push(...(child?.runs ?? []));
    }
    waiting.push(...span.children);
  }
}

function missing(error: unknown): undefined {
  if (!CapstanError.is(error, "session-not-found")) throw error;
}
