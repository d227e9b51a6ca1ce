/** Records runs while they happen: a plugin that listens to their model calls, and the facts of their sessions. */

import type { Definitions } from "../ports/definitions.ts";
import { CapstanError } from "../words/errors.ts";
import type { Fact, FactOf } from "../words/event.ts";
import { type Message, type Part, textOf } from "../words/message.ts";
import type { ModelEvent, ModelRequest } from "../ports/model.ts";
import { type ModelNext, plugin, type Plugin } from "../ports/plugin.ts";
import type { Run } from "../session/session.ts";
import { callNumbers, recordedMessage, sharedMessages } from "./numbered-calls.ts";
import {
  type RecordedCall,
  type RecordedExchange,
  type RecordedMessage,
  recordedProblem,
  type RecordedSession,
  type Recording,
} from "./recording.ts";

export type Recorder = {
  /** For the runtime: it hears sub-agents too. Stands behind plugins that change what the model is asked. */
  readonly plugin: Plugin;
  /** Waits for the end of the run. Throws `run-waiting` for one that waits for a person. */
  readonly recording: (run: Run<unknown>) => Promise<Recording>;
};

/** Model calls that are remembered of one run, and runs of one recorder; the oldest are forgotten. */
const MAX_EXCHANGES = 10_000;
const MAX_SESSIONS = 1_000;

/** Registered secrets are taken out, as everywhere. */
export function recordRuns(): Recorder {
  const heard = new Map<string, Heard>();
  const current = new Map<string, string>();
  const runtimes = new Set<Definitions>();
  const of = (sessionId: string): Heard => {
    const key = `${sessionId} ${current.get(sessionId) ?? ""}`;
    const known = heard.get(key) ?? new Heard();
    heard.set(key, known);
    const [oldest] = heard.keys();
    if (heard.size > MAX_SESSIONS && oldest !== undefined) heard.delete(oldest);
    return known;
  };
  const recorder = plugin({
    name: "recorder",
    prepare: (_request, { sessionId, runId }) => void current.set(sessionId, runId),
    model: (request, _context, next) => of(request.sessionId).listen(request, next),
    open(runtime) {
      runtimes.add(runtime);
      return {
        async [Symbol.asyncDispose]() {
          runtimes.delete(runtime);
        },
      };
    },
  });
  return {
    plugin: recorder,
    async recording(run) {
      const { status, reason, text, output } = await run.result();
      if (status === "waiting" || reason === undefined)
        throw new CapstanError("run-waiting", "The run waits for an answer: a recording is of a run that has ended");
      const runtime = [...runtimes].at(-1);
      if (runtime === undefined)
        throw new CapstanError("closed", "The runtime was closed before the recording was taken");
      const sessions = await readSessions(runtime, { sessionId: run.session.id, runId: run.id }, heard);
      const recorded = {
        type: "capstan-recording",
        version: 1,
        input: sessions.input,
        sessions: sessions.all,
        end: { reason, text, ...(output !== undefined && { output }) },
      };
      return JSON.parse(JSON.stringify(runtime.redactor.json(recorded as never))) as Recording; // plain data of this shape
    },
  };
}

/** Model calls of one run. */
class Heard {
  readonly exchanges: RecordedExchange[] = [];
  readonly #numberOf = callNumbers();
  #before: readonly RecordedMessage[] = [];

