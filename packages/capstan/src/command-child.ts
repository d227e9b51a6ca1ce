/** For tests: the command as a real child process with a home and a folder of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export type ChildOptions = {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called with all of both outputs so far, after each piece. */
  readonly onOutput?: (shown: string, child: ChildProcess) => void;
};
export type ChildEnd = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export interface CommandHome extends AsyncDisposable {
  /** `CAPSTAN_HOME`. */
  readonly home: string;
  /** An empty folder to work in. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs `capstan <args>` to its end. */
  run(args: readonly string[], options?: ChildOptions): Promise<ChildEnd>;
}

const PROGRAMS = process.env["TEST_PROGRAMS"] ?? ""; // bundled by scripts/test-programs.ts

/** The library and its testing entry, bundled with the command: what configurations import shares its code. */
export const LIBRARY: string = pathToFileURL(join(PROGRAMS, "index.js")).href;
export const TESTING: string = pathToFileURL(join(PROGRAMS, "testing.js")).href;

/** What starts the bundled command; in front of its arguments. */
export const COMMAND: readonly string[] = [process.execPath, join(PROGRAMS, "main.js")];
/** What starts the command from source. */
export const SOURCE_COMMAND: readonly string[] = [
  process.execPath,
  "--conditions=capstan-source",
  join(import.meta.dirname, "main.ts"),
];

export async function commandHome(extra: Readonly<Record<string, string>> = {}): Promise<CommandHome> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "capstan-command-")));
  const home = join(root, "home");
  const folder = await mkdtemp(join(root, "work-"));
  const tmp = await mkdtemp(join(root, "tmp-")); // the demo leaves its project there, for people to look at
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(PATH|LANG|LC_ALL|SystemRoot|NODE_COMPILE_CACHE)$/.test(name),
  );
  const own = { HOME: root, CAPSTAN_HOME: home, TMPDIR: tmp };
  const env = { ...(Object.fromEntries(kept) as Record<string, string>), ...own, ...extra };
  return {
    home,
    folder,
    env,
    run: (args, options = {}) =>
      runChild([...COMMAND, ...args], { cwd: folder, ...options, env: { ...env, ...options.env } }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

export function runChild(argv: readonly string[], { input, env, cwd, onOutput }: ChildOptions): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    const [program = "", ...args] = argv;
    const child = spawn(program, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
    const shown = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8");
      child[name].on("data", (piece: string) => {
        shown[name] += piece;
        onOutput?.(shown.stdout + shown.stderr, child);
      });
    }
    child.stdin.on("error", () => undefined); // a command that refuses its input does not read it
    child.stdin.end(input ?? "");
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...shown }));
  });
}
