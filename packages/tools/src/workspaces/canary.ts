/** Proof that a sandbox confines: a script inside tries what must fail, and says in which namespaces it stands. */

import { readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { CapstanError, messageOf, systemClock, type RunOutcome } from "@capstan/core";
import type { Confiner } from "./confiner.ts";
import { runProcess } from "./run-process.ts";
import { unavailable } from "./sandbox-rules.ts";

const CANARY_MS = 10_000;

/** Only built-in commands and `readlink`: it must fail because of the sandbox, never because something is not there. */
const SCRIPT = `[ -w . ] || echo "workspace read-only"
for path in /usr /etc "$1"; do [ -e "$path/." ] && [ -w "$path" ] && [ "$path" != "$HOME" ] && echo "writable $path"; done
[ -e ./.git ] && [ -w ./.git ] && echo "writable .git"
for name in mnt pid net user; do echo "$name $(readlink /proc/self/ns/$name)"; done
echo done`;

type Namespace = "mnt" | "pid" | "net" | "user";

/** Throws `sandbox-unavailable` with what is not confined. `separate`: what must not be shared with this process. */
export async function proveConfined(
  name: string,
  confiner: Confiner,
  root: string,
  separate: readonly Namespace[],
): Promise<void> {
  const problems = problemsOf(await run(name, confiner, root), separate);
  if (problems.length > 0) throw unavailable(name, `a trial inside found: ${problems.join("; ")}`);
}

async function run(name: string, confiner: Confiner, root: string): Promise<RunOutcome> {
  const argv = ["/bin/sh", "-c", SCRIPT, "sh", homedir()];
  const options = { timeoutMs: CANARY_MS, maxOutputBytes: 10_000, signal: AbortSignal.timeout(CANARY_MS) };
  const confined = await confiner.begin(argv, { cwd: root });
  try {
    return await runProcess(argv, { cwd: "/", realCwd: root }, options, systemClock, confined);
  } catch (error) {
    if (CapstanError.is(error, "sandbox-unavailable")) throw error;
    throw unavailable(name, `a trial run failed: ${messageOf(error)}`, error);
  } finally {
    await confined.end(true);
  }
}

function problemsOf({ stdout, stderr, exitCode }: RunOutcome, separate: readonly string[]): readonly string[] {
  const lines = stdout.trimEnd().split("\n");
  if (lines.pop() !== "done") return [`it ended with ${exitCode}: ${stderr.trim().slice(0, 300) || "no output"}`];
  const open = lines.filter((line) => line.startsWith("writable ") || line.startsWith("workspace "));
  const shared = lines.flatMap((line) => {
    const [space = "", inside = ""] = line.split(" ");
    return separate.includes(space) && (inside === "" || inside === ownNamespace(space))
      ? [`the ${space} namespace is shared`]
      : [];
  });
  return [...open, ...shared];
}

function ownNamespace(name: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/ns/${name}`);
  } catch {
    return undefined;
  }
}
