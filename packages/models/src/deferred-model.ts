/** A model that is made when it is first asked: its key, its address or its very provider may not be known before. */

import { type Clock, type Model, type ModelCapabilities, systemClock } from "@capstan/core";

export type DeferredOptions = {
  /** What the loop may count on before the model is made. Default: nothing. */
  readonly capabilities?: ModelCapabilities;
  /** A model older than this is made again for the next call. Default: it is kept. */
  readonly maxAgeMs?: number;
  readonly clock?: Clock;
};

/**
 * `id` is what is recorded, as `provider/name`. `make` runs once however many calls wait for it; when it fails, the call
 * fails with its error and the next one tries again. Answers that are under way keep the model they began with.
 */
export function deferredModel(
  id: string,
  make: () => Model | Promise<Model>,
  { capabilities = {}, maxAgeMs = Number.POSITIVE_INFINITY, clock = systemClock }: DeferredOptions = {},
): Model {
  let kept: { readonly model: Promise<Model>; readonly madeAt: number } | undefined;
  const current = (): Promise<Model> => {
    const now = clock.monotonic();
    if (kept !== undefined && now - kept.madeAt < maxAgeMs) return kept.model;
    const made = { model: Promise.resolve().then(make), madeAt: now };
    kept = made;
    made.model.catch(() => {
      if (kept === made) kept = undefined;
    });
    return made.model;
  };
  return {
    id,
    capabilities,
    price: async () => (await current()).price?.(),
    async *stream(request) {
      request.signal.throwIfAborted();
      const model = await current();
      request.signal.throwIfAborted();
      yield* model.stream(request);
    },
  };
}
