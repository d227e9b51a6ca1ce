/** What the cases of the store contract share: the fixture they are given and small sessions, facts and mail. */

import assert from "node:assert/strict";
import { CapstanError, type ErrorCode } from "../errors.ts";
import type { Fact, FactOf, NewFact } from "../event.ts";
import { sha256, type Json } from "../json.ts";
import type { MailBody } from "../op.ts";
import { firstSummary } from "../store.ts";
import type { Append, Claim, NewMail, NewSession, SessionStatus, SessionSummary, Store } from "../store.ts";

export type StoreFixture = {
  /** A new, empty store. */
  readonly store: Store;
  /** Closes the store and opens it again on the same data. Absent when nothing outlives the object. */
  readonly reopen?: () => Promise<Store>;
  /** A second connection to the same data, as another process would have. `close` of the fixture closes it. */
  readonly other?: () => Promise<Store>;
  readonly close: () => Promise<void>;
};
export type StoreCase = {
  readonly name: string;
  readonly run: (store: Store, fixture: StoreFixture) => Promise<void>;
};

const ACTOR = { id: "ada", door: "test" };

export function createdFact(sessionId: string, options: Partial<FactOf<"session.created">> = {}): FactOf<"session.created"> {
  const actor = options.actor ?? ACTOR;
  return {
    ...{ type: "session.created", key: "session.created", seq: 1, at: 1_000 },
    ...{ sessionId, agent: "helper", mode: "default" },
    ...options,
    actor,
  };
}

export function newSession(sessionId: string, options: Partial<FactOf<"session.created">> = {}): NewSession {
  const fact = createdFact(sessionId, options);
  return {
    sessionId,
    ...(fact.key !== undefined && options.key !== undefined && { key: options.key }),
    ...(fact.actor.tenant !== undefined && { tenant: fact.actor.tenant }),
    facts: [{ ...fact, key: "session.created" }],
    summary: firstSummary(fact),
  };
}
