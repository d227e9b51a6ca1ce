/** Several models as one: the next is asked when one cannot answer and another may. */

import {
  CapstanError,
  type ErrorCode,
  messageOf,
  type Model,
  type ModelCapabilities,
  type ModelEvent,
  type ModelRequest,
  type Price,
} from "@capstan/core";

/** What another model may do better. A request that is wrong is wrong for all of them. */
const HELPED: readonly ErrorCode[] = [
  "model-auth",
  "model-billing",
  "model-cut",
  "model-failed",
  "model-key-missing",
  "model-network",
  "model-not-found",
  "model-overloaded",
  "model-protocol",
  "model-rate-limited",
  "model-timeout",
];

/**
 * Asks the models in their order, every call from the first on. The next one takes over, with a `notice` that names both,
 * when one failed before it showed anything: overloaded, limited, unreachable, broken, or with a key, an account or a name
 * that its provider refuses. A request that does not fit goes on only to a model with a larger context; a wrong request, an
 * abort and an answer that broke off in the middle go to nobody.
 *
 * When all fail, the last error that is worth a retry is thrown, else the last one. `id` and capabilities are those of the
 * first, but `structured` only when all have it: a schema must not silently go unheard. Files that a later model cannot
 * read go out as texts that say so. The price is the dearest of all, so that a budget holds whoever answers; it is unknown
 * when one is. Throws `config-invalid` without a model.
 */
export function fallback(models: readonly Model[]): Model {
  const [first] = models;
  if (first === undefined) throw new CapstanError("config-invalid", "fallback() needs at least one model.");
  const all = [...models];
  return {
    id: first.id,
    capabilities: shared(first, all),
    price: () => dearest(all),
    stream: (request) => firstAnswer(all, request),
  };
}

function shared(first: Model, models: readonly Model[]): ModelCapabilities {
  return {
    ...first.capabilities,
    structured: models.every(({ capabilities }) => capabilities.structured === true),
    cacheMarkers: models.some(({ capabilities }) => capabilities.cacheMarkers === true),
  };
}

async function dearest(models: readonly Model[]): Promise<Price | undefined> {
  const prices = await Promise.all(models.map(async (model) => model.price?.()));
  const known = prices.filter((price) => price !== undefined);
  if (known.length < prices.length) return undefined;
  const base = dearestRates(known);
  const steps = known.flatMap(({ long }) => long?.overTokens ?? []);
  if (steps.length === 0) return base;
  return {
    ...base,
    long: { ...dearestRates(known.map((price) => price.long ?? price)), overTokens: Math.min(...steps) },
  };
}

function dearestRates(prices: readonly Omit<Price, "long">[]): Omit<Price, "long"> {
  const dearestOf = (rate: (price: Omit<Price, "long">) => number): number => Math.max(...prices.map(rate));
  return {
    input: dearestOf(({ input }) => input),
    output: dearestOf(({ output }) => output),
    cacheRead: dearestOf(({ input, cacheRead = input }) => cacheRead),
    cacheWrite: dearestOf(({ input, cacheWrite = input }) => cacheWrite),
  };
}

async function* firstAnswer(models: readonly Model[], request: ModelRequest): AsyncGenerator<readonly ModelEvent[]> {
  let worthRetry: unknown;
  let left = models;
  for (let [model] = left; model !== undefined; [model] = left) {
    const held: ModelEvent[] = []; // says nothing yet: a failure leaves no trace of it
    let answered = false;
    let failure: unknown;
    request.signal.throwIfAborted();
    try {
      for await (const batch of model.stream(requestFor(model, request))) {
        if (answered) yield batch;
        else {
          held.push(...batch.map((event) => named(event, model.id)));
          answered = batch.some(({ type }) => type !== "start" && type !== "notice");
          if (answered) yield held;
        }
      }
      if (answered) return;
      failure = new CapstanError("model-cut", `${model.id} broke off before it said anything.`, { retryable: true });
    } catch (error) {
      request.signal.throwIfAborted();
      if (answered) throw error;
      failure = error;
    }
    if (CapstanError.is(failure) && failure.retryable) worthRetry = failure;
    const asked = model;
    const rest = left.slice(1);
    const at = rest.findIndex((other) => mayHelp(failure, asked, other));
    const next = rest[at];
    if (next === undefined) throw worthRetry ?? failure;
    yield [takenOver(asked, next, failure)];
    left = rest.slice(at);
  }
}

/** Markers of the cache are for those who know them. */
function requestFor(model: Model, request: ModelRequest): ModelRequest {
  return model.capabilities.cacheMarkers === true || request.cache.length === 0 ? request : { ...request, cache: [] };
}

/** The turn records who answered: with its provider, since that may change from turn to turn. */
function named(event: ModelEvent, id: string): ModelEvent {
  if (event.type !== "start" || event.model.includes("/")) return event;
  return { ...event, model: id.slice(0, id.indexOf("/") + 1) + event.model };
}

function mayHelp(error: unknown, model: Model, next: Model): boolean {
  if (!CapstanError.is(error)) return true; // a model of one's own: what it threw is a failure like any other
  if (error.code !== "model-context-exceeded") return HELPED.includes(error.code);
  const { contextTokens } = model.capabilities;
  return contextTokens !== undefined && (next.capabilities.contextTokens ?? 0) > contextTokens;
}

function takenOver(model: Model, next: Model, error: unknown): ModelEvent {
  const title = `${model.id} could not answer; ${next.id} is asked instead`;
  return { type: "notice", code: "model-fallback", title, detail: messageOf(error) };
}
