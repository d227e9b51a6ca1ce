/**
 * Programs inside bubblewrap (Linux): the system read-only, the workspace writable, everything else absent, a process
 * tree that ends with this process. Every profile is proved by a canary before the workspace is used.
 */

import type { ConfinedPlace, ConfinedStart, Sandbox, SandboxRules } from "./confiner.ts";
import { bwrapArguments } from "./bwrap-arguments.ts";
import { bwrapProfile } from "./bwrap-profile.ts";
import { proveConfined } from "./canary.ts";
import { holdMountPoints } from "./mount-points.ts";
import { protectedPaths } from "./protected-paths.ts";
import { confinementText, findProgram, ownPrograms, unavailable } from "./sandbox-rules.ts";
import { shimmed } from "./shim.ts";
import { wayOut } from "./way-out.ts";

const BWRAP = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const BASH = ["/bin/bash", "/usr/bin/bash"];
const PRLIMIT = ["/usr/bin/prlimit", "/bin/prlimit"];

/** Absolute paths where the programs are looked for; never PATH, which a project may have changed. */
export type BwrapPrograms = {
  readonly bwrap?: readonly string[];
  readonly prlimit?: readonly string[];
  readonly socat?: readonly string[];
};

/** Needs bubblewrap 0.7 or newer and user namespaces. Lets through the network whole or not at all. */
export function bwrap(rules: SandboxRules = {}, programs: BwrapPrograms = {}): Sandbox {
  return {
    name: "bwrap",
    async open(root) {
      if (typeof rules.network === "object") {
        throw unavailable("bwrap", "it cannot tell hosts apart; use srt() for a list of hosts, or allow or forbid all");
      }
      const program = findProgram(programs.bwrap ?? BWRAP);
      if (program === undefined) throw unavailable("bwrap", "it is not installed; install the package bubblewrap");
      const limiter = findProgram(programs.prlimit ?? PRLIMIT);
      if (rules.limits !== undefined && limiter === undefined) {
        throw unavailable("bwrap", "limits need prlimit, which is not there; install util-linux");
      }
      const bash = findProgram(BASH);
      const profile = bwrapProfile(root, { ...rules, readable: [...(rules.readable ?? []), ...(await ownPrograms())] });
      const confiner = {
        confinement: confinementText("bwrap", rules),
        takesGateway: true as const,
        async begin(argv: readonly string[], { cwd, gateway }: ConfinedPlace) {
          const way =
            gateway === undefined
              ? undefined
              : wayOut(gateway, rules.network === true, { bash, socat: programs.socat });
          const points = holdMountPoints(root);
          try {
            const held = { ...profile, readOnly: [...profile.readOnly, ...protectedPaths(root, rules.writable)] };
            const limited = rules.limits === undefined ? [] : [limiter ?? "", ...limitArguments(rules)];
            return {
              argv: [program, ...bwrapArguments(held, cwd, way?.mounts), "--", ...limited, ...shimmed(argv, bash, way)],
              env: { ...profile.env, ...way?.env },
              shim: true,
              lifeline: false,
              problem: problemOf,
              end: async () => points.release(),
            };
          } catch (error) {
            points.release();
            throw error;
          }
        },
        close: async () => undefined,
      };
      await proveConfined("bwrap", confiner, root, [
        ...(["mnt", "pid", "user"] as const),
        ...(rules.network === true ? [] : (["net"] as const)),
      ]);
      return confiner;
    },
  };
}

function problemOf({ report, stderr, exitCode }: ConfinedStart): string | undefined {
  if (report?.missing === true) return "missing";
  if (report?.started === true) return undefined;
  return stderr.trim() === "" ? `bwrap ended with ${exitCode}` : stderr.trim();
}

/** As `prlimit` takes them, the command last. */
function limitArguments({ limits = {} }: SandboxRules): readonly string[] {
  const { memoryBytes, cpuSeconds, processes } = limits;
  return [
    ...(memoryBytes === undefined ? [] : [`--as=${memoryBytes}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}`]),
    ...(processes === undefined ? [] : [`--nproc=${processes}`]),
    "--core=0",
    "--",
  ];
}