  async *listen(request: ModelRequest, next: ModelNext): AsyncGenerator<readonly ModelEvent[]> {
    const { system, tools, settings } = request;
    const messages = request.messages.map((message) => recordedMessage(message, this.#numberOf));
    const parts: Part[] = [];
    let reply: RecordedExchange["reply"] = {
      problem: recordedProblem(new CapstanError("model-cut", "The answer was cut")),
    };
    try {
      for await (const batch of next(request)) {
        for (const event of batch) {
          if (event.type === "block-end") parts.push(event.part);
          else if (event.type === "finish") reply = { parts, reason: event.reason, usage: event.usage };
        }
        yield batch;
      }
    } catch (error) {
      reply = { problem: recordedProblem(error) };
      throw error;
    } finally {
      const last = this.exchanges.at(-1);
      if (last !== undefined && "problem" in last.reply) {
        this.exchanges.pop(); // that try was made again: only what it came to counts
        this.#before = this.#whole();
      }
      const kept = sharedMessages(this.#before, messages);
      if (this.exchanges.length < MAX_EXCHANGES)
        this.exchanges.push({ system, tools, settings, kept, messages: messages.slice(kept), reply });
      this.#before = messages;
    }
  }

  #whole(): readonly RecordedMessage[] {
    return this.exchanges.reduce<readonly RecordedMessage[]>(
      (before, { kept, messages }) => [...before.slice(0, kept), ...messages],
      [],
    );
  }
}

type RunOf = { readonly sessionId: string; readonly runId: string };

/** The run's session and those of its sub-agents, in the order in which they were started. */
async function readSessions(
  runtime: Definitions,
  root: RunOf,
  heard: ReadonlyMap<string, Heard>,
): Promise<{ readonly input: readonly Part[]; readonly all: readonly RecordedSession[] }> {
  const all: RecordedSession[] = [];
  const waiting: { readonly sessionId: string; readonly runId?: string }[] = [root];
  let input: readonly Part[] = [];
  for (let next = waiting.shift(); next !== undefined && all.length < MAX_SESSIONS; next = waiting.shift()) {
    const facts: Fact[] = [];
    for await (const fact of runtime.engine.read(next.sessionId)) facts.push(fact);
    const runId = next.runId ?? facts.find(({ type }) => type === "run.started")?.runId ?? "";
    const own = facts.filter((fact) => fact.runId === runId);
    const accepted = own.find((fact) => fact.type === "input.accepted");
    if (all.length === 0) input = await withBytes(runtime, accepted?.parts ?? []);
    const [created] = facts;
    all.push({
      agent: created?.type === "session.created" ? created.agent : "",
      task: textOf(accepted?.parts ?? []),
      exchanges: heard.get(`${next.sessionId} ${runId}`)?.exchanges ?? [],
      calls: callsOf(own),
      answers: answersOf(own),
    });
    for (const fact of own)
      if (fact.type === "task.started" && fact.childSessionId !== undefined)
        waiting.push({ sessionId: fact.childSessionId });
  }
  return { input, all };
}

/** In the model's order. */
function callsOf(facts: readonly Fact[]): readonly RecordedCall[] {
  const ends = new Map<string, FactOf<"tool.finished">>();
  for (const fact of facts) if (fact.type === "tool.finished") ends.set(fact.callId, fact);
  const spawning = new Set(facts.flatMap((fact) => (fact.type === "task.started" ? [fact.callId] : [])));
  const messages: Message[] = facts.flatMap((fact) => (fact.type === "message.added" ? [fact.message] : []));
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part): readonly RecordedCall[] => {
      const end = part.type === "tool-call" ? ends.get(part.callId) : undefined;
      if (part.type !== "tool-call" || end === undefined) return [];
      const { status, output } = end;
      return [{ name: part.name, input: part.input, status, output, spawned: spawning.has(part.callId) }];
    }),
  );
}

/** What people said; what a rule, the time or an interrupt settled comes again by itself. */
function answersOf(facts: readonly Fact[]): RecordedSession["answers"] {
  const types = new Map(
    facts.flatMap((fact) => (fact.type === "request.opened" ? [[fact.requestId, fact.request.type]] : [])),
  );
  return facts.flatMap((fact) => {
    const type = fact.type === "request.resolved" ? types.get(fact.requestId) : undefined;
    return fact.type === "request.resolved" && type !== undefined && "door" in fact.by
      ? [{ type, answer: fact.answer }]
      : [];
  });
}

/** Files in the recording itself: a replay has no store of theirs. */
async function withBytes(runtime: Definitions, parts: readonly Part[]): Promise<readonly Part[]> {
  return Promise.all(
    parts.map(async (part): Promise<Part> => {
      if (part.type !== "file" || part.data.type !== "blob") return part;
      const bytes = await runtime.engine.blob(part.data.hash);
      return { ...part, data: { type: "base64", base64: Buffer.from(bytes).toString("base64") } };
    }),
  );
}
