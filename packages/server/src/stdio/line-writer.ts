/** JSON lines to a pipe: whole ones, in order, no faster than they are read. */

import type { Writable } from "node:stream";
import { CapstanError } from "@capstan/core";

export interface LineWriter {
  /** Resolves when the pipe has room again. Throws `closed` when nobody reads any more. */
  write(line: object): Promise<void>;
  /** Aborts when nobody reads any more. */
  readonly closed: AbortSignal;
}

export function lineWriter(output: Writable): LineWriter {
  const gone = new AbortController();
  let room: Promise<void> | undefined;
  const leave = (): void => gone.abort(new CapstanError("closed", "Nobody reads the output any more"));
  output.on("error", leave);
  output.on("close", leave);
  return {
    closed: gone.signal,
    async write(line) {
      while (room !== undefined) await room;
      gone.signal.throwIfAborted();
      if (output.write(`${JSON.stringify(line)}\n`)) return;
      room = untilDrained(output, gone.signal).finally(() => (room = undefined));
      await room;
    },
  };
}

function untilDrained(output: Writable, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      output.off("drain", done);
      closed.removeEventListener("abort", done);
      resolve();
    };
    output.once("drain", done);
    closed.addEventListener("abort", done, { once: true });
  });
}
