/** What every `Workspace` must do, as a list of cases for any test runner. Needs `/bin/sh` and `mkfifo` inside the workspace. */

import assert from "node:assert/strict";
import { CapstanError, type ErrorCode } from "../words/errors.ts";
import { sha256 } from "../words/json.ts";
import type { RunOptions, RunOutcome, Workspace } from "../ports/workspace.ts";

export type WorkspaceFixture = {
  /** An empty workspace whose folder is named `work`; beside it stands `work-evil/secret.txt` with the text `secret`. */
  readonly workspace: Workspace;
  readonly close: () => Promise<void>;
};
type WorkspaceCase = { readonly name: string; readonly run: (workspace: Workspace) => Promise<void> };

/** `open` is called once for each case. Cases may run at the same time. */
export function workspaceContract(
  open: () => Promise<WorkspaceFixture>,
): readonly { readonly name: string; readonly run: () => Promise<void> }[] {
  return [...fileCases, ...pathCases, ...linkCases, ...runCases, ...endCases].map(({ name, run }) => ({
    name,
    async run() {
      const { workspace, close } = await open();
      try {
        await run(workspace);
      } finally {
        await close();
      }
    },
  }));
}

const fileCases: readonly WorkspaceCase[] = [
  {
    name: "writes a file with its folders and reads the same bytes back",
    async run(workspace) {
      const bytes = bytesOf("grüße\r\n\0");
      const written = await workspace.write("a/b/c.txt", bytes);
      assert.deepEqual([written.path, written.type, written.size], ["a/b/c.txt", "file", bytes.length]);
      const read = await workspace.read("a/b/c.txt");
      assert.deepEqual(Buffer.from(read.bytes), Buffer.from(bytes));
      assert.equal(read.hash, sha256(bytes));
      assert.equal(read.path, "a/b/c.txt");
    },
  },
  {
    name: "replaces a file whole and keeps its mode",
    async run(workspace) {
      await workspace.write("run.sh", bytesOf("#!/bin/sh\necho a longer first version\n"));
      await sh(workspace, "chmod 751 run.sh");
      await workspace.write("run.sh", bytesOf("#!/bin/sh\necho two\n"));
      assert.equal((await sh(workspace, "./run.sh")).stdout, "two\n");
      assert.match((await sh(workspace, "ls -l run.sh")).stdout, /^-rwxr-x--x/);
      assert.deepEqual(await names(workspace, "."), ["run.sh"]);
    },
  },
  {
    name: "refuses a file that is longer than asked for, or gives its start",
    async run(workspace) {
      await workspace.write("long", bytesOf("0123456789"));
      await fails("file-too-large", () => workspace.read("long", { maxBytes: 9 }));
      assert.equal(textOf((await workspace.read("long", { maxBytes: 10 })).bytes), "0123456789");
      const start = await workspace.read("long", { maxBytes: 4, truncate: true });
      assert.deepEqual([textOf(start.bytes), start.hash, start.size], ["0123", sha256("0123"), 10]);
    },
  },
  {
    name: "lists a folder by name with the types of its entries",
    async run(workspace) {
      await sh(
        workspace,
        "mkdir b; echo 12345 > a; mkfifo c; ln -s ../work-evil/secret.txt d; ln -s a e; echo > ./-rf",
      );
      const entries = await workspace.list(".");
      assert.deepEqual(
        entries.map(({ path, type }) => `${path} ${type}`),
        ["-rf file", "a file", "b folder", "c other", "d other", "e file"],
      );
      assert.equal(entries[1]?.size, 6);
      assert.deepEqual(await workspace.list("b"), []);
    },
  },
  {
    name: "writes only over the bytes that were expected",
    async run(workspace) {
      await workspace.write("x", bytesOf("one"), { expected: null });
      await fails("file-changed", () => workspace.write("x", bytesOf("two"), { expected: null }));
      await fails("file-changed", () => workspace.write("x", bytesOf("two"), { expected: sha256("other") }));
      await fails("file-changed", () => workspace.write("y", bytesOf("two"), { expected: sha256("one") }));
      await workspace.write("x", bytesOf("two"), { expected: sha256("one") });
      assert.equal(textOf((await workspace.read("x")).bytes), "two");
      assert.deepEqual(await names(workspace, "."), ["x"]);
    },
  },
];

