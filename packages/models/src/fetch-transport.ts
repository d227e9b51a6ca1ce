/** A transport over any `fetch`: for other runtimes, tests and users' own proxies. */

import { systemClock } from "@capstan/core";
import { IDLE_TIMEOUT_MS, timeoutError, toNetworkError, type Transport, type TransportRequest } from "./transport.ts";

/** Uses the given function, by default the runtime's `fetch` at the time of the call. */
export function fetchTransport(fetchFunction?: typeof fetch): Transport {
  return async (request) => {
    request.signal.throwIfAborted();
    const url = new URL(request.url);
    const watch = idleWatch(request, url);
    try {
      const response = await (fetchFunction ?? fetch)(url, {
        method: "POST",
        headers: request.headers,
        body: typeof request.body === "string" ? request.body : request.body.join(""),
        redirect: "manual", // a redirect would carry the key to another host
        signal: watch.signal,
      });
      watch.stop();
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, headers, chunks: bodyChunks(response, watch, request.signal, url) };
    } catch (error) {
      watch.stop();
      throw toThrown(error, watch, request.signal, url);
    }
  };
}

type IdleWatch = { readonly signal: AbortSignal; readonly touch: () => void; readonly stop: () => void };

function idleWatch(request: TransportRequest, url: URL): IdleWatch {
  const idleTimeoutMs = request.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
  const controller = new AbortController();
  const arm = (): (() => void) =>
    systemClock.after(idleTimeoutMs, () => controller.abort(timeoutError(idleTimeoutMs, url)), { background: true });
  let cancel = arm();
  return {
    signal: AbortSignal.any([request.signal, controller.signal]),
    touch: () => {
      cancel();
      cancel = arm();
    },
    stop: () => cancel(),
  };
}

/** Not a generator: its `return` would wait for the read that it should break off. */
function bodyChunks(response: Response, watch: IdleWatch, signal: AbortSignal, url: URL): AsyncIterable<Uint8Array> {
  const reader = response.body?.getReader();
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    watch.touch(); // only now: the reader's own time does not count
    try {
      const { done, value } = (await reader?.read()) ?? { done: true };
      return done ? { done, value: undefined } : { done, value };
    } catch (error) {
      throw toThrown(error, watch, signal, url);
    } finally {
      watch.stop();
    }
  };
  const stop = async (): Promise<IteratorResult<Uint8Array>> => {
    watch.stop();
    // Without this an early stop would leave the provider generating.
    reader?.cancel().catch(() => {});
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
}

function toThrown(error: unknown, watch: IdleWatch, signal: AbortSignal, url: URL): unknown {
  if (signal.aborted) return signal.reason;
  return watch.signal.aborted ? watch.signal.reason : toNetworkError(error, url);
}
