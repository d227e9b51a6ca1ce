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
      watch.touch();
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

async function* bodyChunks(
  response: Response,
  watch: IdleWatch,
  signal: AbortSignal,
  url: URL,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return watch.stop();
  let ended = false;
  try {
    for (;;) {
      watch.touch();
      const { done, value } = await reader.read();
      ended = done;
      if (done) return;
      watch.stop(); // the reader's own time does not count
      yield value;
    }
  } catch (error) {
    throw toThrown(error, watch, signal, url);
  } finally {
    watch.stop();
    // Without this an early stop would leave the provider generating.
    if (!ended) reader.cancel().catch(() => {});
  }
}

function toThrown(error: unknown, watch: IdleWatch, signal: AbortSignal, url: URL): unknown {
  if (signal.aborted) return signal.reason;
  return watch.signal.aborted ? watch.signal.reason : toNetworkError(error, url);
}
