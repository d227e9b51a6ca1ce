/** Programs in a container of their own, by Docker's command line (or one that takes the same words). One container a run. */

import { execFile } from "node:child_process";
import { systemClock, systemIds } from "@capstan/core";
import { proveConfined } from "./canary.ts";
import { childEnv } from "./child-env.ts";
import type { Confiner, ConfinedPlace, Sandbox, SandboxRules } from "./confiner.ts";
import { dockerArguments, OWNER_LABEL } from "./docker-arguments.ts";
import { holdMountPoints } from "./mount-points.ts";
import { protectedPaths } from "./protected-paths.ts";
import { isOrphanTag, newTag } from "./run-tag.ts";
import { confinementText, findProgram, ownPrograms, unavailable } from "./sandbox-rules.ts";

const DOCKER = ["/usr/bin/docker", "/usr/local/bin/docker", "/opt/homebrew/bin/docker", "/usr/bin/podman"];
const COMMAND_MS = 10_000;
/** What Docker's command line ends with when the container could not be made. */
const DOCKER_FAILED = 125;

export type DockerOptions = SandboxRules & {
  /** Must be there: none is fetched. It needs `/bin/sh`, `head` and `cat`. */
  readonly image: string;
  /** Absolute paths where the command line is looked for. */
  readonly programs?: readonly string[];
};

const ids = systemIds(() => systemClock.now());

export function docker({ image, programs = DOCKER, ...rules }: DockerOptions): Sandbox {
  return {
    name: "docker",
    async open(root) {
      if (typeof rules.network === "object") throw unavailable("docker", "it cannot tell hosts apart; use srt()");
      const program = findProgram(programs);
      if (program === undefined) throw unavailable("docker", "its command line is not installed");
      await endOrphans(program);
      const readable = [...(rules.readable ?? []), ...(await ownPrograms())];
      const confiner = dockerConfiner(program, image, root, { ...rules, readable });
      await proveConfined("docker", confiner, root, rules.network === true ? ["mnt", "pid"] : ["mnt", "pid", "net"]);
      return confiner;
    },
  };
}

function dockerConfiner(program: string, image: string, root: string, rules: SandboxRules): Confiner {
  const user = process.getuid === undefined ? undefined : `${process.getuid()}:${process.getgid?.() ?? 0}`;
  return {
    confinement: confinementText(`docker ${image}`, rules),
    async begin(argv: readonly string[], { cwd, env = {}, input = "" }: ConfinedPlace) {
      const points = holdMountPoints(root);
      const name = `capstan-${ids.random()}`;
      const run = {
        image,
        root,
        cwd,
        name,
        owner: newTag(),
        user,
        rules,
        readOnly: protectedPaths(root, rules.writable),
        variables: Object.keys(env),
        inputBytes: Buffer.byteLength(input),
      };
      return {
        argv: [program, ...dockerArguments(run, argv)],
        env: {},
        shim: false,
        lifeline: true,
        problem: ({ exitCode, stderr }) =>
          exitCode === DOCKER_FAILED ? stderr.trim() || "Docker could not make the container" : undefined,
        async end(stopped) {
          if (stopped) await command(program, ["rm", "--force", name]).catch(() => undefined); // gone by itself
          points.release();
        },
      };
    },
    close: async () => undefined,
  };
}

/** Ends containers whose Capstan on this machine is gone. Throws `sandbox-unavailable` when Docker does not answer. */
async function endOrphans(program: string): Promise<void> {
  const format = `{{.ID}} {{.Label "${OWNER_LABEL}"}}`;
  const listed = await command(program, ["ps", "--filter", `label=${OWNER_LABEL}`, "--format", format]).catch(
    (error: unknown) => {
      throw unavailable("docker", "it does not answer; is it running?", error);
    },
  );
  const orphans = listed.split("\n").flatMap((line) => {
    const [id = "", owner = ""] = line.trim().split(" ");
    return id !== "" && isOrphanTag(owner) ? [id] : [];
  });
  if (orphans.length > 0) await command(program, ["rm", "--force", ...orphans]).catch(() => undefined);
}

function command(program: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: childEnv(process.env, {}, {}), timeout: COMMAND_MS, cwd: "/" };
    execFile(program, words, options, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });
}
