/** Labels of what a session has seen: a fold that only grows, and the way to those of its parents and sub-agents. */

import { CapstanError, type Definitions, type Fact, type Json } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { forget, recall, remember, type Remembered } from "../remembered.ts";

export const PLUGIN_NAME = "taint";
/** Labels of one session; more are taken for all labels there are. */
const MAX_LABELS = 256;
/** Sub-agents of one session whose labels are looked up; with more, all labels count as seen. */
const MAX_CHILDREN = 512;
/** What cannot be read may hold anything: it matches every policy. */
export const ANY_LABEL = "*";

export type Recorded = {
  /** What stands in the sessions above; written down once, before the first judged call. */
  readonly above?: readonly string[];
  /** A sub-agent whose end has been taken into account, and what it had seen. */
  readonly child?: string;
  readonly labels?: readonly string[];
};
/** `tasks`: sub-agents at work. `ended`: those whose word is here, and whose labels are not taken over yet. */
export type Own = {
  readonly labels: readonly string[];
  readonly tasks: Remembered<string>;
  readonly ended: readonly string[];
  readonly above: boolean;
};
export const START: Own = { labels: [], tasks: [], ended: [], above: false };

export function nextOwn(own: Own, fact: Fact): Own {
  const data = recorded<Recorded>(fact, PLUGIN_NAME);
  if (data !== undefined) {
    const seen = withLabels(own, [...(data.above ?? []), ...(data.labels ?? [])]);
    const ended = data.child === undefined ? seen.ended : seen.ended.filter((id) => id !== data.child);
    return { ...seen, ended, above: own.above || data.above !== undefined };
  }
  if (fact.type === "task.started") {
    const { taskId, childSessionId } = fact;
    if (childSessionId === undefined) return own;
    if (own.tasks.length >= MAX_CHILDREN) return withLabels(own, [ANY_LABEL]);
    return { ...own, tasks: remember(own.tasks, taskId, childSessionId, MAX_CHILDREN) };
  }
  if (fact.type === "task.finished") return withEnded(own, fact.taskId);
  return withLabels(own, labelsOf(fact));
}

/** Labels that a fact brings into the conversation; what a provider's own tools found stands in the model's message. */
function labelsOf(fact: Fact): readonly string[] {
  if (fact.type === "tool.finished") return fact.output.labels ?? [];
  if (fact.type === "context.compacted") return fact.labels ?? [];
  if (fact.type === "data") return labelsInData(fact.data);
  if (fact.type !== "message.added") return [];
  const theirs = fact.message.parts.flatMap((part) =>
    part.type === "tool-call" && part.by === "provider" ? [labelOf(part.name)] : [],
  );
  return [...(fact.message.labels ?? []), ...theirs];
}

/** What another plugin recorded of what it shows the model, as a memory does. */
function labelsInData(data: Json): readonly string[] {
  if (typeof data !== "object" || data === null || !("labels" in data)) return [];
  const { labels } = data;
  return Array.isArray(labels) ? labels.filter((label) => typeof label === "string") : [];
}

/** What the result of a tool in `from` is labelled with. */
export function labelOf(tool: string): string {
  return `from:${tool}`;
}

function withLabels(own: Own, labels: readonly string[]): Own {
  const fresh = labels.filter((label) => !own.labels.includes(label));
  if (fresh.length === 0) return own;
  const all = [...own.labels, ...new Set(fresh)];
  return { ...own, labels: all.length > MAX_LABELS ? [ANY_LABEL] : all };
}

/** A sub-agent says nothing to its parent before its end. */
function withEnded(own: Own, taskId: string): Own {
  const child = recall(own.tasks, taskId);
  if (child === undefined) return own;
  const tasks = forget(own.tasks, taskId);
  if (own.ended.length >= MAX_CHILDREN) return withLabels({ ...own, tasks }, [ANY_LABEL]);
  return { ...own, tasks, ended: [...own.ended, child] };
}

/** All that a session has seen, with what its sub-agents told it and, when `above`, what its parents know. Any label where it cannot be read. */
export async function labelsOfSession(
  runtimes: Iterable<Definitions>,
  sessionId: string,
  { above }: { readonly above: boolean },
): Promise<readonly string[]> {
  const labels = new Set<string>();
  const done = new Set<string>();
  const visit = async (id: string): Promise<void> => {
    if (done.has(id)) return;
    done.add(id);
    const facts = done.size > MAX_CHILDREN ? undefined : await readLog(runtimes, id);
    if (facts === undefined) return void labels.add(ANY_LABEL);
    const { labels: seen, ended } = facts.reduce(nextOwn, START);
    for (const label of seen) labels.add(label);
    for (const child of ended) await visit(child);
    const [created] = facts;
    if (above && created?.type === "session.created" && created.parent !== undefined)
      await visit(created.parent.sessionId);
  };
  await visit(sessionId);
  return [...labels];
}

const TYPES: readonly Fact["type"][] = [
  "session.created",
  "tool.finished",
  "message.added",
  "context.compacted",
  "task.started",
  "task.finished",
  "data",
];

async function readLog(runtimes: Iterable<Definitions>, sessionId: string): Promise<readonly Fact[] | undefined> {
  for (const { engine } of [...runtimes].toReversed()) {
    const facts: Fact[] = [];
    try {
      for await (const fact of engine.read(sessionId, { types: TYPES })) facts.push(fact);
      return facts;
    } catch (error) {
      if (!CapstanError.is(error, "session-not-found", "session-damaged", "closed", "aborted")) throw error;
    }
  }
  return undefined;
}
