/** The conversation as a fold of facts: items in buckets of their `seq`, so that what is above or below never moves one. */

import type { Fact, FactOf, Json, RequestBody } from "@capstan/core";
import type { CallItem, Item } from "./item.ts";

/** Facts whose items are drawn, measured and hidden together. */
const BUCKET = 48;

export type Bucket = { readonly id: number; readonly items: readonly Item[] };

export class Transcript {
  readonly #buckets = new Map<number, Item[]>();
  /** Copies handed out; one that changed since is missing. */
  readonly #shown = new Map<number, Bucket>();
  readonly #calls = new Map<string, { readonly bucket: number; readonly index: number }>();
  readonly #requests = new Map<string, RequestBody>();
  readonly #runs = new Map<string, number>();
  readonly #steers = new Set<string>();

  /** Facts come in the order of their `seq`; those before the first one may be missing. */
  apply(fact: Fact): void {
    switch (fact.type) {
      case "input.accepted":
        if (fact.ifBusy === "steer") this.#steers.add(fact.inputId);
        return;
      case "run.started":
        this.#runs.set(fact.runId ?? "", fact.at);
        return;
      case "message.added":
        return this.#message(fact);
      case "tool.started":
        return this.#started(fact);
      case "tool.finished":
        return this.#finished(fact);
      case "request.opened":
        return this.#asked(fact);
      case "request.resolved":
        return this.#answered(fact);
      case "task.started":
        if (fact.callId !== undefined && fact.childSessionId !== undefined)
          this.#change(fact.callId, { childSessionId: fact.childSessionId });
        return;
      case "run.finished":
        return this.#ended(fact);
      default:
        return this.#noted(fact);
    }
  }

