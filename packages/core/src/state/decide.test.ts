import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Action, decide, type HaltReason } from "./decide.ts";
import type { Limits, StopReason, TurnReason } from "../words/event.ts";
import type { OpenRequest, RequestBody } from "../words/request.ts";
import type { CallState, QueuedInput, RunState, SessionState } from "./session-state.ts";

const ACTOR = { id: "ada", door: "test" };

function input(inputId: string, ifBusy: QueuedInput["ifBusy"] = "queue"): QueuedInput {
  return { inputId, runId: `run_${inputId}`, parts: [{ type: "text", text: inputId }], ifBusy, actor: ACTOR };
}

function session(change: Partial<SessionState> = {}): SessionState {
  return {
    sessionId: "ses_1",
    agent: "guide",
    openedWith: "guide",
    metadata: {},
    mode: "ask",
    rules: [],
    createdAt: 0,
    head: 1,
    queue: [],
    requests: {},
    tasks: {},
    contextTokens: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    instructions: {},
    compactedThrough: 0,
    ...change,
  };
}

function run(change: Partial<RunState> = {}): RunState {
  return {
    id: "run_a",
    inputId: "a",
    agent: "guide",
    actor: ACTOR,
    limits: {},
    startedAt: 0,
    startedSeq: 1,
    suspendedMs: 0,
    turns: 0,
    calls: [],
    callsMade: 0,
    unanswered: false,
    unsyncedEffects: false,
    settled: false,
    usage: { inputTokens: 0, outputTokens: 0 },
    childUsage: { inputTokens: 0, outputTokens: 0 },
    childCalls: 0,
    lost: {},
    spawned: 0,
    steps: {},
    stepFailures: {},
    stepIntents: {},
    stepReserved: {},
    answers: {},
    ...change,
  };
}

/** A run after a turn that ended for `reason`. */
function afterTurn(reason: TurnReason, change: Partial<RunState> = {}): RunState {
  return run({ turns: 1, turn: { number: 1, attempt: 1, reason }, ...change });
}

function call(callId: string, status: CallState["status"]): CallState {
  return { part: { type: "tool-call", callId, name: "look", input: {}, by: "capstan" }, status, attempts: 0 };
}

function asking(requestId: string, callId?: string): OpenRequest {
  const body: RequestBody =
    callId === undefined
      ? { type: "question", questions: [] }
      : { type: "client-tool", callId, tool: "look", input: {} };
  return { requestId, sessionId: "ses_1", runId: "run_a", body, openedAt: 0, expiresAt: 1 };
}

