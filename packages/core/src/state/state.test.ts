import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, type HaltReason } from "./decide.ts";
import type { Fact, FactBody, FactOf, TurnReason } from "../words/event.ts";
import { addUsage, NO_USAGE, type Part } from "../words/message.ts";
import type { SessionState } from "./session-state.ts";
import { initialState, reduce, statusOf } from "./state.ts";
import type { SessionSummary } from "../ports/store.ts";
import { firstSummary, summarize } from "../store-engine/summary.ts";

const ACTOR = { id: "ada", door: "test" };
const USAGE = { inputTokens: 3, outputTokens: 2, costMicroUsd: 7 };
const CREATED: FactOf<"session.created"> = {
  type: "session.created",
  key: "session",
  seq: 1,
  at: 1_000,
  sessionId: "ses_1",
  agent: "guide",
  mode: "ask",
  actor: ACTOR,
};

type Body = FactBody & { readonly runId?: string };

/** A log that grows by valid facts only, with the state and the summary that its writer would keep. */
class Log {
  readonly facts: Fact[] = [CREATED];
  state: SessionState = initialState(CREATED);
  summary: SessionSummary = firstSummary(CREATED);
  at = 1_000;

  add(...bodies: readonly Body[]): this {
    for (const body of bodies) {
      const seq = this.facts.length + 1;
      const fact: Fact = { ...body, key: `fact/${seq}`, seq, at: (this.at += 10) };
      this.facts.push(fact);
      this.state = reduce(this.state, fact);
      this.summary = { ...summarize(this.summary, fact), head: seq };
    }
    return this;
  }

  accept(inputId: string, ifBusy: "queue" | "steer" | "interrupt" = "queue"): this {
    const parts: Part[] = [{ type: "text", text: inputId }];
    return this.add({ type: "input.accepted", runId: `run_${inputId}`, inputId, parts, ifBusy, actor: ACTOR });
  }

  take(inputId: string): this {
    const runId = this.state.run?.id ?? "";
    const message = { id: inputId, role: "user", parts: [{ type: "text", text: inputId }] } as const;
    return this.add({ type: "message.added", runId, message, inputId });
  }

  start(inputId: string): this {
    const runId = `run_${inputId}`;
    return this.add({ type: "run.started", runId, trigger: "input", inputId, agentHash: "h", limits: { turns: 4 } });
  }

  turn(number: number, attempt = 1): this {
    const runId = this.state.run?.id ?? "";
    return this.add({ type: "turn.started", runId, turn: number, attempt, model: "m", prefixHash: "p" });
  }

  say(number: number, names: readonly string[], reason: TurnReason): this {
    const runId = this.state.run?.id ?? "";
    const calls = names.map((name, index): Part => ({
      type: "tool-call",
      callId: `${runId}/${number}/${index}`,
      name,
      input: {},
      by: name === "theirs" ? "provider" : "capstan",
    }));
    const parts: Part[] = [{ type: "text", text: `turn ${number}` }, ...calls];
    return this.add(
      { type: "message.added", runId, turn: number, message: { id: `${runId}/${number}`, role: "assistant", parts } },
      { type: "turn.finished", runId, turn: number, reason, model: "m", usage: USAGE },
    );
  }

  startCall(callId: string, rerun: "safe" | "never" = "never"): this {
    return this.add({
      type: "tool.started",
      runId: this.state.run?.id ?? "",
      callId,
      name: "look",
      title: "look",
      kind: "other",
      input: {},
      attemptId: "mine",
      rerun,
      flow: false,
      idempotencyKey: "k",
      toolHash: "t",
      confinement: "none",
    });
  }

  finishCall(callId: string): this {
    const runId = this.state.run?.id ?? "";
    const output = { content: [{ type: "text", text: "ok" }] } as const;
    return this.add({ type: "tool.finished", runId, callId, name: "look", status: "ok", output, durationMs: 1 });
  }

  ask(requestId: string, callId: string): this {
    return this.add({
      type: "request.opened",
      runId: this.state.run?.id ?? "",
      requestId,
      request: { type: "client-tool", callId, tool: "look", input: {} },
      expiresAt: 99_999,
    });
  }

  answer(requestId: string): this {
    const runId = this.state.run?.id ?? "";
    const answer = { type: "client-tool", output: { content: [] } } as const;
    return this.add({ type: "request.resolved", runId, requestId, answer, by: ACTOR });
  }

  suspend(): this {
    return this.add({ type: "run.suspended", runId: this.state.run?.id ?? "", on: [] });
  }

  end(reason: FactOf<"run.finished">["reason"] = "end-turn"): this {
    const { run } = this.state;
    return this.add({
      type: "run.finished",
      runId: run?.id ?? "",
      reason,
      usage: run?.usage ?? USAGE,
      turns: run?.turns ?? 0,
    });
  }
}