const pathCases: readonly WorkspaceCase[] = [
  {
    name: "says of a missing name that it is not there",
    async run(workspace) {
      await workspace.write("file", bytesOf("x"));
      for (const path of ["none", "none/none", "file/below"]) {
        await fails("path-not-found", () => workspace.stat(path));
        await fails("path-not-found", () => workspace.read(path));
        await fails("path-not-found", () => workspace.list(path));
      }
      await fails("path-not-found", () => workspace.write("file/below", bytesOf("x")));
    },
  },
  {
    name: "refuses what lies outside under any name, whether it is there or not",
    async run(workspace) {
      const outside = ["..", "../work-evil/secret.txt", "../none", "a/../../work-evil/secret.txt", "/", "/etc/passwd"];
      const aliases = ["/proc/self/root/etc/passwd", "/proc/self/environ", "/dev/stdin", "/dev/null", "/dev/fd/0"];
      for (const path of [...outside, ...aliases, `${workspace.root}-evil/secret.txt`, `${workspace.root}/../none`]) {
        await fails("path-outside", () => workspace.stat(path));
        await fails("path-outside", () => workspace.read(path));
        await fails("path-outside", () => workspace.list(path));
        await fails("path-outside", () => workspace.write(path, bytesOf("x")), "path-special");
        await fails("path-outside", () => workspace.run(["/bin/pwd"], runOptions({ cwd: path })));
      }
    },
  },
  {
    name: "takes absolute names and detours that stay inside",
    async run(workspace) {
      await workspace.write("a/x", bytesOf("x"));
      for (const path of ["./a/x", "a/../a/x", "a//x", `${workspace.root}/a/x`, "../work/a/x"]) {
        assert.equal((await workspace.read(path)).path, "a/x");
        assert.equal(workspace.resolve(path), `${workspace.root}/a/x`);
      }
      assert.equal((await workspace.stat(".")).path, ".");
    },
  },
  {
    name: "refuses names no file can have",
    async run(workspace) {
      for (const path of ["", "a\0b", "\ud800", "x".repeat(300), "x/".repeat(3_000)]) {
        await fails("path-invalid", () => workspace.stat(path));
        await fails("path-invalid", () => workspace.write(path, bytesOf("x")), "path-special");
      }
    },
  },
  {
    name: "takes names that look like options, and names with line ends and spaces",
    async run(workspace) {
      for (const name of ["-rf", "--help", "two\nlines", " ", "…", "a\\b", "x (deleted)", "*"]) {
        await workspace.write(name, bytesOf(name));
        assert.equal(textOf((await workspace.read(name)).bytes), name);
      }
    },
  },
  {
    name: "refuses special files without waiting for them",
    async run(workspace) {
      await sh(workspace, "mkfifo pipe; mkdir folder; ln -s pipe link");
      for (const path of ["pipe", "link"]) {
        await fails("path-special", () => workspace.stat(path));
        await fails("path-special", () => workspace.read(path));
        await fails("path-special", () => workspace.write(path, bytesOf("x")));
      }
      await fails("path-special", () => workspace.read("folder"));
      await fails("path-special", () => workspace.write("folder", bytesOf("x")));
      await fails("path-special", () => workspace.write("folder/", bytesOf("x")));
      await fails("path-special", () => workspace.write(".", bytesOf("x")));
    },
  },
];

