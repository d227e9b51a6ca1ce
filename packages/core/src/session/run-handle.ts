/** Taking hold of one run: its events, its text as it comes, and its result. Cloneable, cheap, outlives nothing. */

import type { Engine } from "../ports/engine.ts";
import { outputFrom, outputOf } from "../ports/output-spec.ts";
import type { SessionSummary } from "../ports/store.ts";
import { conversation } from "../state/conversation.ts";
import { CapstanError, ERROR_CODES, type ErrorCode } from "../words/errors.ts";
import { type Envelope, type Event, isLive, type Problem, type StopReason, type Tags } from "../words/event.ts";
import { type Message, NO_USAGE, textOf } from "../words/message.ts";
import type { Accepted } from "../words/op.ts";
import type { OpenRequest } from "../words/request.ts";
import { type Checked, type Schema, toJsonSchema } from "../words/schema.ts";
import { passing } from "./passing.ts";
import type { HookRecord, Run, RunResult, Session } from "./session.ts";

type RunSource<Output> = {
  readonly engine: Engine;
  readonly session: Session<Output>;
  /** What a run must answer at whose end this agent was in charge. */
  readonly schemaOf: (agent?: string) => Schema<Output> | undefined;
  /** Whether an answer to this request will come from this process. */
  readonly answers: (requestId: string) => boolean;
};

export function runHandle<Output>(source: RunSource<Output>, accepted: Accepted): Run<Output> {
  return new RunHandle(source, accepted);
}

class RunHandle<Output> implements Run<Output> {
  id: string;
  readonly inputId: string;
  readonly session: Session<Output>;
  readonly #source: RunSource<Output>;
  readonly #after: number;
  /** In charge at the end, once that was seen. */
  #endedBy: string | undefined;

  constructor(source: RunSource<Output>, accepted: Accepted) {
    this.#source = source;
    this.session = source.session;
    this.inputId = accepted.inputId ?? "";
    this.id = accepted.runId ?? "";
    this.#after = accepted.after ?? 0;
  }

