/** Numbered files of one session in a private folder: written one after the other, the oldest removed when there are too many. */

import { chmod, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Bytes of one file: what is longer is cut. */
const MAX_FILE_BYTES = 4 * 1_024 * 1_024;
/** Writes that wait; what comes beyond is counted and left out. */
const MAX_WAITING = 256;

export const KINDS = ["api_request", "api_response", "tool_call", "tool_result"] as const;
export type FileKind = (typeof KINDS)[number];

const FILE_NAME = /^(api_request|api_response|tool_call|tool_result)_(\d{1,9})\.json$/;

export class FolderWriter {
  readonly #folder: string;
  readonly #maxFiles: number;
  readonly #next = new Map<FileKind, number>();
  #names: string[] = [];
  #work: Promise<void> | undefined;
  #waiting = 0;
  #opened = false;
  /** Files that could not be written. */
  lost = 0;

  constructor(folder: string, maxFiles: number) {
    this.#folder = folder;
    this.#maxFiles = maxFiles;
  }

  /** Nobody waits for it. `text` is made when its turn has come; its number is that of its pair when there is one. */
  write(kind: FileKind, text: () => string, pair?: Pair): void {
    if (this.#waiting >= MAX_WAITING) {
      this.lost += 1;
      return;
    }
    this.#waiting += 1;
    const before = this.#work ?? Promise.resolve();
    this.#work = before
      .then(() => this.#store(kind, text, pair))
      .catch(() => void (this.lost += 1))
      .finally(() => void (this.#waiting -= 1));
  }

  /** Resolves when all that was handed over is written or lost. */
  async settled(): Promise<void> {
    await this.#work;
  }

  async #store(kind: FileKind, text: () => string, pair?: Pair): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#opened) await this.#open();
      const number = pair?.number ?? this.#next.get(kind) ?? 1;
      try {
        await this.#create(`${kind}_${number}.json`, text);
        this.#next.set(kind, Math.max(this.#next.get(kind) ?? 1, number + 1));
        if (pair !== undefined) pair.number = number;
        return;
      } catch (error) {
        // another process had the session meanwhile, and went on with the numbers
        if (attempt === 2 || pair?.number !== undefined || !isTaken(error)) throw error;
        this.#opened = false;
      }
    }
  }

  /** Never over what is there, never through a link. */
  async #create(name: string, text: () => string): Promise<void> {
    const handle = await open(join(this.#folder, name), "wx", 0o600);
    try {
      await handle.writeFile(cut(text()));
    } finally {
      await handle.close();
    }
    this.#names.push(name);
    while (this.#names.length > this.#maxFiles)
      await rm(join(this.#folder, this.#names.shift() ?? ""), { force: true });
  }

  /** Goes on with the numbers of an earlier process. */
  async #open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    const found = (await readdir(this.#folder)).flatMap((name) => {
      const [, kind, digits = ""] = FILE_NAME.exec(name) ?? [];
      return kind === undefined ? [] : [{ name, kind: kind as FileKind, number: Number(digits) }]; // of the pattern
    });
    for (const { kind, number } of found) this.#next.set(kind, Math.max(this.#next.get(kind) ?? 1, number + 1));
    const [requests, calls] = [this.#next.get("api_request") ?? 1, this.#next.get("tool_call") ?? 1];
    this.#next.set("api_response", Math.max(requests, this.#next.get("api_response") ?? 1));
    this.#next.set("tool_result", Math.max(calls, this.#next.get("tool_result") ?? 1));
    this.#names = found.toSorted((left, right) => left.number - right.number).map(({ name }) => name);
    this.#opened = true;
  }
}

/** Two files that share a number: a request and its response, a call and its result. */
export type Pair = { number?: number };

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_FILE_BYTES) return text;
  const left = bytes.length - MAX_FILE_BYTES;
  return `${bytes
    .subarray(0, MAX_FILE_BYTES)
    .toString()
    .replace(/\ufffd$/, "")}\n[... ${left} bytes left out]\n`;
}
