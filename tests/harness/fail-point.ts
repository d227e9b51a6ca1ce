/** A store whose process dies by SIGKILL at a named point of a run: real deaths at chosen places. */

import type { Fact, Store } from "@capstan/core";

/** `type` of the fact whose commit is struck, the `count`-th time it comes (default 1). */
export type FailPoint = {
  readonly when: "before" | "after";
  readonly at: Fact["type"] | "open" | "submit";
  readonly count?: number;
};

export function failingStore(store: Store, point: FailPoint | undefined): Store {
  if (point === undefined) return store;
  let left = point.count ?? 1;
  const struck = async <T>(hit: boolean, work: () => Promise<T>): Promise<T> => {
    const last = hit && --left === 0;
    if (last && point.when === "before") die();
    const value = await work();
    if (last) die();
    return value;
  };
  return {
    ...store,
    create: (session) => struck(point.at === "open", () => store.create(session)),
    submit: (mail) => struck(point.at === "submit", () => store.submit(mail)),
    append: (write, options) =>
      struck(
        write.facts.some(({ type }) => type === point.at),
        () => store.append(write, options),
      ),
  };
}

/** Ends this process at once, with nothing flushed or closed. */
export function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;); // the signal is on its way
}
