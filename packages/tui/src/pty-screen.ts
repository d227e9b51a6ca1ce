/** For tests: a program in a real pseudo-terminal, and what its screen shows. */

/** What is used of `@lydell/node-pty` and `@xterm/headless`; tests bring them. */
export type PtyLibraries = {
  readonly spawn: (file: string, args: string[], options: object) => PtyProcess;
  readonly Terminal: new (options: object) => Emulator;
};
type PtyProcess = {
  readonly pid: number;
  readonly onData: (listener: (data: string) => void) => unknown;
  readonly onExit: (listener: (end: { readonly exitCode: number; readonly signal?: number }) => void) => unknown;
  write(data: string): void;
  resize(columns: number, rows: number): void;
  kill(signal?: string): void;
};
type Emulator = {
  readonly rows: number;
  readonly buffer: {
    readonly active: { readonly viewportY: number; readonly length: number; getLine(at: number): Line | undefined };
  };
  readonly onData: (listener: (data: string) => void) => unknown;
  write(data: string, done: () => void): void;
  resize(columns: number, rows: number): void;
  dispose(): void;
};
type Line = {
  translateToString(trimRight: boolean): string;
  getCell(
    at: number,
  ): { getFgColor(): number; isFgDefault(): boolean; isBold(): number; isInverse(): number } | undefined;
};

export interface PtyScreen extends AsyncDisposable {
  /** Lines as they stand on the screen, without spaces at their ends. */
  readonly lines: readonly string[];
  readonly text: string;
  /** Everything that was ever written, as it was sent. */
  readonly raw: string;
  /** The lines above the screen too. */
  readonly history: string;
  readonly exit: Promise<number>;
  readonly pid: number;
  /** Resolves when the screen shows the text or fits the pattern; rejects with the screen after a while. */
  waitFor(wanted: string | RegExp): Promise<void>;
  waitUntil(isRight: (screen: string) => boolean, what: string): Promise<void>;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Style of the first character of a text on the screen. */
  readonly styleOf: (text: string) => CellStyle;
}
export type CellStyle = {
  readonly color: number;
  readonly isDefault: boolean;
  readonly isBold: boolean;
  readonly isInverse: boolean;
};
export type PtyOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
};

const WAIT_MS = 40_000;

export function ptyScreen(
  { spawn, Terminal }: PtyLibraries,
  [program = "", ...args]: readonly string[],
  { cwd, env, columns = 80, rows = 24 }: PtyOptions,
): PtyScreen {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 20_000, allowProposedApi: true });
  const child = spawn(program, [...args], { name: "xterm-256color", cols: columns, rows, cwd, env: { ...env } });
  const reader = screenReader(terminal);
  const watch = watcher(() => reader.lines().join("\n"));
  let raw = "";
  child.onData((data) => {
    raw += data;
    terminal.write(data, watch.look);
  });
  terminal.onData((answer) => child.write(answer)); // a terminal answers questions
  const exit = new Promise<number>((resolve) => {
    child.onExit(({ exitCode, signal }) => {
      // what was written last is drawn first
      terminal.write("", () => {
        watch.end();
        resolve(signal !== undefined && signal !== 0 ? 128 + signal : exitCode);
      });
    });
  });
  return {
    get lines() {
      return reader.lines();
    },
    get text() {
      return reader.lines().join("\n");
    },
    get raw() {
      return raw;
    },
    get history() {
      return reader.history();
    },
    exit,
    pid: child.pid,
    waitUntil: watch.until,
    waitFor: (wanted) =>
      watch.until(
        (screen) => (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen)),
        String(wanted),
      ),
    type: (keys) => child.write(keys),
    resize(nextColumns, nextRows) {
      terminal.resize(nextColumns, nextRows);
      child.resize(nextColumns, nextRows);
    },
    styleOf: reader.styleOf,
    async [Symbol.asyncDispose]() {
      if (!watch.isEnded()) child.kill("SIGKILL");
      await exit;
      terminal.dispose();
    },
  };
}

type Watcher = {
  readonly look: () => void;
  readonly end: () => void;
  readonly isEnded: () => boolean;
  readonly until: PtyScreen["waitUntil"];
};

function watcher(screen: () => string): Watcher {
  const waiting = new Set<() => void>();
  let ended = false;
  const look = (): void => waiting.forEach((one) => one());
  return {
    look,
    isEnded: () => ended,
    end() {
      ended = true;
      look();
    },
    until: (isRight, what) =>
      new Promise((resolve, reject) => {
        const end = (problem?: string): void => {
          clearTimeout(timer);
          waiting.delete(mine);
          if (problem === undefined) resolve();
          else reject(new Error(`${problem} ${what}:\n${screen()}`));
        };
        const mine = (): void => {
          if (isRight(screen())) end();
          else if (ended) end("It ended without");
        };
        const timer = setTimeout(() => end("There never was"), WAIT_MS);
        waiting.add(mine);
        mine();
      }),
  };
}

type Reader = {
  readonly lines: () => string[];
  readonly history: () => string;
  readonly styleOf: PtyScreen["styleOf"];
};

function screenReader(terminal: Emulator): Reader {
  const linesFrom = (start: number, count: number): string[] => {
    const buffer = terminal.buffer.active;
    return Array.from({ length: count }, (_, at) => buffer.getLine(start + at)?.translateToString(true) ?? "");
  };
  const lines = (): string[] => linesFrom(terminal.buffer.active.viewportY, terminal.rows);
  return {
    lines,
    history: () => linesFrom(0, terminal.buffer.active.length).join("\n"),
    styleOf(text) {
      const buffer = terminal.buffer.active;
      const shown = lines();
      const row = shown.findIndex((line) => line.includes(text));
      const cell = buffer.getLine(buffer.viewportY + row)?.getCell(shown[row]?.indexOf(text) ?? 0);
      if (row === -1 || cell === undefined) throw new Error(`There is no ${text} on the screen`);
      const isBold = cell.isBold() !== 0;
      return { color: cell.getFgColor(), isDefault: cell.isFgDefault(), isBold, isInverse: cell.isInverse() !== 0 };
    },
  };
}
