/** What the cases of the store contract share: the fixture they are given and small sessions, facts and mail. */

import assert from "node:assert/strict";
import { CapstanError, type ErrorCode } from "../words/errors.ts";
import type { Fact, FactOf } from "../words/event.ts";
import { sha256, type Json } from "../words/json.ts";
import type { MailBody } from "../words/op.ts";
import { firstSummary } from "../store-engine/summary.ts";
import type { Append, Claim, NewMail, NewSession, SessionSummary, Store } from "../ports/store.ts";
import type { SessionStatus } from "../state/session-state.ts";

export type StoreFixture = {
  /** A new, empty store. */
  readonly store: Store;
  /** Closes the store and opens it again on the same data. Absent when nothing outlives the object. */
  readonly reopen?: () => Promise<Store>;
  /** A second connection to the same data, as another process would have. `close` of the fixture closes it. */
  readonly other?: () => Promise<Store>;
  readonly close: () => Promise<void>;
};
export type StoreCase = { readonly name: string; readonly run: (store: Store, fixture: StoreFixture) => Promise<void> };

export const ACTOR = { id: "ada", door: "test" };

export type Shape = {
  readonly key?: string;
  readonly tenant?: string;
  readonly agent?: string;
  readonly title?: string;
  readonly parent?: string;
  readonly at?: number;
};

export function createdFact(sessionId: string, shape: Shape = {}): FactOf<"session.created"> {
  const { tenant, agent = "helper", title, parent, at = 1_000 } = shape;
  return {
    type: "session.created",
    key: "session.created",
    seq: 1,
    at,
    sessionId,
    agent,
    mode: "default",
    actor: { ...ACTOR, ...(tenant !== undefined && { tenant }) },
    ...(title !== undefined && { title }),
    ...(parent !== undefined && {
      parent: { sessionId: parent, runId: "run_1", callId: "run_1/1/0", depth: 1, agents: ["lead"], policies: [] },
    }),
  };
}

/** What is stored of a session that has one fact. */
export function newSession(sessionId: string, shape: Shape = {}): NewSession {
  const fact = createdFact(sessionId, shape);
  const { key: _, ...summary } = firstSummary(fact);
  return {
    sessionId,
    ...(shape.key !== undefined && { key: shape.key }),
    ...(shape.tenant !== undefined && { tenant: shape.tenant }),
    facts: [fact],
    summary: { ...summary, ...(shape.key !== undefined && { key: shape.key }) },
  };
}

/** Facts `from`, `from + 1` ... of a size that says little. */
export function dataFacts(from: number, count: number, data: Json = { n: 1 }): readonly Fact[] {
  return Array.from({ length: count }, (_, index) => dataFact(from + index, data));
}

export function dataFact(seq: number, data: Json, key = `data/${seq}`): Fact {
  return { type: "data", name: "note", data, key, seq, at: 1_000 + seq, runId: "run_1" };
}

export function updatedFact(seq: number, title: string): Fact {
  return { type: "session.updated", title, actor: ACTOR, key: `title/${seq}`, seq, at: 1_000 + seq };
}

/** A `send` under a key. The digest is of the text. */
export function sendMail(
  sessionId: string,
  key: string,
  text: string,
  more: { readonly ifIdle?: boolean } = {},
): NewMail {
  const accepted = { sessionId, inputId: `in_${key}`, runId: `run_${key}` };
  const op = { type: "send", sessionId, parts: [{ type: "text", text }], ifBusy: "queue" } as const;
  const body: MailBody = { type: "op", op, accepted };
  return { sessionId, key, digest: sha256(text), actor: ACTOR, body, accepted, ...more };
}

/** A new session that `owner` holds. */
export async function held(store: Store, sessionId: string, owner = "owner-a"): Promise<Claim> {
  await store.create(newSession(sessionId));
  const claim = await store.claim(sessionId, owner);
  assert.ok(claim);
  return claim;
}

export async function withStatus(store: Store, sessionId: string, epoch: number, status: SessionStatus): Promise<void> {
  const summary = await summaryOf(store, sessionId);
  await store.append({ sessionId, epoch, facts: [], summary: { ...summary, status } }, { sync: false });
}

export async function summaryOf(store: Store, sessionId: string): Promise<SessionSummary> {
  const summary = await store.summary(sessionId);
  assert.ok(summary);
  return summary;
}

export async function seqs(store: Store, sessionId: string): Promise<readonly number[]> {
  return (await store.read(sessionId, { after: 0 })).map((fact) => fact.seq);
}

export function write(sessionId: string, epoch: number, facts: readonly Fact[], more: Partial<Append> = {}): Append {
  return { sessionId, epoch, facts, ...more };
}

/** The promise rejects with a `CapstanError` of this code. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => {
    if (!CapstanError.is(error)) return false;
    assert.equal(error.code, code);
    return true;
  });
}
