/** The two output streams as one screen: the answer goes to stdout, everything about it to stderr, and neither breaks the other's lines. */

import { styleText } from "node:util";
import { inertJson, inertStream } from "./inert.ts";

export interface Screen {
  /** A person can be asked: stdin and stderr are terminals. */
  readonly asks: boolean;
  /** stdout is a terminal: text is shown as it comes, and made inert. */
  readonly live: boolean;
  /** Text of the answer, as it comes. */
  answer(text: string): void;
  /** Ends the line of the answer, if one is begun. */
  endAnswer(): void;
  /** One line about the run. The caller has made it inert. */
  note(line: string, style?: Style): void;
  /** While a person is asked nothing else is shown: it comes when `work` is done. */
  asking<T>(work: (note: Screen["note"]) => Promise<T>): Promise<T>;
  /** One line of data on stdout: JSON, which a terminal gets with escapes, or a line that the caller has made inert. */
  data(line: string): void;
  /** Whether somebody still reads stdout. */
  readonly open: boolean;
  /** Something meant for stdout could not be written, and not because its reader went away. */
  readonly failed: boolean;
  /** Resolves when all is written. */
  flush(): Promise<void>;
}
export type Style = "dim" | "red" | "green" | "yellow" | "bold";

export const RUN_GOES_ON = "the run goes on to its end, Ctrl-C interrupts it";

type Streams = {
  readonly stdin: { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
};

/** A reader of stdout that goes away is no error: what is written then is dropped. `whenClosed` is said once. */
export function screen(whenClosed?: string, { stdin, stdout, stderr }: Streams = process): Screen {
  const shared = stdout.isTTY === true && stderr.isTTY === true;
  const out = answerLines(stdout);
  let held: (() => void)[] | undefined;
  let failed = false;
  const now = (show: () => void): void => (held === undefined ? show() : void held.push(show));
  const note = (line: string, style?: Style): void => {
    if (shared) out.breakLine();
    stderr.write(`${style === undefined ? line : styleText(style, line, { stream: stderr })}\n`);
  };
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (!out.close()) return;
    if (whenClosed === undefined && error.code === "EPIPE") return;
    failed = error.code !== "EPIPE";
    const known = error.code === "EPIPE" ? "Nobody reads the output any more" : undefined;
    const why = known ?? `The output cannot be written (${error.code ?? error.message})`;
    note(`capstan: ${why}${whenClosed === undefined ? "" : `; ${whenClosed}`}`);
  });
  stderr.on("error", () => undefined); // there is nobody left to tell
  return {
    asks: stdin.isTTY === true && stderr.isTTY === true,
    live: stdout.isTTY === true,
    get open() {
      return out.open;
    },
    get failed() {
      return failed;
    },
    answer: (text) => now(() => out.push(text)),
    endAnswer: () => now(() => out.end()),
    note: (line, style) => now(() => note(line, style)),
    data: (line) => out.line(stdout.isTTY === true ? inertJson(line) : line),
    async asking(work) {
      held = [];
      try {
        return await work(note);
      } finally {
        const later = held;
        held = undefined;
        for (const show of later) show();
      }
    },
    async flush() {
      const written = (stream: NodeJS.WriteStream): Promise<void> =>
        new Promise((resolve) => stream.write("", () => resolve()));
      await Promise.all([written(stdout), written(stderr)]);
    },
  };
}

type AnswerLines = {
  readonly open: boolean;
  push(text: string): void;
  /** Ends a line that is begun. */
  breakLine(): void;
  /** Ends the answer, and its line. */
  end(): void;
  line(text: string): void;
  /** False when it was closed before. */
  close(): boolean;
};

/** Text on stdout; on a terminal it is inert. */
function answerLines(stdout: NodeJS.WriteStream): AnswerLines {
  let open = true;
  let begun = false;
  let clean = inertStream();
  const write = (text: string): void => {
    if (open && text !== "") stdout.write(text);
  };
  const breakLine = (): void => {
    if (begun) write("\n");
    begun = false;
  };
  return {
    get open() {
      return open;
    },
    push(text) {
      const shown = stdout.isTTY === true ? clean.push(text) : text;
      write(shown);
      if (shown !== "") begun = !shown.endsWith("\n");
    },
    breakLine,
    end() {
      const rest = clean.end();
      clean = inertStream();
      write(rest);
      if (rest !== "") begun = true;
      breakLine();
    },
    line: (text) => write(`${text}\n`),
    close() {
      const was = open;
      open = false;
      return was;
    },
  };
}