describe("initialState", () => {
  it("SESS-06 keeps what the first fact says", () => {
    const parent = {
      sessionId: "ses_0",
      runId: "run_0",
      callId: "run_0/1/0",
      depth: 1,
      agents: ["lead"],
      policies: [],
    };
    const workspace = { kind: "local", root: "/a" };
    const first = { ...CREATED, sessionKey: "chat-7", title: "T", metadata: { a: 1 }, parent, workspace };
    expect(initialState(first)).toEqual({
      sessionId: "ses_1",
      agent: "guide",
      openedWith: "guide",
      key: "chat-7",
      title: "T",
      workspace,
      parent,
      metadata: { a: 1 },
      mode: "ask",
      rules: [],
      createdAt: 1_000,
      head: 1,
      queue: [],
      requests: {},
      tasks: {},
      usage: { inputTokens: 0, outputTokens: 0 },
      contextTokens: 0,
      instructions: {},
      compactedThrough: 0,
    });
  });
});

describe("reduce", () => {
  it("LOOP-15 keeps inputs in their order until a run takes them, and gives back what was withdrawn", () => {
    const log = new Log().accept("a").accept("b").accept("c");
    log.add({ type: "input.withdrawn", inputId: "b", actor: ACTOR });
    expect(log.state.queue.map(({ inputId, runId }) => [inputId, runId])).toEqual([
      ["a", "run_a"],
      ["c", "run_c"],
    ]);
    log.start("a").take("a");
    expect(log.state.queue.map(({ inputId }) => inputId)).toEqual(["c"]);
    expect(log.state.run).toMatchObject({ id: "run_a", inputId: "a", actor: ACTOR, unanswered: true, turns: 0 });
  });

  it("SESS-05 counts turns, calls and usage of the run and of the session", () => {
    const log = new Log().accept("a").start("a").take("a").turn(1).say(1, ["look", "theirs", "look"], "tool-calls");
    expect(log.state.run?.calls.map(({ part, status }) => [part.callId, status])).toEqual([
      ["run_a/1/0", "proposed"],
      ["run_a/1/2", "proposed"],
    ]);
    expect(log.state.run).toMatchObject({ turns: 1, callsMade: 2, usage: USAGE, unanswered: false });
    log.startCall("run_a/1/0").finishCall("run_a/1/0").startCall("run_a/1/2").finishCall("run_a/1/2");
    log.turn(2).say(2, [], "stop").end();
    expect(log.state.usage).toEqual({ inputTokens: 6, outputTokens: 4, costMicroUsd: 14 });
    expect(log.state.lastRun).toEqual({ id: "run_a", reason: "end-turn" });
    expect(log.state.run).toBeUndefined();
  });

  it("knows which results are not on disk yet: those of effects, until the next turn starts", () => {
    const log = new Log().accept("a").start("a").take("a").turn(1).say(1, ["look", "look"], "tool-calls");
    log.startCall("run_a/1/0", "safe").finishCall("run_a/1/0");
    expect(log.state.run?.unsyncedEffects).toBe(false);
    log.startCall("run_a/1/1", "never").finishCall("run_a/1/1");
    expect(log.state.run?.unsyncedEffects).toBe(true);
    expect(log.turn(2).state.run?.unsyncedEffects).toBe(false);
  });

  it("LOOP-05 adds up the time of suspensions, and any sign of life ends one", () => {
    const log = new Log().accept("a").start("a").take("a").turn(1).say(1, ["look"], "tool-calls").ask("r", "run_a/1/0");
    log.suspend();
    log.at += 500;
    log.answer("r");
    expect(log.state.run).toMatchObject({ suspendedMs: 510 });
    expect(log.state.run).not.toHaveProperty("suspendedAt");
    log.suspend().suspend();
    log.add({ type: "run.resumed", runId: "run_a", epoch: 2, by: "recovery" });
    expect(log.state.run?.suspendedMs).toBe(510 + 20);
  });

  it("keeps steps, intents and answers of the unfinished action only", () => {
    const log = new Log().accept("a").start("a").take("a").turn(1).say(1, ["look"], "tool-calls").ask("r", "run_a/1/0");
    log.answer("r");
    log.add(
      { type: "step.started", runId: "run_a", name: "s", attemptId: "mine", rerun: "never" },
      { type: "step.finished", runId: "run_a", name: "s", value: 4 },
    );
    expect(log.state.run).toMatchObject({ steps: { s: 4 }, stepIntents: { s: "mine" } });
    expect(Object.keys(log.state.run?.answers ?? {})).toEqual(["r"]);
    log.finishCall("run_a/1/0").turn(2).say(2, [], "stop");
    expect(log.state.run).toMatchObject({ steps: {}, stepIntents: {}, answers: {} });
  });

  it("SESS-07 merges metadata and collects rules", () => {
    const log = new Log();
    log.add({ type: "session.updated", metadata: { a: 1, b: 1 }, title: "T", mode: "plan", actor: ACTOR });
    log.add({ type: "session.updated", metadata: { b: 2 }, model: "x/y", addRules: ["look"], actor: ACTOR });
    expect(log.state).toMatchObject({
      title: "T",
      mode: "plan",
      model: "x/y",
      rules: ["look"],
      metadata: { a: 1, b: 2 },
    });
  });

  it("EDGE-14 skips facts of a newer version", () => {
    const later = { type: "moon.rose", key: "m", seq: 2, at: 5, phase: "full" } as unknown as Fact;
    expect(reduce(initialState(CREATED), later)).toEqual({ ...initialState(CREATED), head: 2 });
  });

  it("a hook's answer settles the run", () => {
    const log = new Log().accept("a").start("a").take("a");
    const message = { id: "x", role: "assistant", parts: [{ type: "text", text: "hi" }] } as const;
    log.add({ type: "message.added", runId: "run_a", message });
    expect(log.state.run?.settled).toBe(true);
  });

  it("an input that a run never took leaves the queue with the run", () => {
    const log = new Log().accept("a").accept("b").start("a").end("refused-input");
    expect(log.state.queue.map(({ inputId }) => inputId)).toEqual(["b"]);
  });
});

