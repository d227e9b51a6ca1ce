/** Plays a recorded run again with today's agents: models answer as recorded, tools are stubs, and every difference is told. */

import { setImmediate } from "node:timers/promises";
import type { Agent } from "../ports/agent.ts";
import { CapstanError, type ErrorCode, ERROR_CODES } from "../words/errors.ts";
import { canonicalJson, type Json } from "../words/json.ts";
import { errorOutput, textOf, type ToolOutput } from "../words/message.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports/model.ts";
import { plugin, type Plugin, type ToolHookContext, type ToolNext, type HookedCall } from "../ports/plugin.ts";
import type { Answer, OpenRequest } from "../words/request.ts";
import type { RunResult } from "../session/session.ts";
import { type Drift, firstDifference } from "./drift.ts";
import { callNumbers, recordedMessage } from "./numbered-calls.ts";
import type { RecordedCall, RecordedExchange, RecordedMessage, RecordedSession, Recording } from "./recording.ts";
import { testRuntime } from "./test-runtime.ts";

export type ReplayOptions = {
  /** Those of the recording by name; tools must be there, and are not called. */
  readonly agents: readonly Agent<unknown>[];
  /** Tools that really run; what they return is compared. */
  readonly live?: readonly string[];
  /** Takes out of every text what may differ, such as a date or a folder. */
  readonly normalize?: (text: string) => string;
  readonly plugins?: readonly Plugin[];
};
export type ReplayReport = {
  /** Nothing differed. */
  readonly ok: boolean;
  /** The first ones, in their order. */
  readonly drift: readonly Drift[];
  readonly requests: number;
  readonly calls: number;
  readonly result: RunResult<unknown>;
};

const MAX_DRIFT = 100;
/** Turns of the event loop without an event after which the clock of the replay moves on. */
const IDLE_TURNS = 20;
const STEP_MS = 1_000;
/** Seconds of the replay's clock; a run that has not ended by then waits for something that the recording lacks. */
const MAX_STEPS = 5_000;

/** In memory, with a clock of its own: the same recording and agents give the same report. Throws `agent-unknown`. */
export async function replayRun(recording: Recording, options: ReplayOptions): Promise<ReplayReport> {
  const { agents, plugins = [] } = options;
  const [root] = recording.sessions;
  if (root === undefined || !agents.some(({ name }) => name === root.agent))
    throw new CapstanError(
      "agent-unknown",
      `The recording is of the agent ${JSON.stringify(root?.agent)}; give it in agents`,
    );
  const replay = new Replay(recording, options);
  const all = withAgentsBelow(agents);
  const runtime = await testRuntime({
    agents: all,
    models: Object.fromEntries(all.map((agent) => [agent.name, replay.model(agent)])),
    plugins: [replay.plugin(), ...plugins],
    permission: { mode: "ask" },
    onRequest: async (request) => replay.answer(request),
  });
  try {
    const run = await runtime.send(root.agent, recording.input);
    let ended = false;
    const result = run.result().finally(() => (ended = true));
    for (let step = 0; step < MAX_STEPS && !ended; step++) {
      for (let turn = 0; turn < IDLE_TURNS && !ended; turn++) await setImmediate();
      if (!ended && runtime.clock.pending > 0 && replay.isIdle()) await runtime.clock.advance(STEP_MS);
    }
    if (!ended) await run.session.interrupt();
    return replay.report(await result);
  } finally {
    await runtime.close({ graceMs: 0 });
  }
}

function withAgentsBelow(agents: readonly Agent<unknown>[]): readonly Agent<unknown>[] {
  const all = new Map(agents.map((agent) => [agent.name, agent]));
  for (const { agents: below } of all.values())
    for (const agent of below) if (!all.has(agent.name)) all.set(agent.name, agent);
  return [...all.values()];
}

/** One recorded session that is being played. */
type Playing = {
  readonly session: RecordedSession;
  readonly used: Set<RecordedCall>;
  readonly numberOf: (callId: string) => string;
  next: number;
  before: readonly RecordedMessage[];
};