  events(
    options: { readonly signal?: AbortSignal; readonly children?: boolean; readonly live?: boolean } = {},
  ): AsyncIterable<Envelope> {
    const { children = false, ...rest } = options;
    const ours = new Set<string>();
    const source = this.session.events({ after: String(this.#after), children, ...rest });
    return passing(source, (envelope) => {
      const { event, parent } = envelope;
      if (parent !== undefined) {
        if (!ours.has(parent.sessionId) && !parent.callId.startsWith(`${this.id}/`)) return "skip"; // of another run
        ours.add(envelope.sessionId);
        return "show";
      }
      if (event.type === "message.added" && event.inputId === this.inputId && event.runId !== undefined)
        this.id = event.runId;
      const last =
        (event.type === "run.finished" && event.runId === this.id) ||
        (event.type === "input.withdrawn" && event.inputId === this.inputId);
      const whyNot = event.type === "notice" && event.severity === "error" && event.runId === undefined;
      if (event.runId === this.id || whyNot) return last ? "show-and-end" : "show";
      return last ? "end" : "skip";
    });
  }

  async *deltas(): AsyncIterable<{ readonly text: string; readonly reset: boolean }> {
    const shown = new Map<string, number>();
    for await (const { event } of this.events()) {
      if (event.type === "turn.reset") yield { text: "", reset: true };
      if (event.type !== "text.delta") continue;
      // one who was slow gets a block again from its beginning: offsets tell what is new
      const known = shown.get(event.blockId) ?? 0;
      const text = event.delta.slice(Math.max(0, known - event.offset));
      shown.set(event.blockId, Math.max(known, event.offset + event.delta.length));
      if (text !== "") yield { text, reset: false };
    }
  }

  async result(): Promise<RunResult<Output>> {
    const said = conversation();
    const asked = new Set<string>();
    const hooks: HookRecord[] = [];
    let tags: Tags | undefined;
    const resultOf = (known: Partial<RunResult<Output>>): RunResult<Output> => {
      const { messages } = said;
      return {
        status: "finished",
        requests: [],
        messages,
        text: lastText(messages),
        usage: NO_USAGE,
        treeUsage: NO_USAGE,
        turns: 0,
        hooks,
        ...(tags !== undefined && { tags }),
        ...known,
      };
    };
    for await (const { event, parent } of this.events({ children: true })) {
      if (event.type === "request.opened") asked.add(event.requestId);
      if (event.type === "request.resolved") asked.delete(event.requestId);
      const rests = event.type === "run.suspended" || (event.type === "notice" && event.code === "request-open");
      if (rests || (parent !== undefined && event.type === "run.finished")) {
        const requests = await this.#waitsFor(asked);
        if (requests.length > 0) return resultOf({ status: "waiting", requests });
      }
      // only the end of a hold says "error": nothing is lost, but waiting for it here could take for ever
      if (event.type === "notice" && event.severity === "error") {
        const error: Problem = { code: event.code, message: event.title, retryable: true };
        return resultOf({ status: "waiting", error });
      }
      if (parent !== undefined) continue;
      if (!isLive(event)) said.apply(event);
      if (event.type === "input.accepted" && event.inputId === this.inputId) tags = event.overrides?.tags;
      const hooked = hookRecord(event);
      if (hooked !== undefined) hooks.push(hooked);
      if (event.type === "run.finished") {
        const { reason, agent, usage, treeUsage = usage, turns, error } = event;
        this.#endedBy = agent;
        const output = reason === "end-turn" ? await this.#parse(lastText(said.messages)) : undefined;
        return resultOf({
          reason,
          usage,
          treeUsage,
          turns,
          ...(error !== undefined && { error }),
          ...(output?.ok === true && { output: output.value }),
        });
      }
    }
    return resultOf({ reason: "interrupted" }); // its input was taken back before it began
  }

  async text(): Promise<string> {
    const result = await this.result();
    if (result.reason === "end-turn") return result.text;
    throw failure(result);
  }

  async output(): Promise<Output> {
    const parsed = await this.#parse(await this.text());
    if (parsed.ok) return parsed.value;
    throw new CapstanError("output-invalid", `The model's answer does not fit the output schema: ${parsed.problem}`);
  }

  /** The open requests when the run and its sub-agents wait for them and for nothing else: what was read so far is up to date. */
  async #waitsFor(asked: ReadonlySet<string>): Promise<readonly OpenRequest[]> {
    const open = await this.#openBelow(this.session.id);
    if (open === undefined || open.length !== asked.size || !open.every(({ requestId }) => asked.has(requestId)))
      return [];
    return open.some(({ requestId }) => this.#source.answers(requestId)) ? [] : open;
  }

  /** What the session and those below it ask; `undefined` while one of them works. */
  async #openBelow(sessionId: string): Promise<readonly OpenRequest[] | undefined> {
    const { engine } = this.#source;
    const summary = await engine.summary(sessionId);
    const other = sessionId === this.session.id && summary?.runId !== this.id;
    if (summary === undefined || summary.status === "running" || other) return undefined;
    if (summary.status === "idle") return [];
    const children = await engine.list({ parent: sessionId });
    const ours = sessionId === this.session.id ? await this.#ofThisRun(children) : children;
    const below = await Promise.all(ours.map((child) => this.#openBelow(child.sessionId)));
    if (below.includes(undefined)) return undefined;
    return [...summary.openRequests, ...below.flatMap((requests) => requests ?? [])];
  }

  /** Without those that an earlier run left in the background. */
  async #ofThisRun(children: readonly SessionSummary[]): Promise<readonly SessionSummary[]> {
    const runs = await Promise.all(children.map(({ sessionId }) => this.#startedBy(sessionId)));
    return children.filter((_child, index) => runs[index] === this.id);
  }

  async #startedBy(childSessionId: string): Promise<string | undefined> {
    for await (const fact of this.#source.engine.read(childSessionId, { types: ["session.created"] }))
      if (fact.type === "session.created") return fact.parent?.runId;
    return undefined;
  }

  async #parse(text: string): Promise<Checked<Output>> {
    const schema = this.#source.schemaOf(this.#endedBy);
    if (schema === undefined) return { ok: true, value: text as Output }; // without a schema Output is string
    const spec = outputOf({ output: schema, outputSchema: toJsonSchema(schema, "The output") }, undefined);
    return spec === undefined
      ? { ok: true, value: text as Output }
      : (outputFrom(spec, text) as Promise<Checked<Output>>); // `schema` made it
  }
}

/** What a plugin did, by the fact that says so. */
function hookRecord(event: Event): HookRecord | undefined {
  if (event.type === "tool.finished" && event.by !== undefined) {
    const { by, callId, status } = event;
    return { type: "decided", plugin: by, callId, status };
  }
  if (event.type !== "data" || !event.name.startsWith("plugin/")) return undefined;
  return { type: "recorded", plugin: event.name.slice("plugin/".length), data: event.data };
}

function lastText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === "assistant");
  return last === undefined ? "" : textOf(last.parts);
}

/** For the ends that carry no error of their own. */
const ENDS: Partial<Record<StopReason, readonly [ErrorCode, string]>> = {
  "max-turns": ["limit-reached", "The run reached its limit of turns; raise limits.turns or ask for less"],
  "max-tokens": ["limit-reached", "The model's answer was cut at its output limit; raise settings.maxOutputTokens"],
  budget: ["limit-reached", "The run used up its budget; raise its limits or ask for less"],
  deadline: ["limit-reached", "The run took longer than limits.wallMs"],
  interrupted: ["interrupted", "The run was interrupted"],
  refusal: ["model-refused", "The model refused to answer"],
  "content-filter": ["model-refused", "The provider's content filter stopped the answer"],
  "refused-input": ["input-invalid", "The run ended with refused-input"],
  "context-exceeded": [
    "model-context-exceeded",
    "The conversation is longer than the model's context; start a new session",
  ],
};

/** Why a run has no final text. */
export function failure(result: RunResult<unknown>): CapstanError {
  if (result.status === "waiting" && result.error === undefined) {
    const titles = result.requests.map(({ body }) => ("title" in body ? body.title : body.type)).join("; ");
    return new CapstanError(
      "run-waiting",
      `The run waits for an answer (${titles}): use session.respond, or give openRuntime an onRequest`,
    );
  }
  const { reason = "interrupted", error } = result;
  if (error !== undefined) {
    const code = ERROR_CODES.find((known) => known === error.code) ?? "run-failed";
    return new CapstanError(code, error.message, { retryable: error.retryable });
  }
  const [code, why] = ENDS[reason] ?? ["run-failed", `The run ended with ${reason}`];
  return new CapstanError(code, `${why} (turns: ${result.turns})`);
}