describe("statusOf", () => {
  it("LOOP-03 SESS-19 tells idle, running, waiting and parked apart", () => {
    const log = new Log();
    expect(statusOf(log.state)).toBe("idle");
    expect(statusOf(log.accept("a").state)).toBe("running");
    log.start("a").take("a").turn(1).say(1, ["look"], "tool-calls");
    expect(statusOf(log.state)).toBe("running");
    expect(statusOf(log.suspend().state)).toBe("parked");
    log.add({ type: "run.resumed", runId: "run_a", epoch: 2, by: "timer" });
    log.ask("r", "run_a/1/0").suspend();
    expect(statusOf(log.state)).toBe("waiting");
    expect(statusOf(log.answer("r").state)).toBe("running");
    expect(statusOf(log.end().state)).toBe("idle");
  });
});

/** Goes on from where the log stands, one valid step for each number. */
function simulate(log: Log, choices: readonly number[]): Log {
  let made = 0;
  for (const choice of choices) {
    const { state } = log;
    const pick = choice % 16;
    if (pick === 0) log.accept(`i${log.facts.length}`, (["queue", "steer", "interrupt"] as const)[(choice >> 4) % 3]);
    else if (pick === 1 && state.queue.some(({ inputId }) => inputId !== state.run?.inputId)) {
      const waiting = state.queue.find(({ inputId }) => inputId !== state.run?.inputId);
      log.add({ type: "input.withdrawn", inputId: waiting?.inputId ?? "", actor: ACTOR });
    } else if (pick === 2) log.add({ type: "session.updated", metadata: { n: ++made }, actor: ACTOR });
    else if (pick === 3 && state.run !== undefined && state.run.suspendedAt === undefined) log.suspend();
    else if (pick === 4 && state.run !== undefined)
      log.add({ type: "run.resumed", runId: state.run.id, epoch: ++made, by: "recovery" });
    else if (pick === 5 && state.run !== undefined)
      log.add({ type: "step.finished", runId: state.run.id, name: `s${++made}`, value: { made } });
    else if (pick === 6) log.add({ type: "data", name: "plugin/x", data: made });
    else act(log, choice >> 4);
  }
  return log;
}

/** Does what `decide` says, as the loop would. False when there is nothing to do. */
function act(log: Log, choice: number, halt?: HaltReason): boolean {
  const action = decide(log.state, halt);
  const { run } = log.state;
  switch (action.type) {
    case "idle":
      return false;
    case "start-run":
      log.start(action.input.inputId);
      return true;
    case "take-input":
      log.take(action.input.inputId);
      return true;
    case "call-model": {
      log.turn(action.turn, action.attempt);
      if (choice % 5 === 0) return true; // a crash in the call
      const reasons: TurnReason[] = ["stop", "tool-calls", "tool-calls", "tool-calls", "paused", "length", "cut"];
      const reason = reasons[choice % reasons.length] ?? "stop";
      log.say(action.turn, reason === "tool-calls" ? ["look", "look"].slice(choice % 2) : [], reason);
      return true;
    }
    case "run-tools": {
      const waits = new Set(Object.values(log.state.requests).map(({ body }) => "callId" in body && body.callId));
      const call = run?.calls.find(
        ({ status, part }) => status === "started" || (status === "proposed" && !waits.has(part.callId)),
      );
      const callId = call?.part.callId ?? "";
      if (call?.status === "started" || choice % 3 === 0) log.finishCall(callId);
      else if (choice % 3 === 1) log.startCall(callId, choice % 2 === 0 ? "safe" : "never");
      else log.ask(`req_${log.facts.length}`, callId);
      return true;
    }
    case "await-request":
      log.answer(action.requestIds[0] ?? "");
      return true;
    case "halt":
    case "finish": {
      for (const requestId of Object.keys(log.state.requests)) log.answer(requestId);
      for (const { part, status } of run?.calls ?? []) if (status !== "finished") log.finishCall(part.callId);
      log.end(action.type === "halt" ? "interrupted" : action.reason);
      return true;
    }
    default:
      return action satisfies never;
  }
}

