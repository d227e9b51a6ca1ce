/** Blobs that a prompt names, each loaded once while its message stands in the conversation. */

import type { Message, ModelRequest } from "@capstan/core";
import { type Blobs, blobsOf, loadBlobs } from "../provider/files.ts";

export function promptBlobs(): (request: ModelRequest) => Promise<Blobs> {
  const known = new WeakMap<Message, Blobs>();
  return async ({ messages, blob }) => {
    const all = new Map<string, string>();
    for (const message of messages) {
      const hashes = blobsOf(message);
      if (hashes.length === 0) continue;
      const loaded = known.get(message) ?? (await loadBlobs(hashes, blob));
      known.set(message, loaded);
      for (const [hash, base64] of loaded) all.set(hash, base64);
    }
    return all;
  };
}
