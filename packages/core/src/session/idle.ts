/** Whether a session has work to do, and waiting until it has none. */

import type { Engine } from "../ports/engine.ts";
import type { SessionSummary } from "../ports/store.ts";
import { summarize } from "../store-engine/summary.ts";
import { CapstanError } from "../words/errors.ts";
import { isLive } from "../words/event.ts";
import type { Accepted } from "../words/op.ts";

/** `sent` is the newest input this caller knows of: it may stand in the mailbox yet, where no summary counts it. */
type Watched = { readonly engine: Engine; readonly sessionId: string; readonly sent: Accepted | undefined };

export async function isRunning({ engine, sessionId, sent }: Watched): Promise<boolean> {
  const { status, head } = await summaryOf(engine, sessionId);
  if (status === "running" || sent?.inputId === undefined) return status === "running";
  for await (const fact of engine.read(sessionId, { after: sent.after ?? head, types: ["input.accepted"] })) {
    if (fact.type === "input.accepted" && fact.inputId === sent.inputId) return false;
  }
  return true;
}

/** Folds the summary from the events, which may be ahead of the stored one. Throws the signal's reason. */
export async function waitForIdle(watched: Watched, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { engine, sessionId, sent } = watched;
  let summary = await summaryOf(engine, sessionId);
  let heard = sent?.inputId === undefined;
  if (heard && summary.status === "idle") return;
  const after = String(Math.min(sent?.after ?? summary.head, summary.head));
  for await (const { event } of engine.events(sessionId, { after, ...(signal !== undefined && { signal }) })) {
    if (isLive(event)) continue;
    if (event.seq > summary.head) summary = { ...summarize(summary, event), head: event.seq };
    heard ||= event.type === "input.accepted" && event.inputId === sent?.inputId;
    if (heard && summary.status === "idle") return;
  }
  signal?.throwIfAborted(); // else the engine was closed or the session removed: nothing runs here any more
}

async function summaryOf(engine: Engine, sessionId: string): Promise<SessionSummary> {
  const summary = await engine.summary(sessionId);
  if (summary !== undefined) return summary;
  throw new CapstanError("session-not-found", `There is no session ${JSON.stringify(sessionId)}`);
}
