/** A session as a tree of what took time: runs, model calls, tools and requests to people. Pure. */

import { addUsage, type Fact, type FactOf, type Json, NO_USAGE, type Part, textOf, type Usage } from "@capstan/core";

/** Characters of one text in a trace. */
const MAX_TEXT = 20_000;

export type TraceSpan = {
  readonly kind: "run" | "model" | "tool" | "request" | "task";
  readonly name: string;
  readonly startedAt: number;
  /** Missing while it goes on. */
  endedAt?: number;
  status: "ok" | "error" | "open";
  /** What it ended with, or waits for. */
  detail?: string;
  readonly input?: Json;
  output?: Json;
  usage?: Usage;
  readonly children: TraceSpan[];
};
export type Trace = {
  readonly version: 1;
  readonly sessionId: string;
  readonly agent: string;
  readonly title?: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly usage: Usage;
  readonly facts: number;
  /** Fact that could not be read, and why, where the log is damaged. */
  readonly damage?: string;
  readonly runs: readonly TraceSpan[];
};

/** Of the facts of one session, in their order. Throws for none. */
export function traceOf(facts: readonly Fact[], damage?: string): Trace {
  const [first] = facts;
  if (first?.type !== "session.created") throw new Error("a session begins with session.created");
  const builder = new TraceBuilder();
  for (const fact of facts) builder.apply(fact);
  return {
    version: 1,
    sessionId: first.sessionId,
    agent: first.agent,
    ...(builder.title !== undefined && { title: builder.title }),
    startedAt: first.at,
    endedAt: facts.at(-1)?.at ?? first.at,
    usage: builder.usage,
    facts: facts.length,
    ...(damage !== undefined && { damage }),
    runs: builder.runs,
  };
}

class TraceBuilder {
  readonly runs: TraceSpan[] = [];
  title: string | undefined;
  usage: Usage = NO_USAGE;
  /** Open ones by what their end names. */
  readonly #open = new Map<string, TraceSpan>();
  readonly #inputs = new Map<string, Json>();

