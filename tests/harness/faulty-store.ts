/** A store whose writes fail on demand, as on a full disk or a broken one. Reading goes on. */

import { CapstanError, type ErrorCode, type Store } from "@capstan/core";

export type Fault = {
  readonly code: Extract<ErrorCode, "store-full" | "store-failed">;
  /** Only what writes to this session fails; without it everything does. */
  readonly sessionId?: string;
};
export type FaultyStore = Store & {
  /** From now on; `undefined` ends it. */
  fail(fault: Fault | undefined): void;
  /** Fails this write only, counted from 1 over appends. */
  failAppend(number: number): void;
  readonly appends: number;
};

export function faultyStore(inner: Store): FaultyStore {
  let fault: Fault | undefined;
  let failing = 0;
  let appends = 0;
  const write = async <T>(sessionId: string | undefined, work: () => Promise<T>, once = false): Promise<T> => {
    const hit = fault !== undefined && (fault.sessionId === undefined || fault.sessionId === sessionId);
    if (!hit && !once) return work();
    await Promise.resolve();
    throw new CapstanError(fault?.code ?? "store-failed", "the disk did not take it", { retryable: true });
  };
  return {
    ...inner,
    fail: (next) => void (fault = next),
    failAppend: (number) => void (failing = number),
    get appends() {
      return appends;
    },
    create: (session) => write(session.sessionId, () => inner.create(session)),
    submit: (mail) => write(mail.sessionId, () => inner.submit(mail)),
    claim: (sessionId, owner, replacing) => write(sessionId, () => inner.claim(sessionId, owner, replacing)),
    release: (sessionId, epoch) => write(sessionId, () => inner.release(sessionId, epoch)),
    append: (facts, options) => write(facts.sessionId, () => inner.append(facts, options), ++appends === failing),
    putBlob: (hash, bytes) => write(undefined, () => inner.putBlob(hash, bytes)),
    remove: (sessionId) => write(sessionId, () => inner.remove(sessionId)),
  };
}
