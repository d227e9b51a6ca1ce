/** The body of an answer, unpacked, up to a number of bytes: what a compressed body unfolds to counts. */

import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { EgressFailure, failureOf } from "./guarded-request.ts";

export type BoundedBody = {
  readonly bytes: Buffer;
  /** There was more: it was not read. */
  readonly cut: boolean;
};

/** What requests may offer as `accept-encoding`. */
export const KNOWN_ENCODINGS = "gzip, deflate, br";

const DECODERS: { readonly [encoding: string]: () => Transform } = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Throws `EgressFailure`, and the signal's reason on abort. Closes the connection in any case. */
export async function boundedBody(
  incoming: IncomingMessage,
  { url, maxBytes, signal }: { readonly url: URL; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<BoundedBody> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  try {
    for await (const chunk of unpacked(incoming, url) as AsyncIterable<Uint8Array>) {
      signal.throwIfAborted();
      chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
      if (left < 0) break;
    }
    return { bytes: Buffer.concat(chunks), cut: left < 0 };
  } catch (error) {
    throw failureOf(error, url, signal);
  } finally {
    incoming.destroy();
  }
}

function unpacked(incoming: IncomingMessage, url: URL): Readable {
  const encoding = (incoming.headers["content-encoding"] ?? "").trim().toLowerCase();
  if (encoding === "" || encoding === "identity") return incoming;
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]?.() : undefined;
  if (decoder === undefined) throw new EgressFailure(`${url.host} answered in an encoding that was not asked for`);
  pipeline(incoming, decoder, () => undefined); // what goes wrong is seen by the reader of the decoder
  return decoder;
}
