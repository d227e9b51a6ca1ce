/** Waiting in tests without time passing, and reading what came: turns of the event loop, the log of a session. */

import type { Fact, FactOf } from "../words/event.ts";
import type { Store } from "../ports/store.ts";

/** Throws after 500 turns of the event loop. */
export async function until(ready: () => boolean | Promise<boolean>, what = "the condition"): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await ready()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${what} did not come`);
}

/** Fails instead of hanging when nothing settles the promise. */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await until(() => done, "the end of the promise");
  return promise;
}

export async function logOf(store: Store, sessionId: string): Promise<readonly Fact[]> {
  return store.read(sessionId, { after: 0, limit: 10_000 });
}

export function ofType<T extends Fact["type"]>(facts: readonly Fact[], type: T): readonly FactOf<T>[] {
  return facts.filter((fact): fact is FactOf<T> => fact.type === type);
}