class Replay {
  readonly #recording: Recording;
  readonly #live: ReadonlySet<string>;
  readonly #normalize: (text: string) => string;
  readonly #playing = new Map<string, Playing>();
  readonly #assigned = new Set<RecordedSession>();
  readonly #answers: { readonly type: string; readonly answer: Answer }[];
  readonly #drift: Drift[] = [];
  #requests = 0;
  #calls = 0;
  #busy = 0;

  constructor(recording: Recording, { live = [], normalize = (text) => text }: ReplayOptions) {
    this.#recording = recording;
    this.#live = new Set(live);
    this.#normalize = normalize;
    this.#answers = recording.sessions.flatMap(({ answers }) => answers);
  }

  /** No live tool is at work, which takes the time it takes. */
  isIdle(): boolean {
    return this.#busy === 0;
  }

  model({ name, model }: Agent<unknown>): Model {
    const { id, capabilities } = typeof model === "string" ? { id: model, capabilities: {} } : model;
    const stream = (request: ModelRequest): AsyncIterable<readonly ModelEvent[]> => this.#reply(name, id, request);
    return { id, capabilities, stream };
  }

  plugin(): Plugin {
    return plugin({ name: "replay", tool: (call, context, next) => this.#call(call, context, next) });
  }

  answer({ body }: OpenRequest): Answer | undefined {
    const at = this.#answers.findIndex(({ type }) => type === body.type);
    const [found] = at === -1 ? [] : this.#answers.splice(at, 1);
    if (found === undefined)
      this.#add({
        where: "answer",
        agent: "",
        number: 0,
        path: body.type,
        recorded: "(nothing)",
        now: JSON.stringify(body).slice(0, 200),
      });
    return found?.answer ?? refusalOf(body.type);
  }

  report(result: RunResult<unknown>): ReplayReport {
    const [root] = this.#recording.sessions;
    for (const session of this.#recording.sessions) {
      const played = [...this.#playing.values()].find((playing) => playing.session === session);
      const asked = played?.next ?? 0;
      if (asked < session.exchanges.length)
        this.#add({
          where: "request",
          agent: session.agent,
          number: asked + 1,
          path: "",
          recorded: "a request",
          now: "(nothing)",
        });
    }
    const { reason, text, output } = result;
    const now = { reason: reason ?? "waiting", text, ...(output !== undefined && { output }) };
    this.#compare({ where: "end", agent: root?.agent ?? "", number: 1 }, this.#recording.end, now);
    const drift = this.#drift.slice(0, MAX_DRIFT);
    return { ok: drift.length === 0, drift, requests: this.#requests, calls: this.#calls, result };
  }

