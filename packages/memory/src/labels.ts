/** Information-flow labels of what is remembered: those of the session that says it, and of all that told that session. */

import { CapstanError, type Definitions, type Fact } from "@capstan/core";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

/** Stands for labels that are too many, or of what cannot be read: policies take it for any label. */
const ANY_LABEL = "*";
/** Sessions above and below one that are looked at. */
const MAX_SESSIONS = 512;

export function joinedLabels(...lists: readonly (readonly string[])[]): readonly string[] {
  const labels = [...new Set(lists.flat())];
  const isLong = labels.some((label) => label.length > LIMITS.nameCharacters);
  return labels.length > LIMITS.labels || isLong ? [ANY_LABEL] : labels;
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

/** Of all that the session has seen so far: its own, its parents' and that of its sub-agents that have ended. */
export async function labelsOfSession(runtimes: Iterable<Definitions>, sessionId: string): Promise<readonly string[]> {
  const labels = new Set<string>();
  const done = new Set<string>();
  const waiting = [sessionId];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (done.has(id)) continue;
    done.add(id);
    const seen = done.size > MAX_SESSIONS ? undefined : await seenBy(runtimes, id);
    if (seen === undefined) return [ANY_LABEL];
    for (const label of seen.labels) labels.add(label);
    waiting.push(...seen.children, ...seen.parents);
  }
  return joinedLabels([...labels]);
}

type Seen = {
  readonly labels: readonly string[];
  readonly children: readonly string[];
  readonly parents: readonly string[];
};

async function seenBy(runtimes: Iterable<Definitions>, sessionId: string): Promise<Seen | undefined> {
  for (const { engine } of [...runtimes].toReversed()) {
    const labels = new Set<string>();
    const started = new Map<string, string>();
    const children: string[] = [];
    const parents: string[] = [];
    try {
      for await (const fact of engine.read(sessionId, { types: TYPES })) {
        for (const label of labelsOf(fact)) labels.add(label);
        if (fact.type === "session.created" && fact.parent !== undefined) parents.push(fact.parent.sessionId);
        if (fact.type === "task.started" && fact.childSessionId !== undefined)
          started.set(fact.taskId, fact.childSessionId);
        if (fact.type === "task.finished") children.push(...[started.get(fact.taskId) ?? []].flat());
      }
      return { labels: [...labels], children, parents };
    } catch (error) {
      if (!CapstanError.is(error, "session-not-found", "session-damaged", "closed", "aborted")) throw error;
    }
  }
  return undefined;
}

/** What a fact brings into the conversation; of `data`, what plugins say of what they told the model. */
function labelsOf(fact: Fact): readonly string[] {
  if (fact.type === "tool.finished") return fact.output.labels ?? [];
  if (fact.type === "context.compacted") return fact.labels ?? [];
  if (fact.type === "message.added") return fact.message.labels ?? [];
  if (fact.type !== "data" || typeof fact.data !== "object" || fact.data === null || !("labels" in fact.data))
    return [];
  const { labels } = fact.data;
  return Array.isArray(labels) ? labels.filter((label): label is string => typeof label === "string") : [];
}