const choices = fc.array(fc.nat(4_095), { maxLength: 60 });

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

describe("properties of the fold", () => {
  it("EDGE-14 folds every valid log and numbers its head", () => {
    fc.assert(
      fc.property(choices, (made) => {
        const log = simulate(new Log().accept("a"), made);
        expect(log.state.head).toBe(log.facts.length);
        const again = log.facts.slice(1).reduce(reduce, initialState(CREATED));
        expect(again).toEqual(log.state);
      }),
      { numRuns: 300 },
    );
  });

  it("DUR-15 a snapshot taken anywhere, as JSON, folds on to the same state", () => {
    fc.assert(
      fc.property(choices, fc.nat(), (made, where) => {
        const { facts, state } = simulate(new Log().accept("a"), made);
        const at = (where % facts.length) + 1;
        const snapshot = plain(facts.slice(1, at).reduce(reduce, initialState(CREATED)));
        const folded = facts.slice(at).reduce(reduce, snapshot);
        expect(plain(folded)).toEqual(plain(state));
        expect(decide(folded)).toEqual(decide(state));
      }),
      { numRuns: 300 },
    );
  });

  it("EDGE-05 a halt after any fact ends the run exactly once, whatever comes then", () => {
    fc.assert(
      fc.property(
        choices,
        fc.nat(),
        fc.constantFrom<HaltReason>("interrupted", "deadline", "failed"),
        (made, n, halt) => {
          const whole = simulate(new Log().accept("a"), made);
          const log = new Log();
          for (const { key: _key, seq: _seq, at: _at, ...body } of whole.facts.slice(1, 1 + (n % whole.facts.length)))
            log.add(body as Body);
          const runId = log.state.run?.id;
          if (runId === undefined) return;
          act(log, n, halt);
          expect(log.state.run).toBeUndefined();
          expect(log.state.requests).toEqual({});
          simulate(log, made);
          expect(log.facts.filter((fact) => fact.type === "run.finished" && fact.runId === runId)).toHaveLength(1);
          const calls = log.facts.filter(
            (fact) => fact.type === "tool.finished" && fact.callId.startsWith(`${runId}/`),
          );
          expect(new Set(calls.map((fact) => fact.type === "tool.finished" && fact.callId)).size).toBe(calls.length);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("LOOP-04 doing what decide says comes to rest, with every input taken up once", () => {
    fc.assert(
      fc.property(choices, fc.array(fc.nat(4_095), { minLength: 1, maxLength: 20 }), (made, then) => {
        const log = simulate(new Log().accept("a"), made);
        let steps = 0;
        while (act(log, ((then[steps % then.length] ?? 0) + Math.floor(steps / then.length)) >> 1)) {
          if (++steps > 2_000) throw new Error("no rest in sight");
        }
        const taken = log.facts.flatMap((fact) => (fact.type === "message.added" ? (fact.inputId ?? []) : []));
        const accepted = log.facts.flatMap((fact) => (fact.type === "input.accepted" ? fact.inputId : []));
        const withdrawn = log.facts.flatMap((fact) => (fact.type === "input.withdrawn" ? fact.inputId : []));
        expect(taken.toSorted()).toEqual(accepted.filter((id) => !withdrawn.includes(id)).toSorted());
      }),
      { numRuns: 100 },
    );
  });

  it("SESS-19 the summary of a list says the same as the state", () => {
    fc.assert(
      fc.property(choices, (made) => {
        const { state, summary } = simulate(new Log().accept("a"), made);
        const queued = state.queue.length;
        const usage = addUsage(summary.usage, state.run?.usage ?? NO_USAGE); // the unfinished run is not in it
        expect({ ...summary, usage, createdAt: 0, updatedAt: 0 }).toEqual({
          sessionId: "ses_1",
          agent: "guide",
          status: statusOf(state),
          queued,
          openRequests: Object.values(state.requests),
          usage: state.usage,
          createdAt: 0,
          updatedAt: 0,
          head: state.head,
          ...(state.run !== undefined && { runId: state.run.id }),
        });
      }),
      { numRuns: 300 },
    );
  });
});
