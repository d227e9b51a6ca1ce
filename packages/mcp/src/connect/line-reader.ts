/** Cuts bytes into lines without ever holding more than one line of a stated size. */

import { ServerFault } from "./message-guard.ts";

const MAX_PARTS = 4_096;

/** The returned function takes chunks and throws `ServerFault` for a line above `maxBytes`. Bytes that are no UTF-8 are replaced. */
export function lineReader(maxBytes: number, take: (line: string) => void): (chunk: Uint8Array) => void {
  let parts: Uint8Array[] = [];
  let held = 0;
  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, at);
      if (held + last.length > maxBytes) throw tooLong(maxBytes);
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      held = 0;
      from = at + 1;
      take(new TextDecoder().decode(line));
    }
    const rest = chunk.subarray(from);
    if (rest.length === 0) return;
    held += rest.length;
    if (held > maxBytes) throw tooLong(maxBytes);
    parts.push(rest);
    if (parts.length >= MAX_PARTS) parts = [Buffer.concat(parts)]; // many small ones weigh more than their bytes
  };
}

function tooLong(maxBytes: number): ServerFault {
  return new ServerFault(`it sent a message of more than ${maxBytes} bytes`);
}