  /** Oldest first. A bucket is the same object for as long as nothing in it changes. */
  buckets(): readonly Bucket[] {
    return Array.from(this.#buckets.keys(), (id) => {
      const shown = this.#shown.get(id) ?? { id, items: [...(this.#buckets.get(id) ?? [])] };
      this.#shown.set(id, shown);
      return shown;
    });
  }

  hasCall(callId: string): boolean {
    return this.#calls.has(callId);
  }

  /** More of what a running tool says. */
  progress(callId: string, change: (before: string) => string): void {
    const item = this.#call(callId);
    if (item?.status === "running") this.#change(callId, { progress: change(item.progress) });
  }

  #push(item: Item): void {
    const id = Math.floor(item.seq / BUCKET);
    const items = this.#buckets.get(id) ?? [];
    this.#buckets.set(id, items);
    if (item.kind === "call") this.#calls.set(item.callId, { bucket: id, index: items.length });
    items.push(item);
    this.#shown.delete(id);
  }

  #call(callId: string): CallItem | undefined {
    const place = this.#calls.get(callId);
    const item = place === undefined ? undefined : this.#buckets.get(place.bucket)?.[place.index];
    return item?.kind === "call" ? item : undefined;
  }

  #change(callId: string, change: Partial<CallItem>): void {
    const place = this.#calls.get(callId);
    const item = this.#call(callId);
    if (place === undefined || item === undefined) return;
    const items = this.#buckets.get(place.bucket);
    if (items !== undefined) items[place.index] = { ...item, ...change };
    this.#shown.delete(place.bucket);
  }

  #message({ message, seq, at, inputId }: FactOf<"message.added">): void {
    if (message.role === "user") {
      const steer = inputId !== undefined && this.#steers.has(inputId);
      if (message.parts.some(({ type }) => type !== "tool-result"))
        this.#push({ kind: "user", id: message.id, seq, at, parts: message.parts, steer });
      return;
    }
    message.parts.forEach((part, index) => {
      const place = { id: `${message.id}/${index}`, seq, at };
      if (part.type === "text" || part.type === "reasoning") {
        if (part.text !== "") this.#push({ kind: part.type, ...place, text: part.text, live: false });
      } else if (part.type === "tool-call") {
        const { callId, name, input } = part;
        this.#push({ ...newCall(callId, name, input), ...place });
      } else if (part.type === "source") {
        const title = `Source: ${part.title ?? part.url ?? part.id}`;
        this.#push({
          kind: "note",
          tone: "info",
          ...place,
          title,
          ...(part.url !== undefined && { detail: part.url }),
        });
      } else if (part.type === "tool-result") {
        this.#change(part.callId, { output: part.output, status: part.output.isError === true ? "error" : "ok" });
      }
    });
  }

  #started({ callId, name, title, kind, input, confinement, seq, at }: FactOf<"tool.started">): void {
    const place = { id: callId, seq, at };
    if (!this.#calls.has(callId)) this.#push({ ...newCall(callId, name, input), ...place });
    const change = { title, toolKind: kind, input, status: "running", confinement } as const;
    this.#change(callId, change);
  }

  #finished({ callId, name, status, output, durationMs, by, seq, at }: FactOf<"tool.finished">): void {
    if (!this.#calls.has(callId)) this.#push({ ...newCall(callId, name, null), id: callId, seq, at });
    this.#change(callId, { status, output, durationMs, progress: "", ...(by !== undefined && { by }) });
  }

  #asked({ requestId, request }: FactOf<"request.opened">): void {
    this.#requests.set(requestId, request);
    if ("callId" in request && request.callId !== undefined) this.#change(request.callId, { status: "asking" });
  }

  #answered({ requestId, answer, by, seq, at }: FactOf<"request.resolved">): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    this.#requests.delete(requestId);
    if ("callId" in request && request.callId !== undefined && this.#call(request.callId)?.status === "asking")
      this.#change(request.callId, { status: "proposed" });
    this.#push({ kind: "answered", id: requestId, seq, at, request, answer, by: by.id });
  }

  #ended({ runId = "", reason, usage, treeUsage, turns, error, seq, at }: FactOf<"run.finished">): void {
    const startedAt = this.#runs.get(runId);
    this.#push({
      kind: "end",
      id: `end/${seq}`,
      seq,
      at,
      reason,
      usage: treeUsage ?? usage,
      turns,
      ...(startedAt !== undefined && { ms: at - startedAt }),
      ...(error !== undefined && { error }),
    });
  }

  #noted(fact: Fact): void {
    const { seq, at } = fact;
    if (fact.type === "plan.updated") {
      this.#push({ kind: "plan", id: `plan/${seq}`, seq, at, entries: fact.entries });
      return;
    }
    const note = noteOf(fact);
    if (note !== undefined) this.#push({ kind: "note", id: `note/${seq}`, seq, at, ...note });
  }
}

type Note = { readonly tone: "info" | "warning" | "error"; readonly title: string; readonly detail?: string };

function noteOf(fact: Fact): Note | undefined {
  if (fact.type === "context.compacted") {
    const detail = fact.summary.map((part) => (part.type === "text" ? part.text : "")).join("");
    const size = `${fact.tokensBefore.toLocaleString("en")} → ${fact.tokensAfter.toLocaleString("en")} tokens`;
    return { tone: "info", title: `Context compacted: ${size}`, detail };
  }
  if (fact.type === "session.updated") {
    const { mode, model } = fact;
    const said = [mode === undefined ? [] : `Mode is now ${mode}`, model === undefined ? [] : `Model is now ${model}`];
    return said.flat().length === 0 ? undefined : { tone: "info", title: said.flat().join("; ") };
  }
  if (fact.type === "turn.finished" && fact.error !== undefined)
    return { tone: "error", title: "The model call failed", detail: `${fact.error.code}: ${fact.error.message}` };
  if (fact.type === "run.resumed" && fact.by === "recovery")
    return { tone: "info", title: "Taken up again after a stop" };
  if (fact.type === "session.created" && fact.forkedFrom !== undefined)
    return { tone: "info", title: `Forked from ${fact.forkedFrom.sessionId} at fact ${fact.forkedFrom.seq}` };
  return undefined;
}

export function newCall(callId: string, name: string, input: Json): CallItem {
  const place = { id: callId, seq: 0, at: 0 };
  return {
    kind: "call",
    ...place,
    callId,
    name,
    title: name,
    toolKind: "other",
    status: "proposed",
    input,
    progress: "",
  };
}
