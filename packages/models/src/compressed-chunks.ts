/** Bodies that a server or a proxy compressed although nobody asked for it. Loaded when one comes. */

import type { Transform } from "node:stream";
import type zlibModule from "node:zlib";

type Zlib = typeof zlibModule;
/** By name of `content-encoding`. */
const DECODERS: Readonly<Record<string, (zlib: Zlib) => Transform>> = {
  gzip: gunzip,
  "x-gzip": gunzip,
  deflate: (zlib) =>
    zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  br: (zlib) => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  zstd: (zlib) => zlib.createZstdDecompress({ flush: zlib.constants.ZSTD_e_flush }),
};

function gunzip(zlib: Zlib): Transform {
  return zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH });
}

/**
 * The chunks as they were before `encoding`; as they are when it is none that is known. What comes together is given at once.
 * Errors of `chunks` pass through; damaged bytes go through `toError`.
 */
export function plainChunks(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
  toError: (error: unknown) => Error,
): AsyncIterable<Uint8Array> {
  const name = (encoding ?? "").trim().toLowerCase();
  const decoderOf = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (decoderOf === undefined) return chunks;
  return { [Symbol.asyncIterator]: () => decoded(chunks[Symbol.asyncIterator](), decoderOf, toError) };
}

/** Not a generator: its `return` would wait for the read that it should break off. */
function decoded(
  source: AsyncIterator<Uint8Array>,
  decoderOf: (zlib: Zlib) => Transform,
  toError: (error: unknown) => Error,
): AsyncIterator<Uint8Array> {
  const decoder = decoderOf(process.getBuiltinModule("node:zlib"));
  const output = decoder[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>; // no encoding is set
  let failure: { readonly error: unknown } | undefined;
  const feed = async (): Promise<void> => {
    for (let read = await source.next(); read.done !== true; read = await source.next()) {
      const { value } = read;
      if (decoder.destroyed) return;
      await new Promise<void>((resolve) => decoder.write(value, () => resolve()));
    }
    decoder.end();
  };
  feed().catch((error: unknown) => {
    failure = { error };
    decoder.destroy();
  });
  return {
    async next() {
      const read = await output.next().catch((error: unknown) => {
        throw failure === undefined ? toError(error) : failure.error;
      });
      if (failure !== undefined) throw failure.error;
      return read;
    },
    async return() {
      decoder.destroy();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}
