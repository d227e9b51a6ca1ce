/** Lines that a person types after having been asked. What was typed before the question was no answer to it. */

import { type Clock, sleep, systemClock } from "@capstan/core";

/** Undefined when the input has ended or `signal` aborts. */
export type LineReader = (prompt: string, signal: AbortSignal) => Promise<string | undefined>;
type Input = NodeJS.ReadStream;

/** How long input that is already there is read and dropped. */
const DROP_MS = 40;
const MAX_LINE = 10_000;

/** The terminal stays in its line mode, so that Ctrl-C keeps its meaning. One call at a time. */
export function terminalLine(input: Input, output: NodeJS.WritableStream, clock: Clock = systemClock): LineReader {
  let ended = false;
  input.setEncoding("utf8");
  input.on("end", () => (ended = true));
  input.on("error", () => (ended = true));
  return async (prompt, signal) => {
    if (ended || signal.aborted) return undefined;
    await dropTyped(input, clock);
    output.write(prompt);
    try {
      return await nextLine(input, signal);
    } finally {
      input.pause();
      if (ended || signal.aborted) output.write("\n");
    }
  };
}

async function dropTyped(input: Input, clock: Clock): Promise<void> {
  const drop = (): void => undefined;
  input.on("data", drop);
  await sleep(clock, DROP_MS);
  input.off("data", drop);
  input.pause();
}

function nextLine(input: Input, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let line = "";
    const done = (value: string | undefined): void => {
      input.off("data", onData);
      input.off("end", onEnd);
      signal.removeEventListener("abort", onEnd);
      resolve(value);
    };
    const onEnd = (): void => done(undefined);
    const onData = (chunk: string): void => {
      line += chunk;
      const end = line.indexOf("\n");
      if (end !== -1) done(line.slice(0, end));
      else if (line.length > MAX_LINE) done(line);
    };
    input.on("data", onData);
    input.once("end", onEnd);
    signal.addEventListener("abort", onEnd, { once: true });
    input.resume();
  });
}
