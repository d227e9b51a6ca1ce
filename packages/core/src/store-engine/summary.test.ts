import { describe, expect, it } from "vitest";
import type { Fact } from "../words/event.ts";
import { NO_USAGE } from "../words/message.ts";
import type { SessionSummary } from "../ports/store.ts";
import { firstSummary, summarize } from "./summary.ts";

const ACTOR = { id: "ada", door: "test", tenant: "acme" };
const first = firstSummary({
  type: "session.created",
  key: "session",
  seq: 1,
  at: 5,
  sessionId: "ses_1",
  sessionKey: "chat",
  agent: "guide",
  title: "T",
  mode: "ask",
  parent: { sessionId: "ses_0", runId: "run_0", callId: "c", depth: 1, agents: ["lead"], policies: [] },
  actor: ACTOR,
});

function after(...bodies: readonly object[]): SessionSummary {
  return bodies.reduce<SessionSummary>(
    (summary, body, index) => summarize(summary, { key: `k${index}`, seq: index + 2, at: 9, ...body } as Fact),
    first,
  );
}
const accepted = { type: "input.accepted", inputId: "a", runId: "run_a" };
const started = { type: "run.started", inputId: "a", runId: "run_a" };
const taken = { type: "message.added", inputId: "a", runId: "run_a", message: { role: "user", parts: [] } };
const finished = { type: "run.finished", runId: "run_a", reason: "end-turn", usage: NO_USAGE };
const asked = {
  type: "request.opened",
  requestId: "r",
  runId: "run_a",
  request: { type: "question", questions: [] },
  expiresAt: 99,
};

describe("summarize", () => {
  it("SESS-01 begins with what the session was created with", () => {
    expect(first).toEqual({
      sessionId: "ses_1",
      agent: "guide",
      key: "chat",
      tenant: "acme",
      title: "T",
      parent: "ses_0",
      status: "idle",
      queued: 0,
      openRequests: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      createdAt: 5,
      updatedAt: 5,
      head: 1,
    });
  });

  it("SESS-19 follows a run from its input to its end", () => {
    expect(after(accepted)).toMatchObject({ status: "running", queued: 1 });
    expect(after(accepted, started)).toMatchObject({ status: "running", queued: 1, runId: "run_a" });
    expect(after(accepted, started, taken)).toMatchObject({ status: "running", queued: 0 });
    const ended = after(accepted, started, taken, finished);
    expect(ended).toMatchObject({ status: "idle", queued: 0 });
    expect(ended).not.toHaveProperty("runId");
  });

  it("SESS-19 tells waiting from parked, and any sign of life ends both", () => {
    const waiting = after(accepted, started, taken, asked, { type: "run.suspended", runId: "run_a" });
    expect(waiting).toMatchObject({
      status: "waiting",
      openRequests: [{ requestId: "r", sessionId: "ses_1", runId: "run_a", openedAt: 9, expiresAt: 99 }],
    });
    expect(after(accepted, started, taken, { type: "run.suspended", runId: "run_a" }).status).toBe("parked");
    for (const type of ["run.resumed", "turn.started", "tool.started", "tool.finished", "step.finished"])
      expect(summarize(waiting, { type, key: "x", seq: 9, at: 9 } as Fact).status).toBe("running");
    const answered = summarize(waiting, { type: "request.resolved", requestId: "r", key: "x", seq: 9, at: 9 } as Fact);
    expect(answered).toMatchObject({ status: "running", openRequests: [] });
  });

  it("an input that was withdrawn leaves an idle session idle", () => {
    const withdrawn = { type: "input.withdrawn", inputId: "a" };
    expect(after(accepted, withdrawn)).toMatchObject({ status: "idle", queued: 0 });
    expect(after(accepted, started, taken, accepted, withdrawn)).toMatchObject({ status: "running", queued: 0 });
  });

  it("COST-07 adds up the usage of all runs", () => {
    const end = { ...finished, usage: { inputTokens: 2, outputTokens: 1, costMicroUsd: 5 } };
    expect(after(end, end).usage).toEqual({ inputTokens: 4, outputTokens: 2, costMicroUsd: 10 });
  });

  it("is the same object when nothing changes that a list shows", () => {
    for (const type of [
      "prefix.set",
      "data",
      "context.compacted",
      "task.started",
      "plan.updated",
      "turn.started",
      "turn.finished",
    ])
      expect(summarize(first, { type, key: "x", seq: 2, at: 9 } as Fact)).toBe(first);
  });
});
