/** Rows of mailboxes and timers. Consumed mail keeps its key, digest and answer, so that a repeated key stays known. */

import { CapstanError, type Accepted, type Append, type MailboxEntry, type NewMail } from "@capstan/core";
import type { Database } from "./database.ts";
import { checksumOf, nameBlobs } from "./facts.ts";
import { damaged, mustFind, requireWhole } from "./session-row.ts";
import { fromText, toText } from "./text.ts";

type MailRow = {
  readonly position: number;
  readonly key: string | null;
  readonly checksum: number;
  readonly entry: string;
};
type TimerRow = { readonly session: number; readonly name: string };

const KNOWN = "SELECT digest, accepted FROM mail WHERE session = ? AND key = ?";
const INSERT =
  "INSERT INTO mail (session, position, key, digest, accepted, input, checksum, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

export function submit(db: Database, mail: NewMail): Accepted {
  const { sessionId, digest } = mail;
  const row = mustFind(db, sessionId);
  const { number, status } = row;
  const known = db.get<{ readonly digest: string; readonly accepted: string }>(KNOWN, number, toText(mail.key));
  if (known !== undefined) {
    if (known.digest === digest) return JSON.parse(known.accepted) as Accepted; // as submitted
    throw new CapstanError("idempotency-conflict", `The key ${mail.key} was used for another request; use a new key`);
  }
  requireWhole(row);
  if (mail.ifIdle === true && (status !== "idle" || hasInput(db, number))) {
    throw new CapstanError("session-busy", `Session ${sessionId} is busy; wait for its run or queue the input`, {
      retryable: true,
    });
  }
  const position = nextPosition(db, number);
  const key = toText(mail.key);
  const isInput = mail.body.type === "op" && mail.body.op.type === "send";
  const entry = JSON.stringify({ actor: mail.actor, ...mail.body });
  const checksum = checksumOf(position, `mail ${key} ${entry}`);
  db.run(INSERT, number, position, key, digest, JSON.stringify(mail.accepted), isInput ? 1 : 0, checksum, entry);
  nameBlobs(db, number, entry);
  return mail.accepted;
}

/** Entries not yet consumed, oldest first. Throws `session-damaged` when one was altered. */
export function unread(db: Database, sessionId: string): readonly MailboxEntry[] {
  const { number } = mustFind(db, sessionId);
  const sql =
    "SELECT position, key, checksum, entry FROM mail WHERE session = ? AND entry IS NOT NULL ORDER BY position";
  return db.all<MailRow>(sql, number).map(({ position, key, checksum, entry }) => {
    if (checksum !== checksumOf(position, `mail ${key ?? ""} ${entry}`))
      throw damaged(sessionId, `mail ${position} was altered`);
    const body = JSON.parse(entry) as MailboxEntry; // the checksum says it is as written
    if (body.type === "timer") return { ...body, key: `timer/${body.name}/${position}`, position };
    return { ...body, key: fromText(key ?? ""), position };
  });
}

export function consumeMail(db: Database, sessionId: string, session: number, positions: readonly number[]): void {
  const sql = "UPDATE mail SET entry = NULL WHERE session = ? AND position = ? AND entry IS NOT NULL";
  for (const position of positions) {
    if (db.run(sql, session, position) === 1) continue;
    throw new CapstanError(
      "store-conflict",
      `Session ${sessionId} refused the write: mail ${position} was consumed before`,
    );
  }
}

export function setTimers(db: Database, session: number, timers: NonNullable<Append["timers"]>): void {
  for (const { name, at } of timers) {
    const text = toText(name);
    if (at === undefined) db.run("DELETE FROM timers WHERE session = ? AND name = ?", session, text);
    else db.run("INSERT OR REPLACE INTO timers (session, name, at) VALUES (?, ?, ?)", session, text, at);
  }
}

/** Timers that are moved in one transaction: more would hold the thread. */
const TIMERS_AT_ONCE = 500;

/** Moves the first of those that are due. Timers of a session in quarantine stay where they are. */
export function fireTimers(db: Database, now: number): number | undefined {
  const whole = "session IN (SELECT number FROM sessions WHERE damage IS NULL)";
  const sql = `SELECT session, name FROM timers WHERE at <= ? AND ${whole} ORDER BY at, session LIMIT ?`;
  const due = db.all<TimerRow>(sql, now, TIMERS_AT_ONCE);
  for (const { session, name } of due) {
    const position = nextPosition(db, session);
    const actor = { id: "timer", door: "store" };
    const entry = JSON.stringify({ actor, type: "timer", name: fromText(name) });
    db.run(INSERT, session, position, null, null, null, 0, checksumOf(position, `mail  ${entry}`), entry);
    db.run("DELETE FROM timers WHERE session = ? AND name = ?", session, name);
  }
  return nextDue(db);
}

/** When the next timer is due: what `fireTimers` answers when it has nothing to move. */
export function nextDue(db: Database): number | undefined {
  const sql =
    "SELECT at FROM timers WHERE session IN (SELECT number FROM sessions WHERE damage IS NULL) ORDER BY at LIMIT 1";
  return db.get<{ readonly at: number }>(sql)?.at;
}

function hasInput(db: Database, session: number): boolean {
  return db.get("SELECT 1 FROM mail WHERE session = ? AND entry IS NOT NULL AND input = 1", session) !== undefined;
}

/** Consumed entries keep their rows, so positions only grow. */
function nextPosition(db: Database, session: number): number {
  const sql = "SELECT max(position) AS last FROM mail WHERE session = ?";
  return (db.get<{ readonly last: number | null }>(sql, session)?.last ?? 0) + 1;
}
