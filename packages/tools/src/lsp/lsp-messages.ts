/** The base protocol of LSP 3.17: `Content-Length` before each JSON message, both ways, within bounds. */

import { z } from "zod";
import { LSP_LIMITS as LIMITS } from "./limits.ts";

/** A request, a notification or an answer. */
export type LspMessage = {
  readonly id?: number | string | null | undefined;
  readonly method?: string | undefined;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
};
const messageSchema: z.ZodType<LspMessage> = z.object({
  id: z.union([z.number(), z.string()]).nullish(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

export function framed(message: object): string {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Messages out of pieces of text. Throws an `Error` for what cannot be one; nothing can be read after that. */
export class MessageReader {
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Of the body that is being read. */
  #length: number | undefined;

  push(piece: string): readonly LspMessage[] {
    const bytes = Buffer.from(piece);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    const messages: LspMessage[] = [];
    for (;;) {
      if (this.#length === undefined && !this.#readHead()) return messages;
      const length = this.#length ?? 0;
      if (this.#heldBytes < length) return messages;
      messages.push(parsed(this.#take(length)));
      this.#length = undefined;
    }
  }

  #readHead(): boolean {
    const start = this.#peek(LIMITS.headBytes);
    const end = start.indexOf("\r\n\r\n");
    if (end < 0) {
      if (start.length >= LIMITS.headBytes) throw new Error("it sent something that is no message");
      return false;
    }
    const length = Number(
      /^content-length:[ \t]*(\d{1,10})[ \t]*$/im.exec(start.toString("latin1", 0, end))?.[1] ?? NaN,
    );
    if (!(length <= LIMITS.bodyBytes)) throw new Error("it sent a message without a length, or one that is too long");
    this.#take(end + 4);
    this.#length = length;
    return true;
  }

  /** Joined once for each message, however many pieces it came in. */
  #take(bytes: number): Buffer {
    const all = this.#joined();
    this.#held = [all.subarray(bytes)];
    this.#heldBytes -= bytes;
    return all.subarray(0, bytes);
  }

  #peek(bytes: number): Buffer {
    return (this.#held[0]?.length ?? 0) >= bytes
      ? (this.#held[0]?.subarray(0, bytes) ?? Buffer.of())
      : this.#joined().subarray(0, bytes);
  }

  #joined(): Buffer {
    const [first = Buffer.of()] = this.#held;
    if (this.#held.length <= 1) return first;
    const all = Buffer.concat(this.#held);
    this.#held = [all];
    return all;
  }
}

function parsed(body: Buffer): LspMessage {
  let value: unknown;
  try {
    value = JSON.parse(body.toString()) as unknown;
  } catch (cause) {
    throw new Error("it sent a message that is no JSON", { cause });
  }
  const checked = messageSchema.safeParse(value);
  if (checked.success) return checked.data;
  throw new Error("it sent JSON that is no message");
}