  async *#reply(agent: string, model: string, request: ModelRequest): AsyncGenerator<readonly ModelEvent[]> {
    request.signal.throwIfAborted();
    this.#requests += 1;
    const playing = this.#sessionOf(agent, request);
    const exchange = playing?.session.exchanges[playing.next];
    yield [{ type: "start", model }];
    if (playing === undefined || exchange === undefined) {
      this.#add({
        where: "request",
        agent,
        number: (playing?.next ?? 0) + 1,
        path: "",
        recorded: "(nothing)",
        now: "a request",
      });
      yield [
        ...textEvents("The recording ends here."),
        { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0 } },
      ];
      return;
    }
    playing.next += 1;
    this.#compareRequest(playing, exchange, request, agent);
    if ("problem" in exchange.reply) {
      const { code, message } = exchange.reply.problem;
      const known = ERROR_CODES.find((name): name is ErrorCode => name === code) ?? "model-failed";
      throw new CapstanError(known, message); // not to be tried again: what came of that is recorded
    }
    const { parts, reason, usage } = exchange.reply;
    for (const [index, part] of parts.entries()) yield [startOf(index, part), { type: "block-end", index, part }];
    yield [{ type: "finish", reason, usage }];
  }

  #compareRequest(playing: Playing, exchange: RecordedExchange, request: ModelRequest, agent: string): void {
    const recorded = [...playing.before.slice(0, exchange.kept), ...exchange.messages];
    playing.before = recorded;
    const { system, tools, settings } = request;
    const now = {
      system,
      tools,
      settings,
      messages: request.messages.map((message) => recordedMessage(message, playing.numberOf)),
    };
    const before = { system: exchange.system, tools: exchange.tools, settings: exchange.settings, messages: recorded };
    this.#compare({ where: "request", agent, number: playing.next }, before, now);
  }

  /** A sub-agent is the recorded one of the same agent and task, else the next one of that agent. */
  #sessionOf(agent: string, request: ModelRequest): Playing | undefined {
    const known = this.#playing.get(request.sessionId);
    if (known !== undefined) return known;
    const task = textOf(request.messages[0]?.parts ?? []);
    const free = this.#recording.sessions.filter((session) => !this.#assigned.has(session));
    const [root] = this.#recording.sessions;
    const session =
      this.#playing.size === 0
        ? root
        : (free.find((found) => found.agent === agent && found.task === task) ??
          free.find((found) => found.agent === agent));
    if (session === undefined) {
      this.#add({ where: "session", agent, number: 1, path: "", recorded: "(nothing)", now: task.slice(0, 200) });
      return undefined;
    }
    this.#assigned.add(session);
    const playing = { session, used: new Set<RecordedCall>(), numberOf: callNumbers(), next: 0, before: [] };
    this.#playing.set(request.sessionId, playing);
    return playing;
  }

  async #call(call: HookedCall, context: ToolHookContext<unknown>, next: ToolNext): Promise<ToolOutput> {
    this.#calls += 1;
    const playing = this.#playing.get(context.sessionId);
    const agent = playing?.session.agent ?? context.state.agent;
    const open =
      playing?.session.calls.filter((recorded) => !playing.used.has(recorded) && recorded.name === call.name) ?? [];
    const input = this.#text(call.input);
    const recorded = open.find((found) => this.#text(found.input) === input) ?? open[0];
    const number = recorded === undefined ? 0 : (playing?.session.calls.indexOf(recorded) ?? 0) + 1;
    if (recorded !== undefined) playing?.used.add(recorded);
    if (recorded === undefined)
      this.#add({ where: "call", agent, number, path: call.name, recorded: "(nothing)", now: input.slice(0, 200) });
    else this.#compare({ where: "call", agent, number }, { input: recorded.input }, { input: call.input });
    if (call.tool.body.type === "handoff" || recorded?.spawned === true) return next({ ...call, verdict: "allow" });
    if (!this.#live.has(call.name)) {
      if (recorded === undefined) return errorOutput(`The recording has no result of ${call.name} for this.`);
      return recorded.status === "denied" ? context.deny(textOf(recorded.output.content)) : { ...recorded.output };
    }
    this.#busy += 1;
    try {
      const output = await next(call);
      if (recorded !== undefined) this.#compare({ where: "result", agent, number }, recorded.output, output);
      return output;
    } finally {
      this.#busy -= 1;
    }
  }

  #compare(place: Pick<Drift, "where" | "agent" | "number">, recorded: unknown, now: unknown): void {
    const found = firstDifference(this.#plain(recorded), this.#plain(now));
    if (found !== undefined) this.#add({ ...place, ...found });
  }

  /** As JSON has it, texts normalized. */
  #plain(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value), (_key, item: unknown) =>
      typeof item === "string" ? this.#normalize(item) : item,
    );
  }

  #text(value: Json): string {
    return canonicalJson(this.#plain(value) as Json); // it was JSON
  }

  #add(drift: Drift): void {
    if (this.#drift.length < MAX_DRIFT) this.#drift.push(drift);
  }
}

function startOf(index: number, part: RecordedMessage["parts"][number]): ModelEvent {
  if (part.type === "tool-call") return { type: "block-start", index, block: { type: "tool-input", name: part.name } };
  return { type: "block-start", index, block: { type: part.type === "reasoning" ? "reasoning" : "text" } };
}

function textEvents(text: string): readonly ModelEvent[] {
  return [
    { type: "block-start", index: 0, block: { type: "text" } },
    { type: "block-end", index: 0, part: { type: "text", text } },
  ];
}

/** Nobody is there: what the recording does not answer is refused. */
function refusalOf(type: OpenRequest["body"]["type"]): Answer | undefined {
  if (type === "permission" || type === "plan") return { type, allow: false, reason: "The recording has no answer" };
  return type === "form" ? { type, decline: true } : undefined;
}