describe("decide", () => {
  describe("without a run", () => {
    it("is idle when nothing waits", () => {
      expect(decide(session())).toEqual({ type: "idle" });
    });

    it("LOOP-15 starts a run with the oldest input, whatever it asked for when busy", () => {
      for (const ifBusy of ["queue", "steer", "interrupt", "reject"] as const) {
        const queue = [input("first", ifBusy), input("second")];
        expect(decide(session({ queue }))).toEqual({ type: "start-run", input: queue[0] });
      }
    });

    it("knows nothing to halt", () => {
      for (const halt of ["interrupted", "deadline", "failed"] as const)
        expect(decide(session(), halt)).toEqual({ type: "idle" });
    });
  });

  describe("in a run", () => {
    it("takes up the input that started it before anything else", () => {
      const queue = [input("steer", "steer"), input("a")];
      expect(decide(session({ queue, run: run() }))).toEqual({ type: "take-input", input: queue[1] });
    });

    it("asks the model what is unanswered", () => {
      expect(decide(session({ run: run({ unanswered: true }) }))).toEqual({ type: "call-model", turn: 1, attempt: 1 });
      const second = run({ unanswered: true, turns: 3, turn: { number: 3, attempt: 2, reason: "stop" } });
      expect(decide(session({ run: second }))).toEqual({ type: "call-model", turn: 4, attempt: 1 });
    });

    it("DUR-05 asks again with the next attempt when a crash left a turn open, limits or not", () => {
      const open = run({ unanswered: true, turns: 1, turn: { number: 2, attempt: 3 }, limits: { turns: 1 } });
      expect(decide(session({ run: open }))).toEqual({ type: "call-model", turn: 2, attempt: 4 });
    });

    it("ends with end-turn when a hook settled the input, even when a halt came in", () => {
      for (const halt of [undefined, "interrupted", "deadline", "failed"] as const)
        expect(decide(session({ run: run({ settled: true }) }), halt)).toEqual({ type: "finish", reason: "end-turn" });
    });

    it("EDGE-05 halts in every state that is not settled", () => {
      const states: RunState[] = [
        run(),
        run({ unanswered: true, turn: { number: 1, attempt: 1 } }),
        afterTurn("tool-calls", { calls: [call("c", "proposed")] }),
        afterTurn("tool-calls", { calls: [call("c", "started")] }),
        afterTurn("error"),
      ];
      for (const halt of ["interrupted", "deadline", "failed"] as const)
        for (const state of states)
          expect(decide(session({ run: state, queue: [input("a")] }), halt)).toEqual({ type: "halt", reason: halt });
    });
  });

  describe("with calls", () => {
    const table: readonly {
      readonly calls: readonly CallState[];
      readonly requests?: readonly OpenRequest[];
      readonly next: Action;
    }[] = [
      { calls: [call("c", "proposed")], next: { type: "run-tools" } },
      { calls: [call("c", "started")], next: { type: "run-tools" } },
      { calls: [call("c", "finished"), call("d", "proposed")], next: { type: "run-tools" } },
      {
        calls: [call("c", "proposed")],
        requests: [asking("r", "c")],
        next: { type: "await-request", requestIds: ["r"] },
      },
      {
        calls: [call("c", "proposed"), call("d", "proposed")],
        requests: [asking("r", "c")],
        next: { type: "run-tools" },
      },
      { calls: [call("c", "started")], requests: [asking("r", "c")], next: { type: "run-tools" } },
      { calls: [call("c", "proposed")], requests: [asking("r")], next: { type: "run-tools" } },
      {
        calls: [call("c", "proposed"), call("d", "proposed")],
        requests: [asking("r", "c"), asking("s", "d")],
        next: { type: "await-request", requestIds: ["r", "s"] },
      },
      { calls: [call("c", "finished")], next: { type: "call-model", turn: 2, attempt: 1 } },
    ];
    for (const [index, { calls, requests = [], next }] of table.entries()) {
      it(`row ${index + 1}: ${calls.map((each) => each.status).join(", ")} with ${requests.length} requests -> ${next.type}`, () => {
        const open = Object.fromEntries(requests.map((request) => [request.requestId, request]));
        expect(decide(session({ run: afterTurn("tool-calls", { calls }), requests: open }))).toEqual(next);
      });
    }

    it("LOOP-14 hears no steer before the calls of the turn are finished", () => {
      const queue = [input("s", "steer")];
      const busy = afterTurn("tool-calls", { calls: [call("c", "started")] });
      expect(decide(session({ queue, run: busy }))).toEqual({ type: "run-tools" });
    });
  });

  describe("between turns", () => {
    const ends: { readonly [reason in TurnReason]: Action } = {
      stop: { type: "finish", reason: "end-turn" },
      other: { type: "finish", reason: "end-turn" },
      "tool-calls": { type: "call-model", turn: 2, attempt: 1 },
      paused: { type: "call-model", turn: 2, attempt: 1 },
      length: { type: "finish", reason: "max-tokens" },
      "content-filter": { type: "finish", reason: "content-filter" },
      refusal: { type: "finish", reason: "refusal" },
      "context-exceeded": { type: "finish", reason: "context-exceeded" },
      interrupted: { type: "finish", reason: "interrupted" },
      cut: { type: "finish", reason: "error" },
      error: { type: "finish", reason: "error" },
    };
    for (const [reason, next] of Object.entries(ends) as [TurnReason, Action][]) {
      const end = next.type === "finish" ? next.reason : "another turn";
      it(`LOOP-19 a turn that ended with ${reason} leads to ${end}`, () => {
        expect(decide(session({ run: afterTurn(reason) }))).toEqual(next);
      });
    }

    it("LOOP-14 takes the oldest steer before it asks the model or ends", () => {
      const queue = [input("later"), input("one", "steer"), input("two", "steer")];
      for (const reason of ["stop", "tool-calls", "paused", "other"] as const)
        expect(decide(session({ queue, run: afterTurn(reason) }))).toEqual({ type: "take-input", input: queue[1] });
    });

    it("LOOP-14 a run that failed hears no steer", () => {
      const queue = [input("one", "steer")];
      for (const reason of ["length", "refusal", "error", "cut", "content-filter", "context-exceeded"] as const)
        expect(decide(session({ queue, run: afterTurn(reason) })).type).toBe("finish");
    });

    it("LOOP-15 leaves queued and interrupting inputs to the next run", () => {
      const queue = [input("later"), input("next", "interrupt")];
      expect(decide(session({ queue, run: afterTurn("stop") }))).toEqual({ type: "finish", reason: "end-turn" });
    });
  });

  describe("limits", () => {
    const usage = {
      inputTokens: 10,
      outputTokens: 20,
      cacheReadTokens: 30,
      cacheWriteTokens: 40,
      costMicroUsd: 5,
      reasoningTokens: 1_000,
    };
    const table: readonly [Limits, StopReason | undefined][] = [
      [{ turns: 1 }, "max-turns"],
      [{ turns: 2 }, undefined],
      [{ tokens: 100 }, "budget"],
      [{ tokens: 101 }, undefined],
      [{ calls: 2 }, "budget"],
      [{ calls: 3 }, undefined],
      [{ microUsd: 5 }, "budget"],
      [{ microUsd: 6 }, undefined],
      [{ turns: 0 }, "max-turns"],
      [{ wallMs: 0, toolMs: 0 }, undefined],
    ];
    for (const [limits, reason] of table) {
      it(`LOOP-04 ${JSON.stringify(limits)} ${reason === undefined ? "lets the run go on" : `ends it with ${reason}`}`, () => {
        const state = afterTurn("tool-calls", { limits, usage, callsMade: 2 });
        const next = decide(session({ run: state }));
        expect(next).toEqual(
          reason === undefined ? { type: "call-model", turn: 2, attempt: 1 } : { type: "finish", reason },
        );
      });
    }

    it("do not matter when the model has nothing more to say", () => {
      const done = afterTurn("stop", { limits: { turns: 1, calls: 0, tokens: 0 } });
      expect(decide(session({ run: done }))).toEqual({ type: "finish", reason: "end-turn" });
    });
  });

  it("depends on nothing but its arguments and changes none of them", () => {
    const halts: (HaltReason | undefined)[] = [undefined, "interrupted", "deadline", "failed"];
    fc.assert(
      fc.property(
        fc.constantFrom<TurnReason>("stop", "tool-calls", "paused", "length", "error"),
        fc.array(fc.constantFrom<CallState["status"]>("proposed", "started", "finished"), { maxLength: 3 }),
        fc.array(fc.constantFrom<QueuedInput["ifBusy"]>("queue", "steer", "interrupt"), { maxLength: 3 }),
        fc.constantFrom(...halts),
        (reason, statuses, waiting, halt) => {
          const calls = statuses.map((status, index) => call(`c${index}`, status));
          const queue = waiting.map((ifBusy, index) => input(`i${index}`, ifBusy));
          const state = session({ queue, run: afterTurn(reason, { calls }) });
          const before = JSON.stringify(state);
          const first = decide(state, halt);
          expect(decide(JSON.parse(before) as SessionState, halt)).toEqual(first);
          expect(JSON.stringify(state)).toBe(before);
        },
      ),
      { numRuns: 200 },
    );
  });
});
