/** Events that pass a test, up to the one that is the last. */

import type { Envelope } from "../words/event.ts";

type Verdict = "show" | "skip" | "show-and-end" | "end";

/** To be asked for one event at a time, as `for await` does. Cheaper by two promises an event than an async generator. */
export function passing(
  source: AsyncIterable<Envelope>,
  judge: (envelope: Envelope) => Verdict,
): AsyncIterableIterator<Envelope> {
  const events = source[Symbol.asyncIterator]();
  let ended = false;
  const end = async (): Promise<IteratorResult<Envelope>> => {
    ended = true;
    await events.return?.();
    return { value: undefined, done: true };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      while (!ended) {
        const result = await events.next();
        if (result.done === true) return result;
        const verdict = judge(result.value);
        if (verdict === "skip") continue;
        if (verdict === "show") return result;
        const over = await end();
        return verdict === "end" ? over : result;
      }
      return { value: undefined, done: true };
    },
    return: end,
  };
}
