/** The stdio door: a program speaks NDJSON with the runtime over two pipes, as a desktop shell does with its sidecar. */

import type { Readable, Writable } from "node:stream";
import { CapstanError, type Clock, type Runtime, systemClock, type WorkspaceRef } from "@capstan/core";
import { lineSplitter, parseStdioRequest, STDIO_KINDS } from "@capstan/wire";
import { SERVER_LIMITS } from "./server-limits.ts";
import { inTime } from "./http/caller.ts";
import { lineWriter } from "./stdio/line-writer.ts";
import { STDIO_PROTOCOL, StdioDoor } from "./stdio/stdio-door.ts";

export type StdioOptions = {
  /** Closed by whoever opened it. Should drive all sessions (`work: "all"`), so that what was left goes on. */
  readonly runtime: Runtime;
  /** Of conversations for which none is named. */
  readonly agent: string;
  readonly workspace?: string | WorkspaceRef;
  /** Default the process's own. Nothing else may write to the output. */
  readonly input?: Readable;
  readonly output?: Writable;
  /** One line for people. Default: to stderr. */
  readonly log?: (line: string) => void;
  /** Leaves what is under way; runs go on at the next open. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
};

/** Resolves when the input has ended and what was asked is answered, or when nobody reads the output any more. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { input = process.stdin, output = process.stdout, log = toStderr, clock = systemClock, signal } = options;
  const writer = lineWriter(output);
  const runtime = options.runtime.as({ id: "stdio", door: "stdio" });
  const door = new StdioDoor({ ...options, runtime, writer, clock, log });
  const left = Promise.withResolvers<void>();
  const leave = (): void => {
    left.resolve();
    door.stop();
    input.destroy();
  };
  writer.closed.addEventListener("abort", leave, { once: true });
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  const serve = async (): Promise<void> => {
    const capabilities = { kinds: STDIO_KINDS, protocols: [1, STDIO_PROTOCOL] };
    await writer.write({ type: "ready", protocol: STDIO_PROTOCOL, capabilities, timestamp: clock.now() });
    await readLines(input, door, log);
    await inTime(clock, SERVER_LIMITS.stdioDrainMs, "The end of what was asked", () => door.end());
  };
  try {
    // whoever leaves waits for no reader of the output
    await Promise.race([serve(), left.promise]);
  } catch (error) {
    if (!CapstanError.is(error, "closed", "timeout")) throw error;
    log(error.message);
  } finally {
    leave();
    signal?.removeEventListener("abort", leave);
  }
}

async function readLines(input: Readable, door: StdioDoor, log: (line: string) => void): Promise<void> {
  const splitter = lineSplitter();
  const take = async (lines: ReturnType<typeof splitter.push>): Promise<void> => {
    for (const line of lines) {
      if (line.type === "line") await door.take(parseStdioRequest(line.text));
      else await door.take({ error: wrongLine(line.type) });
    }
  };
  try {
    for await (const piece of input) await take(splitter.push(bytesOf(piece)));
  } catch (error) {
    if (!isGone(error)) log(`The input cannot be read: ${String(error)}`);
  }
  await take(splitter.end());
}

function wrongLine(type: "too-long" | "not-utf8"): CapstanError {
  return type === "too-long"
    ? new CapstanError("input-too-large", "The line is too long and was left out")
    : new CapstanError("input-invalid", "The line is no UTF-8 text and was left out");
}

function bytesOf(piece: unknown): Uint8Array {
  return typeof piece === "string" ? Buffer.from(piece) : (piece as Uint8Array); // a Readable gives one or the other
}

/** Destroyed by us, or by whoever wrote to it. */
function isGone(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    /^(ERR_STREAM_PREMATURE_CLOSE|ABORT_ERR|ECONNRESET|EPIPE)$/.test(String(error.code))
  );
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