const linkCases: readonly WorkspaceCase[] = [
  {
    name: "refuses links that lead outside, in any part of the name",
    async run(workspace) {
      await sh(
        workspace,
        "ln -s ../work-evil/secret.txt file; ln -s ../work-evil folder; ln -s / root; mkdir d; ln -s ../.. d/up",
      );
      const outside = ["file", "folder/secret.txt", "root/etc/passwd", "d/up/work-evil/secret.txt", "folder", "root"];
      for (const path of outside) {
        await fails("path-outside", () => workspace.stat(path));
        await fails("path-outside", () => workspace.read(path));
        await fails("path-outside", () => workspace.list(path));
        await fails("path-outside", () => workspace.write(path, bytesOf("x")));
        await fails("path-outside", () => workspace.run(["/bin/pwd"], runOptions({ cwd: path })));
      }
      await fails("path-outside", () => workspace.write("folder/new/file", bytesOf("x")));
      assert.equal(
        (await sh(workspace, "cat ../work-evil/secret.txt; ls -A ../work-evil")).stdout,
        "secretsecret.txt\n",
      );
    },
  },
  {
    name: "never creates through a link that leads nowhere",
    async run(workspace) {
      await sh(workspace, "ln -s ../work-evil/new out; ln -s missing in; ln -s self self");
      for (const path of ["out", "in"]) {
        await fails("path-not-found", () => workspace.read(path));
        await fails("path-not-found", () => workspace.write(path, bytesOf("x")));
      }
      await fails("path-special", () => workspace.read("self"));
      await fails("path-special", () => workspace.write("self", bytesOf("x")));
      assert.equal((await sh(workspace, "ls -A ../work-evil")).stdout, "secret.txt\n");
    },
  },
  {
    name: "reads and writes through links that stay inside, and keeps the link",
    async run(workspace) {
      await workspace.write("real/x", bytesOf("one"));
      await sh(workspace, "ln -s real folder; ln -s folder/x file");
      assert.equal((await workspace.read("file")).path, "real/x");
      assert.equal((await workspace.write("file", bytesOf("two"))).path, "real/x");
      assert.equal((await workspace.write("folder/y", bytesOf("y"))).path, "real/y");
      assert.equal((await sh(workspace, "cat real/x real/y; readlink file folder")).stdout, "twoyfolder/x\nreal\n");
    },
  },
  {
    name: "takes only the real name when it is asked to be exact",
    async run(workspace) {
      await workspace.write("real/x", bytesOf("one"));
      await sh(workspace, "ln -s real folder; ln -s real/x file");
      for (const path of ["file", "folder/x"]) {
        await fails("path-invalid", () => workspace.read(path, { exact: true }));
        await fails("path-invalid", () => workspace.write(path, bytesOf("two"), { exact: true }));
      }
      await fails("path-invalid", () => workspace.write("folder/deep/new", bytesOf("two"), { exact: true }));
      await fails("path-invalid", () => workspace.list("folder", { exact: true }));
      assert.equal((await workspace.read(`${workspace.root}/./real/x`, { exact: true })).path, "real/x");
      await workspace.write("real/new/z", bytesOf("z"), { exact: true });
      assert.deepEqual(await names(workspace, "real"), ["real/new", "real/x"]);
    },
  },
];

const runCases: readonly WorkspaceCase[] = [
  {
    name: "hands arguments, input, folder and variables on unchanged",
    async run(workspace) {
      await workspace.write("sub/x", bytesOf("x"));
      const script = 'printf "%s|" "$@"; cat; pwd; printf %s "$GIVEN"';
      const options = runOptions({ cwd: "sub", input: "in\n", env: { GIVEN: "a=b\n$HOME" } });
      const outcome = await workspace.run(
        ["/bin/sh", "-c", script, "sh", "--x", "two words", "$(id)", "", "a\nb"],
        options,
      );
      assert.equal(outcome.stdout, `--x|two words|$(id)||a\nb|in\n${workspace.root}/sub\na=b\n$HOME`);
      assert.deepEqual([outcome.exitCode, outcome.exitSignal, outcome.killedBy], [0, null, null]);
    },
  },
  {
    name: "tells the exit code, the signal and the two streams apart",
    async run(workspace) {
      const outcome = await sh(workspace, "echo out; echo err >&2; echo dev > /dev/stderr; exit 7");
      assert.deepEqual([outcome.exitCode, outcome.stdout, outcome.stderr], [7, "out\n", "err\ndev\n"]);
      assert.deepEqual([outcome.truncated, "leftover" in outcome], [false, false]);
      assert.equal((await sh(workspace, "kill -9 $$")).exitSignal, "SIGKILL");
    },
  },
  {
    name: "gives an empty input, and no terminal, to a program that asks",
    run: async (workspace) => assert.equal((await sh(workspace, "cat; test -t 0 || echo none")).stdout, "none\n"),
  },
  {
    name: "says that a program could not be started",
    async run(workspace) {
      await fails("process-failed", () => workspace.run(["/no/such/program"], runOptions()));
      await fails("process-failed", () => workspace.run(["/bin/echo", "a\0b"], runOptions()));
    },
  },
  {
    name: "keeps the start and the end of a long output and says how much is missing",
    async run(workspace) {
      const outcome = await sh(workspace, "printf START; head -c 1000000 /dev/zero | tr '\\0' x; printf END", {
        maxOutputBytes: 100,
      });
      assert.equal(outcome.stdout, `START${"x".repeat(45)}\n[... 999,908 bytes left out ...]\n${"x".repeat(47)}END`);
      assert.equal(outcome.truncated, true);
    },
  },
  {
    name: "shows output as it comes, characters whole, and replaces what is no UTF-8",
    async run(workspace) {
      const chunks: string[] = [];
      const script = "printf '\\342\\202'; sleep 0.05; printf '\\254'; printf '\\377'";
      const outcome = await sh(workspace, script, { onOutput: (_stream, chunk) => void chunks.push(chunk) });
      assert.deepEqual([chunks.join(""), outcome.stdout], ["€\ufffd", "€\ufffd"]);
    },
  },
];