  apply(fact: Fact): void {
    switch (fact.type) {
      case "session.created":
      case "session.updated":
        this.title = fact.title ?? this.title;
        return;
      case "input.accepted":
        this.#inputs.set(fact.inputId, shortText(said(fact.parts)));
        return;
      case "run.started":
        this.#begin(`run ${fact.runId}`, this.runs, {
          kind: "run",
          name: "run",
          startedAt: fact.at,
          input: this.#inputs.get(fact.inputId) ?? "",
        });
        return;
      case "turn.started": {
        const before = this.#open.get("turn");
        if (before !== undefined) this.#end("turn", { at: fact.at, status: "error", detail: "asked again" });
        this.#begin("turn", this.#below(fact), { kind: "model", name: fact.model, startedAt: fact.at });
        return;
      }
      case "message.added":
        this.#say(fact);
        return;
      case "turn.finished":
        this.#endTurn(fact);
        return;
      case "tool.started":
        if (!this.#open.has(`call ${fact.callId}`))
          this.#begin(`call ${fact.callId}`, this.#below(fact), {
            kind: "tool",
            name: fact.name,
            startedAt: fact.at,
            input: shortJson(fact.input),
          });
        return;
      case "tool.finished":
        this.#endTool(fact);
        return;
      default:
        this.#applyOther(fact);
    }
  }

  #applyOther(fact: Fact): void {
    switch (fact.type) {
      case "request.opened": {
        const { request } = fact;
        const name = "title" in request ? `${request.type}: ${request.title}` : request.type;
        this.#begin(`request ${fact.requestId}`, this.#below(fact), { kind: "request", name, startedAt: fact.at });
        return;
      }
      case "request.resolved": {
        const { answer, by } = fact;
        const word = "allow" in answer ? (answer.allow ? "allowed" : "refused") : "answered";
        this.#end(`request ${fact.requestId}`, { at: fact.at, status: "ok", detail: `${word} by ${by.id}` });
        return;
      }
      case "task.started":
        this.#begin(`task ${fact.taskId}`, this.#below(fact), {
          kind: "task",
          name: fact.title,
          startedAt: fact.at,
          ...(fact.childSessionId !== undefined && { input: fact.childSessionId }),
        });
        return;
      case "task.finished": {
        const status = fact.status === "completed" ? "ok" : "error";
        const task = this.#end(`task ${fact.taskId}`, { at: fact.at, status, detail: fact.status });
        if (task !== undefined) task.output = shortText(fact.summary);
        if (task !== undefined && fact.usage !== undefined) task.usage = fact.usage;
        return;
      }
      case "run.finished":
        this.#endRun(fact);
        return;
      default:
    }
  }

  #say({ message, turn }: FactOf<"message.added">): void {
    const model = this.#open.get("turn");
    if (message.role === "assistant" && turn !== undefined && model !== undefined)
      model.output = shortText(said(message.parts));
  }

  #endTurn(fact: FactOf<"turn.finished">): void {
    const status = fact.error === undefined ? "ok" : "error";
    const turn = this.#end("turn", { at: fact.at, status, detail: fact.error?.code ?? fact.reason });
    if (turn !== undefined) turn.usage = fact.usage;
    this.usage = addUsage(this.usage, fact.usage);
  }

  #endTool(fact: FactOf<"tool.finished">): void {
    const key = `call ${fact.callId}`;
    if (!this.#open.has(key))
      // refused, or answered by a plugin
      this.#begin(key, this.#below(fact), { kind: "tool", name: fact.name, startedAt: fact.at });
    const by = fact.by === undefined ? "" : ` by ${fact.by}`;
    const tool = this.#end(key, {
      at: fact.at,
      status: fact.status === "ok" ? "ok" : "error",
      detail: `${fact.status}${by}`,
    });
    const shown = fact.output.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
    if (tool !== undefined) tool.output = shortText(shown);
  }

  #endRun(fact: FactOf<"run.finished">): void {
    for (const [key, span] of this.#open)
      if (span.kind !== "task" && span.kind !== "run")
        this.#end(key, { at: fact.at, status: "error", detail: "cut by the end of the run" });
    const ok = fact.reason === "end-turn";
    const detail = fact.error === undefined ? fact.reason : `${fact.reason}: ${fact.error.message}`;
    const run = this.#end(`run ${fact.runId}`, {
      at: fact.at,
      status: ok ? "ok" : "error",
      detail: detail.slice(0, MAX_TEXT),
    });
    if (run !== undefined) run.usage = fact.treeUsage ?? fact.usage;
  }

  #below({ runId }: Fact): TraceSpan[] {
    return (this.#open.get(`run ${runId}`) ?? this.runs.at(-1))?.children ?? this.runs;
  }

  #begin(key: string, list: TraceSpan[], span: Omit<TraceSpan, "status" | "children">): void {
    const begun: TraceSpan = { ...span, status: "open", children: [] };
    list.push(begun);
    this.#open.set(key, begun);
  }

  #end(
    key: string,
    { at, status, detail }: { at: number; status: TraceSpan["status"]; detail: string },
  ): TraceSpan | undefined {
    const span = this.#open.get(key);
    if (span === undefined) return undefined;
    this.#open.delete(key);
    return Object.assign(span, { endedAt: at, status, detail });
  }
}

function said(parts: readonly Part[]): string {
  const calls = parts.flatMap((part) =>
    part.type === "tool-call"
      ? [`→ ${part.name} ${JSON.stringify(part.input)}`]
      : part.type === "file"
        ? [`[${part.mediaType}]`]
        : [],
  );
  return [textOf(parts), ...calls].filter((text) => text !== "").join("\n");
}

function shortText(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text.slice(0, MAX_TEXT).toWellFormed()}\n[... ${text.length - MAX_TEXT} characters left out]`;
}

function shortJson(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT ? value : shortText(text);
}
