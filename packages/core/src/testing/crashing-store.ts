/** A store that dies with its process: at a chosen write everything stops, before or after that write took place. */

import type { MemoryStore } from "../store-engine/memory-store.ts";
import type { Store } from "../ports/store.ts";

/** `write` counts from 1. "before": what was done since the last write is not recorded. "after": it is, but nobody learns of it. */
export type CrashPoint = { readonly write: number; readonly when: "before" | "after" };
export type CrashingStore = Store & {
  /** Writes seen so far. */
  readonly writes: number;
  readonly crashed: boolean;
  /** Resolves at the crash. */
  readonly crash: Promise<void>;
};

const never: Promise<never> = new Promise(() => undefined);

/** Wraps `inner`, which lives on: another engine can open it and finds the owner dead. Without a point it only counts. */
export function crashingStore(inner: MemoryStore, point?: CrashPoint): CrashingStore {
  let writes = 0;
  let crashed = false;
  let owner: string | undefined;
  let tell = (): void => undefined;
  const crash = new Promise<void>((resolve) => (tell = resolve));
  const die = (): Promise<never> => {
    crashed = true;
    if (owner !== undefined) inner.kill(owner);
    tell();
    return never;
  };
  const read = <T>(work: () => Promise<T>): Promise<T> =>
    crashed ? never : work().then((value) => (crashed ? never : value));
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    if (crashed) return never;
    writes += 1;
    if (point?.write === writes && point.when === "before") return die();
    const value = await work();
    if (point?.write === writes && point.when === "after") return die();
    return crashed ? never : value;
  };
  return {
    id: inner.id,
    get writes() {
      return writes;
    },
    get crashed() {
      return crashed;
    },
    crash,
    create: (session) => write(() => inner.create(session)),
    submit: (mail) => write(() => inner.submit(mail)),
    claim: (sessionId, by, replacing) => write(() => inner.claim(sessionId, by, replacing)),
    release: (sessionId, epoch) => read(() => inner.release(sessionId, epoch)),
    append: (facts, options) => write(() => inner.append(facts, options)),
    read: (sessionId, options) => read(() => inner.read(sessionId, options)),
    snapshot: (sessionId) => read(() => inner.snapshot(sessionId)),
    mail: (sessionId) => read(() => inner.mail(sessionId)),
    summary: (sessionId) => read(() => inner.summary(sessionId)),
    list: (filter) => read(() => inner.list(filter)),
    pending: () => read(() => inner.pending()),
    fireTimers: (now) => read(() => inner.fireTimers(now)),
    register: (by) => {
      owner = by;
      return read(() => inner.register(by));
    },
    beat: (by) => read(() => inner.beat(by)),
    owners: () => read(() => inner.owners()),
    putBlob: (hash, bytes) => read(() => inner.putBlob(hash, bytes)),
    blob: (hash) => read(() => inner.blob(hash)),
    remove: (sessionId) => write(() => inner.remove(sessionId)),
    moveKey: (from, to) => write(() => inner.moveKey(from, to)),
    watch: (changed) => inner.watch(() => (crashed ? undefined : changed())),
    close: () => read(() => inner.close()),
  };
}