const endCases: readonly WorkspaceCase[] = [
  {
    name: "ends a program that takes too long, with all it started",
    async run(workspace) {
      const name = longSleep();
      const script = `trap '' TERM; (trap '' TERM; setsid ${name}) & echo on; while :; do ${name}; done`;
      const outcome = await sh(workspace, script, { timeoutMs: 300 });
      assert.deepEqual([outcome.killedBy, outcome.stdout], ["timeout", "on\n"]);
      await nothingRuns(workspace, name);
    },
  },
  {
    name: "ends a program when it is aborted, and starts none that was aborted before",
    async run(workspace) {
      const abort = new AbortController();
      const onOutput = (): void => abort.abort(new Error("stop"));
      const name = longSleep();
      const outcome = await sh(workspace, `echo on; ${name}`, { signal: abort.signal, onOutput });
      assert.deepEqual([outcome.killedBy, outcome.stdout], ["abort", "on\n"]);
      await assert.rejects(sh(workspace, "touch started", { signal: abort.signal }), /stop/);
      assert.deepEqual(await names(workspace, "."), []);
      await nothingRuns(workspace, name);
    },
  },
  {
    name: "ends what a program leaves running, and says so",
    async run(workspace) {
      const name = longSleep();
      const script = `${name} & setsid ${name} > /dev/null 2>&1 & (nohup setsid ${name} > /dev/null 2>&1 &); echo done`;
      const outcome = await sh(workspace, script);
      assert.deepEqual([outcome.exitCode, outcome.killedBy, outcome.stdout, outcome.leftover], [0, null, "done\n", 3]);
      await nothingRuns(workspace, name);
    },
  },
  {
    name: "ends what runs when it is closed, and refuses work afterwards",
    async run(workspace) {
      const { promise: started, resolve } = Promise.withResolvers<void>();
      const running = sh(workspace, `echo on; ${longSleep()}`, { onOutput: () => resolve() });
      const ended = fails("aborted", () => running);
      await started;
      await Promise.all([workspace.close(), workspace.close()]);
      await ended;
      await fails("closed", () => workspace.stat("."));
      await fails("closed", () => sh(workspace, "true"));
    },
  },
];

function sh(workspace: Workspace, script: string, options: Partial<RunOptions> = {}): Promise<RunOutcome> {
  return workspace.run(["/bin/sh", "-c", script], runOptions(options));
}

function runOptions(options: Partial<RunOptions> = {}): RunOptions {
  return { timeoutMs: 30_000, maxOutputBytes: 100_000, signal: new AbortController().signal, ...options };
}

async function fails(code: ErrorCode, perform: () => Promise<unknown>, orCode?: ErrorCode): Promise<void> {
  const codes = orCode === undefined ? [code] : [code, orCode];
  await assert.rejects(perform, (error) => {
    assert.ok(CapstanError.is(error, ...codes), `expected ${codes.join(" or ")}, got ${String(error)}`);
    return true;
  });
}

let sleeps = 0;
/** A command that does not end by itself and that no other case or process uses. */
function longSleep(): string {
  sleeps += 1;
  return `sleep ${1_000_000 + process.pid * 100 + sleeps}`;
}

async function nothingRuns(workspace: Workspace, command: string): Promise<void> {
  const pattern = command.replace("sleep", "[s]leep"); // does not find itself
  const { stdout } = await sh(workspace, `cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' | grep -c '${pattern}'`);
  assert.equal(stdout, "0\n");
}

async function names(workspace: Workspace, path: string): Promise<readonly string[]> {
  return (await workspace.list(path)).map((entry) => entry.path);
}

function bytesOf(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
