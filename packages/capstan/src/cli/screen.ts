/** The two output streams as one screen: the answer goes to stdout, everything about it to stderr, and neither breaks the other's lines. */

import { styleText } from "node:util";
import { inertStream } from "./inert.ts";

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
  /** One line of data on stdout, as it is. */
  data(line: string): void;
  /** Whether somebody still reads stdout. */
  readonly open: boolean;
  /** Resolves when all is written. */
  flush(): Promise<void>;
}
export type Style = "dim" | "red" | "green" | "yellow" | "bold";

export const RUN_GOES_ON = "the run goes on to its end, Ctrl-C interrupts it";

type Streams = { readonly stdin: { readonly isTTY?: boolean }; readonly stdout: NodeJS.WriteStream; readonly stderr: NodeJS.WriteStream };

/** A reader of stdout that goes away is no error: what is written then is dropped. `whenClosed` is said once. */
export function screen(whenClosed?: string, { stdin, stdout, stderr }: Streams = process): Screen {
  const shared = stdout.isTTY === true && stderr.isTTY === true;
  let held: (() => void)[] | undefined;
  let begun = false;
  let open = true;
  let clean = inertStream();
  const note = (line: string, style?: Style): void => {
    if (begun && shared) endAnswer();
    stderr.write(`${style === undefined ? line : styleText(style, line, { stream: stderr })}\n`);
  };
  const write = (text: string): void => {
    if (open) stdout.write(text);
  };
  const endAnswer = (): void => {
    const rest = clean.end();
    if (begun || rest !== "") write(`${rest}\n`);
    clean = inertStream();
    begun = false;
  };
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (!open) return;
    open = false;
    if (whenClosed === undefined && error.code === "EPIPE") return;
    const why = error.code === "EPIPE" ? "Nobody reads the output any more" : `The output cannot be written (${error.code ?? error.message})`;
    note(`capstan: ${why}${whenClosed === undefined ? "" : `; ${whenClosed}`}`);
  });
  stderr.on("error", () => undefined); // there is nobody left to tell
  return {
    asks: stdin.isTTY === true && stderr.isTTY === true,
    live: stdout.isTTY === true,
    get open() {
      return open;
    },
    answer(text) {
      if (held !== undefined) return void held.push(() => this.answer(text));
      const shown = stdout.isTTY === true ? clean.push(text) : text;
      if (shown === "") return;
      write(shown);
      begun = !shown.endsWith("\n");
    },
    endAnswer: () => (held === undefined ? endAnswer() : void held.push(endAnswer)),
    note: (line, style) => (held === undefined ? note(line, style) : void held.push(() => note(line, style))),
    async asking(work) {
      if (begun) endAnswer();
      held = [];
      try {
        return await work(note);
      } finally {
        const later = held;
        held = undefined;
        for (const show of later) show();
      }
    },
    data: (line) => write(`${line}\n`),
    async flush() {
      await Promise.all([stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))));
    },
  };
}
