/**
 * Programs inside `@anthropic-ai/sandbox-runtime` (an optional peer, 0.0.83): bubblewrap on Linux, seatbelt on macOS,
 * with a proxy that lets single hosts through. It keeps one network policy for the whole process.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { systemClock, systemIds } from "@capstan/core";
import { proveConfined } from "./canary.ts";
import type { Confiner, Sandbox, SandboxRules } from "./confiner.ts";
import { holdMountPoints } from "./mount-points.ts";
import { protectedPaths } from "./protected-paths.ts";
import { confinementText, findProgram, ownPrograms, unavailable } from "./sandbox-rules.ts";

/** The part of its `SandboxManager` that is used. */
export type SandboxRuntime = {
  initialize(config: SrtConfig): Promise<void>;
  wrapWithSandboxArgv(
    command: string,
    shell: string,
    config: Partial<SrtConfig>,
    signal: undefined,
    cwd: string,
    options: { readonly commandId: string },
  ): Promise<{ readonly argv: readonly string[] }>;
  cleanupAfterCommand(): void;
};
export type SrtConfig = {
  readonly network: { readonly allowedDomains: readonly string[]; readonly deniedDomains: readonly string[] };
  readonly filesystem: {
    readonly denyRead: readonly string[];
    readonly allowRead: readonly string[];
    readonly allowWrite: readonly string[];
    readonly denyWrite: readonly string[];
  };
  readonly ripgrep: { readonly command: string };
};

export type SrtOptions = SandboxRules & {
  /** Loads the package; for tests. */
  readonly load?: () => Promise<SandboxRuntime>;
};

const PACKAGE = "@anthropic-ai/sandbox-runtime";
const BASH = ["/bin/bash", "/usr/bin/bash"];
const SECRETS = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/sudoers",
  "/run/docker.sock",
  "/var/run/docker.sock",
];

const ids = systemIds(() => systemClock.now());

/** The policy that this process has given to the package, as text. */
let policy: string | undefined;

export function srt({ load = loadRuntime, ...rules }: SrtOptions = {}): Sandbox {
  return {
    name: "srt",
    async open(root) {
      if (rules.network === true)
        throw unavailable("srt", "it lets named hosts through only; name them, or use bwrap()");
      if (rules.limits !== undefined) throw unavailable("srt", "it keeps no limits; use bwrap() or docker()");
      const bash = findProgram(BASH);
      if (bash === undefined) throw unavailable("srt", "there is no bash");
      const runtime = await load();
      const own = await ownPrograms();
      const configured = (denyWrite: readonly string[]): SrtConfig => configOf(root, rules, own, denyWrite);
      await initialize(runtime, configured([]), JSON.stringify(rules.network ?? []));
      const confiner = srtConfiner(runtime, bash, root, rules, configured);
      await proveConfined("srt", confiner, root, process.platform === "linux" ? ["mnt", "pid", "net", "user"] : []);
      return confiner;
    },
  };
}

function srtConfiner(
  runtime: SandboxRuntime,
  bash: string,
  root: string,
  rules: SandboxRules,
  configured: (denyWrite: readonly string[]) => SrtConfig,
): Confiner {
  return {
    confinement: confinementText("srt", rules),
    async begin(argv, { cwd }) {
      const points = holdMountPoints(root);
      try {
        const config = configured(protectedPaths(root, rules.writable));
        // it takes a command for a shell: every word quoted, its folder inside
        const command = `cd ${quoted(cwd)} && exec ${argv.map(quoted).join(" ")}`;
        const commandId = ids.random(); // else the command itself names the run to the proxy
        const wrapped = await runtime.wrapWithSandboxArgv(command, bash, config, undefined, cwd, { commandId });
        return {
          argv: withoutShell(wrapped.argv),
          env: { TMPDIR: "/tmp" },
          shim: false,
          lifeline: false,
          problem: ({ exitCode, stderr }) =>
            exitCode !== 0 && stderr.startsWith("bwrap: ") ? stderr.trim() : undefined,
          async end() {
            runtime.cleanupAfterCommand();
            points.release();
          },
        };
      } catch (error) {
        points.release();
        throw error;
      }
    },
    close: async () => undefined, // the proxy serves every workspace of the process, and ends with it
  };
}

/** It starts through `bash -c "bwrap ..."`: a shell that stays would not die with this process, so it must give way. */
function withoutShell(argv: readonly string[]): readonly string[] {
  const [shell = "", option = "", script = ""] = argv;
  return option === "-c" && /^\S*bwrap /.test(script)
    ? [shell, "--noprofile", "--norc", option, `exec ${script}`]
    : argv;
}

async function initialize(runtime: SandboxRuntime, config: SrtConfig, wanted: string): Promise<void> {
  if (policy !== undefined && policy !== wanted) {
    throw unavailable("srt", "this process uses it with other hosts already, and it keeps one list for a process");
  }
  if (policy === wanted) return;
  try {
    await runtime.initialize(config);
  } catch (cause) {
    throw unavailable("srt", cause instanceof Error ? cause.message : String(cause), cause);
  }
  policy = wanted;
}

/** `own`: ripgrep, which the package needs as the tools do. */
function configOf(root: string, rules: SandboxRules, own: readonly string[], denyWrite: readonly string[]): SrtConfig {
  const { network, readable = [], writable = [] } = rules;
  return {
    network: { allowedDomains: typeof network === "object" ? network : [], deniedDomains: [] },
    filesystem: {
      denyRead: [homedir(), ...SECRETS.filter((path) => existsSync(path))],
      allowRead: [root, ...readable, ...writable, ...own],
      allowWrite: [root, ...writable],
      denyWrite,
    },
    ripgrep: { command: own[0] ?? "rg" },
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

async function loadRuntime(): Promise<SandboxRuntime> {
  const name: string = PACKAGE; // not a literal: the package may be absent when this is compiled
  try {
    const loaded = (await import(name)) as { readonly SandboxManager?: SandboxRuntime };
    if (loaded.SandboxManager !== undefined) return loaded.SandboxManager;
  } catch (cause) {
    throw unavailable("srt", `the package ${PACKAGE} is not installed; npm install ${PACKAGE}@0.0.83`, cause);
  }
  throw unavailable("srt", `the package ${PACKAGE} is another one than was expected; install 0.0.83`);
}
