/** Keeps the first and the last bytes of an output of any length, and decodes it as it comes. */

export type OutputWindow = {
  /** Takes bytes; gives their text, with a character that is cut by the chunk's end kept for the next. */
  push(chunk: Uint8Array): string;
  /** What was kept, with a line that counts what was not. Invalid UTF-8 is replaced. */
  text(): string;
  readonly truncated: boolean;
};

/** `maxBytes`: half for the start, half for the end; memory stays within it plus one chunk. */
export function outputWindow(maxBytes: number): OutputWindow {
  const headBytes = Math.ceil(maxBytes / 2);
  const tailBytes = Math.floor(maxBytes / 2);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const head: Uint8Array[] = [];
  const tail: Uint8Array[] = [];
  let inHead = 0;
  let inTail = 0;
  let dropped = 0;

  function keep(chunk: Uint8Array): void {
    const first = chunk.subarray(0, headBytes - inHead);
    if (first.length > 0) head.push(first.slice());
    inHead += first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    tail.push(rest.slice()); // a copy: the stream's chunk may be a view of a larger pool
    inTail += rest.length;
    while (inTail > tailBytes) {
      const oldest = tail[0] ?? rest;
      const cut = Math.min(oldest.length, inTail - tailBytes);
      if (cut === oldest.length) tail.shift();
      else tail[0] = oldest.subarray(cut);
      inTail -= cut;
      dropped += cut;
    }
  }

  return {
    push(chunk) {
      keep(chunk);
      return decoder.decode(chunk, { stream: true });
    },
    text() {
      if (dropped === 0) return decode([...head, ...tail]);
      const start = Buffer.concat(head);
      const end = Buffer.concat(tail);
      const from = characterStart(end);
      const to = start.length - cutCharacter(start);
      const lost = dropped + from + (start.length - to);
      return decode([start.subarray(0, to)]) + droppedMarker(lost, "bytes") + decode([end.subarray(from)]);
    },
    get truncated() {
      return dropped > 0;
    },
  };
}

/** The line that stands for what was left out. */
export function droppedMarker(count: number, unit: "bytes" | "characters"): string {
  return `\n[... ${count.toLocaleString("en-US")} ${unit} left out ...]\n`;
}

function decode(chunks: readonly Uint8Array[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks));
}

/** Bytes at the start that continue a character whose first byte is gone. */
function characterStart(bytes: Uint8Array): number {
  let index = 0;
  while (index < 3 && index < bytes.length && ((bytes[index] ?? 0) & 0xc0) === 0x80) index += 1;
  return index;
}

/** Bytes at the end that begin a character whose last byte is gone. */
function cutCharacter(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
