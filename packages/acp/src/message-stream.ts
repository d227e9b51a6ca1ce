/** JSON-RPC messages over two byte streams, as the SDK takes them: nothing on the line ends or desynchronises the connection. */

import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Stream } from "@agentclientprotocol/sdk";
import { sleep, systemClock } from "@capstan/core";
import { type Line, lineSplitter } from "@capstan/wire";
import { ACP_LIMITS as LIMITS } from "./limits.ts";
import { type Message, parseMessage, type Problem, type RpcId } from "./parse-message.ts";

export type MessageStreamOptions = {
  /** Given every notification first; `true`: it is dealt with, and goes no further. */
  readonly takes?: (method: string, params: unknown) => boolean;
};
export type MessageStream = Stream & {
  /** Resolves when all that was written so far has gone out, or the other side does not read. */
  flushed(): Promise<void>;
};

/** Both byte streams end with the connection. */
export function messageStream(input: Readable, output: Writable, options: MessageStreamOptions = {}): MessageStream {
  const lines = new Lines(input, output, options);
  return {
    readable: new ReadableStream(
      { pull: (controller) => lines.pull(controller), cancel: () => void input.destroy() },
      { highWaterMark: 0 },
    ),
    writable: new WritableStream({ write: (message) => lines.send(message as Message) }),
    flushed: () => lines.flushed(),
  };
}

class Lines {
  readonly #output: Writable;
  readonly #takes: NonNullable<MessageStreamOptions["takes"]>;
  readonly #messages: AsyncGenerator<Message>;
  /** Requests of the other side that are not answered, and ours. */
  readonly #theirs = new Set<RpcId>();
  readonly #ours = new Set<RpcId>();
  #written: Promise<void> = Promise.resolve();
  #answered: (() => void) | undefined;

  constructor(input: Readable, output: Writable, { takes = () => false }: MessageStreamOptions) {
    this.#output = output;
    this.#takes = takes;
    output.on("error", () => input.destroy()); // nobody reads any more
    this.#messages = this.#read(input);
  }

  async pull(controller: ReadableStreamDefaultController): Promise<void> {
    const next = await this.#messages.next().catch(() => undefined); // a broken pipe is an end
    if (next !== undefined && next.done !== true) return controller.enqueue(next.value);
    await this.#settled();
    controller.close();
  }

  /** Waits until the other side has room. */
  send(message: Message): Promise<void> {
    const { id, method } = message;
    if (id !== undefined) {
      if (method === undefined) this.#forget(id as RpcId);
      else this.#ours.add(id as RpcId);
    }
    const written = this.#written.then(() => this.#write(`${JSON.stringify(message)}\n`));
    this.#written = written.catch(() => undefined);
    return written;
  }

  flushed(): Promise<void> {
    return this.#written;
  }

  #forget(id: RpcId): void {
    this.#theirs.delete(id);
    if (this.#theirs.size === 0) this.#answered?.();
  }

  /** One that asks and then ends its output still gets its answers, if they do not take long. */
  async #settled(): Promise<void> {
    if (this.#theirs.size === 0 || this.#output.destroyed) return;
    const stop = new AbortController();
    const { signal } = stop;
    await Promise.race([
      new Promise<void>((resolve) => (this.#answered = resolve)),
      sleep(systemClock, LIMITS.flushMs, signal),
      once(this.#output, "close", { signal }),
    ]).catch(() => undefined);
    stop.abort();
  }

  async #write(line: string): Promise<void> {
    if (this.#output.destroyed || this.#output.writableEnded) throw new Error("The other side is gone");
    if (this.#output.write(line)) return;
    const stop = new AbortController();
    try {
      await Promise.race([
        once(this.#output, "drain", { signal: stop.signal }),
        once(this.#output, "close", { signal: stop.signal }),
      ]);
    } finally {
      stop.abort();
    }
  }

  async *#read(input: Readable): AsyncGenerator<Message> {
    const lines = lineSplitter(LIMITS.messageBytes);
    for await (const chunk of input as AsyncIterable<Uint8Array | string>) {
      for (const line of lines.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk))
        yield* this.#messageOf(line);
    }
    for (const line of lines.end()) yield* this.#messageOf(line);
  }

  async *#messageOf(line: Line): AsyncGenerator<Message> {
    const parsed = parseMessage(line);
    switch (parsed.type) {
      case "wrong":
        return this.#refuse(null, parsed.problem);
      case "response":
        if (this.#ours.delete(parsed.id)) yield parsed.message; // an answer to nothing is nothing
        return;
      case "notification":
        if (!this.#takes(parsed.message["method"] as string, parsed.message["params"])) yield parsed.message; // a text: parsed
        return;
      case "request":
        if (this.#theirs.has(parsed.id))
          return this.#refuse(parsed.id, { code: -32_600, message: "A request of this id is not answered yet" });
        if (this.#theirs.size >= LIMITS.openRequests)
          return this.#refuse(parsed.id, { code: -32_603, message: "Too many requests at once" });
        this.#theirs.add(parsed.id);
        yield parsed.message;
        return;
      default:
        return parsed satisfies never;
    }
  }

  /** Waits until it is written: whoever sends nonsense without reading the answers is not read any more. */
  async #refuse(id: RpcId, error: Problem): Promise<void> {
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`;
    const written = this.#written.then(() => this.#write(line));
    this.#written = written.catch(() => undefined);
    await written;
  }
}
