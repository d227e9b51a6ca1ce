/**
 * The first program inside a sandbox: it starts the real one, gives what that leaves behind a moment to end, and tells
 * on a descriptor of its own what it saw, because from outside a sandbox that ends looks the same in all cases.
 */

import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { Readable } from "node:stream";
import { TOOL_LIMITS } from "../tool-limits.ts";
import type { ShimReport } from "./confiner.ts";
import { MARK_DESCRIPTOR, STATUS_DESCRIPTOR } from "./run-tag.ts";
import type { WayOut } from "./way-out.ts";

const ROUND_MS = 10;
/** Inside there are the sandbox's own first process and the shim; everything above is left over. */
const OWN_PROCESSES = 2;

/** A bash also closes what this process inherited without knowing: an open folder would lead out of the sandbox. */
const CLOSING = `for folder in /proc/self/fd/*; do
  number=\${folder##*/}
  case $number in [0-2] | ${STATUS_DESCRIPTOR} | ${MARK_DESCRIPTOR}) ;; *) eval "exec $number>&-" ;; esac
done`;
const SCRIPT = `trap : TERM INT HUP
echo started >&${STATUS_DESCRIPTOR}
command -v -- "$1" >/dev/null 2>&1 || { echo missing >&${STATUS_DESCRIPTOR}; exit 127; }
(exec "$@" ${STATUS_DESCRIPTOR}>&-)
code=$?
[ -n "$forwarder" ] && kill -KILL $forwarder $(cat /proc/$forwarder/task/$forwarder/children) && wait $forwarder
round=0
while set -- /proc/[0-9]*; [ $# -gt ${OWN_PROCESSES} ] && [ $round -lt ${TOOL_LIMITS.settleMs / ROUND_MS} ]; do
  round=$((round + 1))
  sleep ${ROUND_MS / 1000}
done
[ $# -gt ${OWN_PROCESSES} ] && echo "left $(($# - ${OWN_PROCESSES}))" >&${STATUS_DESCRIPTOR}
exit $code`;

/** The argument vector of the shim for a program. `bash` is there inside too, and where there is a `way` out. */
export function shimmed(argv: readonly string[], bash: string | undefined, way?: WayOut): readonly string[] {
  return bash === undefined
    ? ["/bin/sh", "-c", `forwarder=\n${SCRIPT}`, "sh", ...argv]
    : [bash, "--noprofile", "--norc", "-c", `${CLOSING}\nforwarder=\n${way?.begin ?? ""}\n${SCRIPT}`, "bash", ...argv];
}

/** What the shim tells; undefined for a child that has none. Settles at the end of the child. */
export async function shimReport(child: ChildProcess): Promise<ShimReport | undefined> {
  const stream = statusStream(child);
  if (stream === undefined) return undefined;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let told = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece: string) => {
    if (told.length < 1_000) told += piece;
  });
  stream.on("error", () => resolve());
  stream.on("close", () => resolve());
  await ended;
  const leftover = /^left (\d+)$/m.exec(told)?.[1];
  return {
    started: told.startsWith("started\n"),
    missing: /^missing$/m.test(told),
    leftover: leftover === undefined ? 0 : Number(leftover),
  };
}

/** The pipe the shim writes to, which only confined children have. */
export function statusStream(child: ChildProcess): Readable | undefined {
  const streams: readonly unknown[] = child.stdio; // its type knows five
  const stream = streams[STATUS_DESCRIPTOR];
  return stream instanceof Readable ? stream : undefined;
}

type End = { readonly exitCode: number | null; readonly exitSignal: string | null };

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** A sandbox hands the end by a signal on as shells do, as 128 and its number. */
export function confinedEnd(end: End): End {
  const signal = end.exitCode === null ? undefined : SIGNALS.get(end.exitCode - 128);
  return signal === undefined ? end : { exitCode: null, exitSignal: signal };
}
