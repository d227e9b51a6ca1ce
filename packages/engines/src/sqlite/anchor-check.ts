/** Compares the database with the anchors beside it when a store is opened: a lost tail becomes a quarantine. */

import { compactAnchors, readAnchors, type Anchor } from "./anchor.ts";
import type { Database } from "./database.ts";
import { damageText, find, quarantine } from "./session-row.ts";
import { createLost } from "./sessions.ts";

export function checkAnchors(db: Database, path: string): void {
  if (lost(db, path).length === 0) return compactAnchors(path);
  db.run("BEGIN IMMEDIATE");
  try {
    // Once more while nobody writes: another process may just have removed a session.
    for (const anchor of lost(db, path)) markLost(db, anchor);
    db.run("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  }
}

/** Anchors that the database does not reach. */
function lost(db: Database, path: string): readonly Anchor[] {
  return [...readAnchors(path).values()].filter(({ sessionId, number, head }) => {
    const row = find(db, sessionId);
    if (row === undefined) return head > 0;
    return row.number === number && row.head < head && row.damage === null;
  });
}

function markLost(db: Database, { sessionId, head }: Anchor): void {
  const row = find(db, sessionId);
  const left = row === undefined ? "nothing of it" : `only ${row.head} of them`;
  const text = damageText(sessionId, `fact ${head} was on disk once, but the store holds ${left}`);
  if (row === undefined) createLost(db, sessionId, text);
  else quarantine(db, sessionId, text);
}
