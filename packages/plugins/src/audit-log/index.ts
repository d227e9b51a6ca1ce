/** An audit log that shows when it was changed: who asked, what ran, who consented, as a chain of hashes in one file. */

import { isAbsolute } from "node:path";
import { CapstanError, type Definitions, type Fact, isLive, type Plugin, plugin, type Redactor } from "@capstan/core";
import { auditedData, type Body, bodies, isAudited } from "./audited-facts.ts";
import { AuditFile } from "./audit-file.ts";
import type { AuditEntry, AuditKey } from "./chain.ts";

export type { AuditKey, AuditRecord } from "./chain.ts";
export { type AuditProblem, type AuditReport, verifyAuditLog, type VerifyOptions } from "./verify.ts";

export type AuditLogOptions = {
  /** Absolute: a file of JSON lines, with `<path>.head` beside it. Sessions and processes may share it. */
  readonly path: string;
  /** At least 16 bytes. With it the lines are HMAC-SHA256, which nobody can make without it. */
  readonly key?: AuditKey;
  /** Also inputs, arguments and results, in place of their hashes; secrets taken out. Default false. */
  readonly content?: boolean;
};

const MIN_KEY_BYTES = 16;
const BATCH = 1_000;
/** Facts that wait for the disk. */
const MAX_WAITING = 10_000;
const MAX_SESSIONS = 10_000;

/**
 * Give it to the runtime, so that sub-agents are logged too. Nothing waits for it: what a crash came before is added when the
 * session is next driven. Throws `plugin-invalid`.
 */
export function auditLog({ path, key, content = false }: AuditLogOptions): Plugin {
  if (!isAbsolute(path)) throw invalid("path must be absolute");
  if (key !== undefined && Buffer.byteLength(key) < MIN_KEY_BYTES)
    throw invalid(`key has at least ${MIN_KEY_BYTES} bytes`);
  const logs = new Map<Definitions, SessionLogs>();
  return plugin({
    name: "audit-log",
    on(envelope) {
      const { sessionId, agent, event } = envelope;
      if (!isLive(event)) [...logs.values()].at(-1)?.see({ sessionId, agent, fact: event });
    },
    open(runtime) {
      const log = new SessionLogs(runtime, { path, ...(key !== undefined && { key }) }, bodies(content), logs);
      logs.set(runtime, log);
      return {
        async [Symbol.asyncDispose]() {
          await log.close();
          logs.delete(runtime);
        },
      };
    },
  });
}

type Seen = { readonly sessionId: string; readonly agent: string; readonly fact: Fact };

class SessionLogs {
  readonly #file: AuditFile;
  readonly #body: Body;
  readonly #redactor: Redactor;
  readonly #runtimes: ReadonlyMap<Definitions, unknown>;
  readonly #ended = new AbortController();
  /** Sessions whose log is in the file up to what was seen. */
  readonly #caughtUp = new Set<string>();
  /** Agents of sessions whose run goes on: at the end what was not seen of it is looked up. */
  readonly #running = new Map<string, string>();
  #waiting: Seen[] = [];
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    runtime: Definitions,
    { path, key }: Pick<AuditLogOptions, "path" | "key">,
    body: Body,
    runtimes: ReadonlyMap<Definitions, unknown>,
  ) {
    this.#file = new AuditFile(path, key, runtime.clock, this.#ended.signal);
    this.#body = body;
    this.#redactor = runtime.redactor;
    this.#runtimes = runtimes;
  }

  /** Throws what went wrong with an earlier write, once. */
  see(seen: Seen): void {
    const { sessionId, agent, fact } = seen;
    if (fact.type === "run.finished") this.#running.delete(sessionId);
    else if (this.#running.size < MAX_SESSIONS) this.#running.set(sessionId, agent);
    if (isAudited(fact) || !this.#caughtUp.has(sessionId)) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(seen);
      else this.#caughtUp.delete(sessionId); // read from its log with the next fact
      this.#writing ??= this.#drain();
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#closeRuns().catch(() => undefined); // added when the session is next driven
    this.#ended.abort();
    this.#file.close();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      try {
        await this.#write(batch);
      } catch (error) {
        for (const { sessionId } of batch) this.#caughtUp.delete(sessionId);
        this.#failure = { error };
      }
    }
    this.#writing = undefined;
  }

  async #write(batch: readonly Seen[]): Promise<void> {
    const entries: AuditEntry[] = [];
    for (const { sessionId, agent, fact } of batch) {
      if (!this.#caughtUp.has(sessionId)) entries.push(...(await this.#missing(sessionId, agent, fact.seq)));
      if (this.#caughtUp.size >= MAX_SESSIONS) this.#caughtUp.clear(); // looked up again
      this.#caughtUp.add(sessionId);
      entries.push(...this.#entryOf(sessionId, agent, fact));
    }
    await this.#file.append(entries);
  }

  /** What a runtime that closes did not hand on any more. */
  async #closeRuns(): Promise<void> {
    for (const [sessionId, agent] of this.#running)
      await this.#file.append(await this.#missing(sessionId, agent, Number.POSITIVE_INFINITY));
  }

  /** What came to the session's log and not into the file: before this process, or where a write failed. */
  async #missing(sessionId: string, agent: string, before: number): Promise<readonly AuditEntry[]> {
    const after = await this.#file.seqOf(sessionId);
    for (const { engine } of [...this.#runtimes.keys()].toReversed()) {
      const entries: AuditEntry[] = [];
      try {
        for await (const fact of engine.read(sessionId, { after })) {
          if (fact.seq >= before) break;
          entries.push(...this.#entryOf(sessionId, agent, fact));
        }
        return entries;
      } catch (error) {
        if (!CapstanError.is(error, "session-not-found", "session-damaged", "closed", "aborted")) throw error;
      }
    }
    return [];
  }

  #entryOf(session: string, agent: string, fact: Fact): readonly AuditEntry[] {
    const data = isAudited(fact) ? auditedData(fact, this.#body) : undefined;
    if (data === undefined) return [];
    return [{ at: fact.at, session, seq: fact.seq, agent, type: fact.type, data: this.#redactor.json(data) }];
  }
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `auditLog: ${what}`);
}
