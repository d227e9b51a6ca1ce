/** The conversation as the model sees it: a fold of message facts, with the results of calls in the model's order. */

import type { Fact, FactBody, FactOf } from "../words/event.ts";
import type { Message, ToolCallPart, ToolResultPart } from "../words/message.ts";
import { serverOf } from "../words/tool-name.ts";

/** The facts that this fold reads; the others change nothing. */
export const CONVERSATION_FACTS: readonly FactBody["type"][] = ["message.added", "tool.finished", "context.compacted"];

/**
 * Messages keep their identity while they stand, so that providers can cache their encoding. Owned and changed by its
 * holder only; `messages` is the live list.
 */
export type Conversation = {
  readonly messages: readonly Message[];
  /** Of each message the `seq` of the fact that completed it. */
  readonly seqs: readonly number[];
  /** Information-flow labels of everything in it. */
  readonly labels: readonly string[];
  /** Whether calls of tools of MCP servers were ever in it. */
  readonly remote: boolean;
  apply(fact: Fact): void;
};

export function conversation(): Conversation {
  const messages: Message[] = [];
  const seqs: number[] = [];
  const labels = new Set<string>();
  let remote = false;
  let open:
    | { readonly id: string; readonly calls: readonly ToolCallPart[]; readonly results: Map<string, ToolResultPart> }
    | undefined;

  const add = (message: Message, seq: number): void => {
    messages.push(message);
    seqs.push(seq);
    for (const label of message.labels ?? []) labels.add(label);
  };
  const addMessage = (fact: FactOf<"message.added">): void => {
    const { message } = fact;
    add(message, fact.seq);
    const calls = message.role === "assistant" ? message.parts.filter((part) => part.type === "tool-call") : [];
    const ours = calls.filter((call) => call.by !== "provider");
    remote ||= calls.some(({ name }) => serverOf(name) !== undefined);
    open = ours.length > 0 ? { id: message.id, calls: ours, results: new Map() } : open;
  };
  const addResult = (fact: FactOf<"tool.finished">): void => {
    if (open === undefined) return;
    open.results.set(fact.callId, { type: "tool-result", callId: fact.callId, name: fact.name, output: fact.output });
    for (const label of fact.output.labels ?? []) labels.add(label);
    if (open.results.size < open.calls.length) return;
    const parts = open.calls.flatMap((call) => open?.results.get(call.callId) ?? []);
    add(resultsOf(open.id, parts), fact.seq);
    open = undefined;
  };
  const compact = (fact: FactOf<"context.compacted">): void => {
    const kept = seqs.findIndex((seq) => seq > fact.throughSeq);
    const dropped = kept === -1 ? messages.length : kept;
    for (const label of fact.labels ?? []) labels.add(label);
    messages.splice(0, dropped, summaryOf(fact));
    seqs.splice(0, dropped, fact.throughSeq);
  };
  return {
    messages,
    seqs,
    get labels() {
      return [...labels];
    },
    get remote() {
      return remote;
    },
    apply(fact) {
      if (fact.type === "message.added") addMessage(fact);
      else if (fact.type === "tool.finished") addResult(fact);
      else if (fact.type === "context.compacted") compact(fact);
    },
  };
}

function resultsOf(answer: string, parts: readonly ToolResultPart[]): Message {
  const inherited = [...new Set(parts.flatMap((part) => part.output.labels ?? []))];
  return { id: `${answer}/results`, role: "user", parts, ...(inherited.length > 0 && { labels: inherited }) };
}

function summaryOf({ seq, summary: parts, labels }: FactOf<"context.compacted">): Message {
  return { id: `compaction/${seq}`, role: "user", parts, ...(labels !== undefined && { labels }) };
}
