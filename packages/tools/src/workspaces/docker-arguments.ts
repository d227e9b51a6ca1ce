/** One run in a container as the words of Docker's command line. Pure. */

import type { SandboxRules } from "./confiner.ts";

export type DockerRun = {
  readonly image: string;
  readonly root: string;
  readonly cwd: string;
  /** Unique name of the container. */
  readonly name: string;
  /** Tag of the run, by which a later start finds containers that nobody owns any more. */
  readonly owner: string;
  readonly user: string | undefined;
  readonly readOnly: readonly string[];
  /** Names only: their values are read from the environment of the command line, and stand in no list of processes. */
  readonly variables: readonly string[];
  readonly rules: SandboxRules;
  readonly inputBytes: number;
};

export const OWNER_LABEL = "capstan.owner";

/**
 * The first program inside. Its standard input is the lifeline: the program's own input comes first, by its length; the
 * end of the rest means that Capstan is gone, and ends everything inside.
 */
const LIFELINE = `exec 3<&0
input=/dev/null
if [ "$1" -gt 0 ]; then input=/tmp/.capstan-input; head -c "$1" <&3 >"$input"; fi
shift
"$@" <"$input" 3<&- &
program=$!
trap 'kill -TERM "$program" 2>/dev/null' TERM INT HUP
{ cat <&3 >/dev/null; kill -KILL -1; } 2>/dev/null &
wait "$program"
code=$?
while kill -0 "$program" 2>/dev/null; do wait "$program"; code=$?; done
exit "$code"`;

/** Everything after `docker`. */
export function dockerArguments(run: DockerRun, argv: readonly string[]): readonly string[] {
  const { image, root, cwd, name, owner, user, readOnly, variables, rules, inputBytes } = run;
  const { network = false, readable = [], writable = [], limits = {} } = rules;
  const { memoryBytes, cpuSeconds, processes = 512 } = limits;
  return [
    ...words("run --rm --interactive --init --pull never --name"),
    name,
    "--label",
    `${OWNER_LABEL}=${owner}`,
    ...words(`--network ${network === false ? "none" : "bridge"} --cap-drop ALL --security-opt no-new-privileges`),
    ...words("--read-only --tmpfs /tmp:rw,exec,nosuid,nodev,size=1g --pids-limit"),
    String(processes),
    ...(memoryBytes === undefined ? [] : words(`--memory ${memoryBytes} --memory-swap ${memoryBytes}`)),
    ...(cpuSeconds === undefined ? [] : ["--ulimit", `cpu=${cpuSeconds}`]),
    ...(user === undefined ? [] : ["--user", user]),
    ...[root, ...writable].flatMap((path) => ["--mount", mount(path, false)]),
    ...[...readable, ...readOnly].flatMap((path) => ["--mount", mount(path, true)]),
    ...["HOME=/tmp", "TMPDIR=/tmp", ...variables].flatMap((variable) => ["--env", variable]),
    "--workdir",
    cwd,
    "--entrypoint",
    "/bin/sh",
    image,
    "-c",
    LIFELINE,
    "sh",
    String(inputBytes),
    ...argv,
  ];
}

function words(text: string): readonly string[] {
  return text.split(" ");
}

/** Docker reads this as one line of CSV. */
function mount(path: string, readOnly: boolean): string {
  const field = (name: string): string => `"${name}=${path.replaceAll('"', '""')}"`;
  return `type=bind,${field("source")},${field("target")}${readOnly ? ",readonly" : ""}`;
}
