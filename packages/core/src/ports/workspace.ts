/** Where tools act: files and processes of one folder, local or not. Paths are decided on what was opened, never on a name. */

export interface Workspace {
  /** Name of the factory that made it, as in `session.created.workspace`. */
  readonly kind: string;
  /** Absolute real path of the folder. */
  readonly root: string;
  /** What is in force for processes: `none` when they run as the user. Recorded with every call. */
  readonly confinement: string;
  /** Absolute path of a name as a model wrote it (relative to the root). Text only; opens nothing. */
  resolve(path: string): string;
  /**
   * Real absolute paths of names relative to the root, as links lead now; what does not exist is taken as it is written.
   * Undefined where that cannot be told. A workspace without it has no links, or confines what programs reach.
   */
  realPaths?(paths: readonly string[]): Promise<readonly (string | undefined)[]>;
  /** Throws `path-not-found`, `path-outside` or `path-special`. */
  stat(path: string): Promise<FileInfo>;
  /** The first `maxBytes` of a regular file. Throws as `stat`, and `file-too-large` when `maxBytes` is exceeded and `truncate` is not set. */
  read(path: string, options?: ReadOptions): Promise<FileContent>;
  /** Replaces or creates a file in one step (a reader sees the old or the new bytes). Throws `file-changed` when `expected` does not hold. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<FileInfo>;
  /** Entries of a folder, sorted by name. */
  list(path: string, options?: ListOptions): Promise<readonly FileInfo[]>;
  /** Runs a program by argument vector in its own process group. Ends when it and everything it started has ended or was killed. */
  run(argv: readonly string[], options: RunOptions): Promise<RunOutcome>;
  close(): Promise<void>;
}

export type FileInfo = {
  /** Relative to the root, `/` as separator. */
  readonly path: string;
  readonly type: "file" | "folder" | "other";
  readonly size: number;
  readonly modifiedAt: number;
};
export type ReadOptions = {
  readonly maxBytes?: number;
  readonly truncate?: boolean;
  /** Throws `path-invalid` when the name is not the real path (a link, another case): what was permitted by name is what is touched. */
  readonly exact?: boolean;
  readonly signal?: AbortSignal;
};
export type ListOptions = { readonly exact?: boolean; readonly signal?: AbortSignal };
/** `hash` is the SHA-256 of the bytes returned. */
export type FileContent = FileInfo & { readonly bytes: Uint8Array; readonly hash: string };
export type WriteOptions = {
  /** SHA-256 the file must have now; `null`: it must not exist. */
  readonly expected?: string | null;
  /** As in `ReadOptions`. */
  readonly exact?: boolean;
  readonly signal?: AbortSignal;
};
export type RunOptions = {
  /** Relative to the root. */
  readonly cwd?: string;
  /** Added to the allow-listed environment. */
  readonly env?: { readonly [name: string]: string };
  readonly input?: string;
  /** Given its standard input once it has started, to write to it while it runs, and to end it. Comes instead of `input`. */
  readonly onInput?: (input: NodeJS.WritableStream) => void;
  readonly timeoutMs: number;
  /** Bytes kept of each stream: the first and the last half, with a marker between. */
  readonly maxOutputBytes: number;
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: string) => void;
  /** On abort the group gets SIGTERM, then SIGKILL. */
  readonly signal: AbortSignal;
};
export type RunOutcome = {
  readonly exitCode: number | null;
  readonly killedBy: "timeout" | "abort" | null;
  readonly exitSignal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly durationMs: number;
  /** Processes that still ran when the program had ended, and were ended; absent when there were none. */
  readonly leftover?: number;
};

/** What a call touches; permission rules match this and the tool's name. */
export type Need =
  | {
      readonly type: "read" | "write";
      readonly path: string;
      /** Links that are not known yet may lead it elsewhere: it always asks. */
      readonly uncertain?: true;
    }
  | ExecuteNeed
  | { readonly type: "fetch"; readonly url: string }
  | { readonly type: "other"; readonly what: string };

/** One program that is run. Without `words` only rules of plain words can tell what `command` is. */
export type ExecuteNeed = {
  readonly type: "execute";
  /** For people. */
  readonly command: string;
  /** The argument vector; `null` stands for any number of words that are not known. `[null]`: nothing is known. */
  readonly words?: readonly (string | null)[];
  /**
   * How many of the words an open rule must name itself, because they may run or write more than the program is for;
   * default 1. 0: a step of a script that needs no rule to be allowed.
   */
  readonly named?: number;
  /** Where it runs, when that may be another folder than the root and decides what the words mean. */
  readonly folder?: string;
  /** Further paths, from the root, that its words name: as they are seen from where it stands, and as links lead. */
  readonly leads?: readonly string[];
};

/** Makes a workspace of one kind for a root. Throws `workspace-missing` when it is not on this machine. */
export type WorkspaceFactory = (root: string) => Promise<Workspace>;
