/** Names for requests that may be sent twice. */

/** `randomUUID` is there on the loopback and over TLS only. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
