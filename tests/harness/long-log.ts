/** A log of any length, written through the store in big appends, with the snapshots that the loop would have made. */

import {
  type Fact,
  type FactOf,
  firstSummary,
  initialState,
  type Json,
  LIMITS,
  type NewFact,
  reduce,
  sha256,
  STATE_VERSION,
  type SessionState,
  type Store,
} from "@capstan/core";

const ACTOR = { id: "local", door: "library" } as const;
const USAGE = { inputTokens: 10, outputTokens: 5 };
/** Facts in one append. */
const BATCH = 4_000;
/** Facts behind the last compaction: what a model still sees. */
const FRESH = 64;
/** Facts behind the last snapshot: nearly as many as the loop ever leaves. */
const TAIL = 100;

/** The session has exactly `length` facts of finished runs, is idle, and was compacted near its end. */
export async function writeLongLog(store: Store, sessionId: string, agent: string, length: number): Promise<void> {
  const prefix = new TextEncoder().encode(JSON.stringify({ system: "Long.", tools: [] }));
  const hash = sha256(prefix);
  await store.putBlob(hash, prefix);
  const first: FactOf<"session.created"> = { ...created(sessionId, agent), seq: 1, at: 1 };
  let state = initialState(first);
  await store.create({ sessionId, facts: [first], summary: { ...firstSummary(first), head: 1 } });
  const claim = await store.claim(sessionId, "writer");
  const epoch = claim?.epoch ?? 0;
  let batch: Fact[] = [];
  const snapshotAt = length - TAIL;
  for (const body of bodies(length, hash)) {
    const fact: Fact = { ...body, seq: state.head + 1, at: state.head + 1 };
    state = reduce(state, fact);
    batch.push(fact);
    if (batch.length < BATCH && state.head !== snapshotAt && state.head < length) continue;
    const due = state.head === snapshotAt && state.head >= LIMITS.snapshotFacts;
    await store.append(
      { sessionId, epoch, facts: batch, summary: summaryOf(first, state), ...(due && { snapshot: snapshotOf(state) }) },
      { sync: false },
    );
    batch = [];
  }
  await store.release(sessionId, epoch);
}

function snapshotOf(state: SessionState): { readonly seq: number; readonly version: number; readonly data: Json } {
  return { seq: state.head, version: STATE_VERSION, data: { state, folds: {} } as unknown as Json }; // as the loop writes it
}

function summaryOf(first: FactOf<"session.created">, state: SessionState): ReturnType<typeof firstSummary> {
  return { ...firstSummary(first), usage: state.usage, head: state.head, updatedAt: state.head };
}

function created(sessionId: string, agent: string): Extract<NewFact, { type: "session.created" }> {
  return { type: "session.created", key: "session", sessionId, agent, mode: "ask", actor: ACTOR };
}

/** Everything after the first fact: runs of seven facts, filled up with notes of a plugin. */
function* bodies(length: number, hash: string): Generator<NewFact> {
  yield { type: "prefix.set", key: "prefix", hash, blob: hash, cause: "session started" };
  let seq = 2;
  for (let number = 1; seq + 8 <= length - 1; number++) {
    for (const body of run(number, hash)) {
      yield body;
      seq += 1;
    }
  }
  for (; seq < length - 1; seq++) yield { type: "data", key: `note/${seq}`, name: "plugin/notes", data: seq };
  const summary = [{ type: "text", text: "What was said before." }] as const;
  const throughSeq = Math.max(2, length - FRESH);
  yield {
    type: "context.compacted",
    key: "compacted",
    trigger: "auto",
    throughSeq,
    tokensBefore: 9,
    tokensAfter: 1,
    summary,
  };
}

function* run(number: number, prefixHash: string): Generator<NewFact> {
  const runId = `run_${number}`;
  const inputId = `in_${number}`;
  const question = { type: "text", text: `Question ${number}, with some words around it` } as const;
  const answer = { type: "text", text: `Answer ${number}, with a few more words around it than that` } as const;
  const said = `${runId}/turn/1/message`;
  const model = "test/model";
  yield {
    type: "input.accepted",
    key: `input/${inputId}`,
    runId,
    inputId,
    parts: [question],
    ifBusy: "queue",
    actor: ACTOR,
  };
  yield { type: "run.started", key: `${runId}/started`, runId, trigger: "input", inputId, agentHash: "x", limits: {} };
  yield {
    type: "message.added",
    key: `${runId}/input`,
    runId,
    inputId,
    message: { id: inputId, role: "user", parts: [question] },
  };
  yield { type: "turn.started", key: `${runId}/turn/1/started/1`, runId, turn: 1, attempt: 1, model, prefixHash };
  yield { type: "message.added", key: said, runId, turn: 1, message: { id: said, role: "assistant", parts: [answer] } };
  yield { type: "turn.finished", key: `${runId}/turn/1/finished`, runId, turn: 1, reason: "stop", model, usage: USAGE };
  yield { type: "run.finished", key: `${runId}/finished`, runId, reason: "end-turn", usage: USAGE, turns: 1 };
}
