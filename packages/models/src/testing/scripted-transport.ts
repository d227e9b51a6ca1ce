/** A scripted provider behind a `Transport`: the same checks and answers as its server's, without a socket. */

import type { Transport } from "../transport.ts";
import { answerTo, type RecordedRequest, type ScriptedProvider } from "./scripted-server.ts";

export type ScriptedTransport<Request extends RecordedRequest = RecordedRequest> = {
  readonly transport: Transport;
  readonly url: string;
  readonly requests: readonly Request[];
  /** What the API would have refused; each was answered with 400. */
  readonly violations: readonly string[];
};

/** Chunks come in turns of the event loop of their own. Of a `Delivery` only `chunkBytes` counts. */
export function scriptedTransport<Stream extends object, Request extends RecordedRequest>(
  provider: ScriptedProvider<Stream, Request>,
): ScriptedTransport<Request> {
  const seen = { requests: [] as Request[], violations: [] as string[] };
  const transport: Transport = async ({ url, headers, body, signal }) => {
    signal.throwIfAborted();
    const { pathname, search } = new URL(url);
    const text = typeof body === "string" ? body : body.join("");
    const incoming = { path: `${pathname}${search}`, headers, text, method: "POST" };
    const { answered, delivery } = await answerTo(provider, seen, incoming);
    return {
      status: answered.status,
      headers: answered.headers,
      chunks: pieces(answered.bytes, delivery?.chunkBytes ?? answered.bytes.length, signal),
    };
  };
  return { transport, url: "http://provider.invalid", ...seen };
}

async function* pieces(bytes: Uint8Array, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    yield bytes.subarray(at, at + size);
  }
}
