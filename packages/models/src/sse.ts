/** Server-sent events from bytes (WHATWG HTML, section 9.2), one pass: whole lines are decoded once, the rest waits as bytes. */

import { CapstanError } from "@capstan/core";

export type SseEvent = {
  /** The `event` field; undefined when the event has none. */
  readonly event?: string;
  /** The `data` lines, joined by line feeds. */
  readonly data: string;
};

export interface SseReader {
  /** The events that this chunk completed, in order. An event at the end without its empty line is never delivered. */
  push(chunk: Uint8Array): readonly SseEvent[];
}

/** Bytes one event may take. Tool inputs come in pieces far below this. */
const SSE_EVENT_BYTES = 16 * 1024 * 1024;

const LF = 10;
const CR = 13;
const NO_EVENTS: readonly SseEvent[] = [];

/** Throws `model-protocol` when one event takes more than `maxEventBytes`, by default `SSE_EVENT_BYTES`. */
export function sseReader(maxEventBytes: number = SSE_EVENT_BYTES): SseReader {
  return new LineReader(maxEventBytes);
}

class LineReader implements SseReader {
  readonly #maxBytes: number;
  /** Bytes of the line that is not complete yet, as they came. */
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #eventBytes = 0;
  #atStart = true;
  /** The last line ended with CR: a line feed that follows belongs to it. */
  #afterCr = false;
  #event: string | undefined;
  #data: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): readonly SseEvent[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = lastLineEnd(bytes);
    if (end === 0) {
      this.#keep(bytes);
      return NO_EVENTS;
    }
    const text = this.#decode(bytes, end);
    if (end < bytes.length) this.#keep(Buffer.from(bytes.subarray(end)));
    return this.#readLines(text);
  }

  /** Line ends never lie inside a UTF-8 sequence, so text cut behind one decodes by itself. */
  #decode(bytes: Buffer, end: number): string {
    let text: string;
    if (this.#tailBytes === 0) text = bytes.toString("utf8", 0, end);
    else {
      text = Buffer.concat([...this.#tail, bytes.subarray(0, end)]).toString();
      this.#tail = [];
      this.#tailBytes = 0;
    }
    if (!this.#atStart) return text;
    this.#atStart = false;
    return text.startsWith("\uFEFF") ? text.slice(1) : text;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    if (this.#tailBytes + this.#eventBytes > this.#maxBytes) throw this.#tooLarge();
  }

  #readLines(decoded: string): readonly SseEvent[] {
    const events: SseEvent[] = [];
    let text = this.#afterCr && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    this.#afterCr = false;
    if (text.includes("\r")) {
      this.#afterCr = text.endsWith("\r");
      text = text.replaceAll(/\r\n?/g, "\n");
    }
    let start = 0;
    while (start < text.length) {
      const end = text.indexOf("\n", start);
      if (end === start) this.#dispatch(events);
      else this.#readLine(text, start, end);
      start = end + 1;
    }
    return events;
  }

  #readLine(text: string, start: number, end: number): void {
    this.#eventBytes += end - start; // at least: a limit needs no exact count
    if (this.#eventBytes > this.#maxBytes) throw this.#tooLarge();
    const isData = text.slice(start, start + 4) === "data"; // several times as fast as `startsWith`
    if (!isData && text.slice(start, start + 5) !== "event") return; // comments, ids, retries and unknown fields
    const colon = start + (isData ? 4 : 5);
    let value = "";
    if (colon < end) {
      if (text.charCodeAt(colon) !== 58) return; // a longer field name
      const from = text.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
      value = text.slice(from, end);
    }
    if (!isData) this.#event = value === "" ? undefined : value;
    else this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      events.push(this.#event === undefined ? { data: this.#data } : { event: this.#event, data: this.#data });
    }
    this.#event = undefined;
    this.#data = undefined;
    this.#eventBytes = 0;
  }

  #tooLarge(): CapstanError {
    const message = `The provider sent one event of more than ${this.#maxBytes} bytes. Check the base URL.`;
    return new CapstanError("model-protocol", message);
  }
}

/** Index behind the last line feed or carriage return, 0 when there is none. */
function lastLineEnd(bytes: Buffer): number {
  const last = bytes[bytes.length - 1];
  if (last === LF || last === CR) return bytes.length;
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
}
