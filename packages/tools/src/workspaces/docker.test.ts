import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { docker } from "./docker.ts";
import { dockerArguments, type DockerRun } from "./docker-arguments.ts";
import { runProcess } from "./run-process.ts";
import { systemClock } from "@capstan/core";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const run: DockerRun = {
  image: "debian:12",
  root: "/home/user/work",
  cwd: "/home/user/work/src",
  name: "capstan-1",
  owner: "1.2.3.4",
  user: "1000:1000",
  readOnly: ["/home/user/work/.git"],
  variables: ["TOKEN"],
  rules: {},
  inputBytes: 0,
};

describe("dockerArguments", () => {
  it("PERM-16 gives a container the workspace and nothing else, and no value of a variable", () => {
    const words = dockerArguments(run, ["echo", "--privileged", "a b"]);
    const script = words.indexOf("-c") + 1;
    expect(words.slice(0, script).join(" ")).toBe(
      "run --rm --interactive --init --pull never --name capstan-1 --label capstan.owner=1.2.3.4 --network none " +
        "--cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp:rw,exec,nosuid,nodev,size=1g " +
        '--pids-limit 512 --user 1000:1000 --mount type=bind,"source=/home/user/work","target=/home/user/work" ' +
        '--mount type=bind,"source=/home/user/work/.git","target=/home/user/work/.git",readonly ' +
        "--env HOME=/tmp --env TMPDIR=/tmp --env TOKEN --workdir /home/user/work/src --entrypoint /bin/sh debian:12 -c",
    );
    expect(words.slice(script + 1)).toEqual(["sh", "0", "echo", "--privileged", "a b"]);
  });

  it("PERM-15 hands limits, network and folders on; a name cannot add an option to a mount", () => {
    const rules = {
      network: true,
      writable: ['/a,readonly="x'],
      limits: { memoryBytes: 1_000, cpuSeconds: 5, processes: 9 },
    } as const;
    const words = dockerArguments({ ...run, rules }, ["true"]).join(" ");
    expect(words).toContain("--network bridge");
    expect(words).toContain("--pids-limit 9 --memory 1000 --memory-swap 1000 --ulimit cpu=5");
    expect(words).toContain('--mount type=bind,"source=/a,readonly=""x","target=/a,readonly=""x"');
  });
});

describe("the lifeline", () => {
  let folder = "";
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-docker-")));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The script as a container would run it, in a process namespace of its own where there is `unshare`. */
  function script(inputBytes: number, argv: readonly string[]): readonly string[] {
    const words = dockerArguments({ ...run, inputBytes }, argv);
    return ["/usr/bin/unshare", "-Urpf", "--mount-proc", "/bin/sh", ...words.slice(words.indexOf("-c"))];
  }
  const missing = canUnshare() ? undefined : "there are no user namespaces";
  const options = { timeoutMs: 20_000, maxOutputBytes: 10_000, signal: new AbortController().signal };
  const confined = { argv: [], env: {}, shim: false, lifeline: true, problem: () => undefined, end: async () => {} };

  it.skipIf(missing)(`PERM-17 hands input and exit code on${missing ?? ""}`, async () => {
    const argv = ["/bin/sh", "-c", "cat; exit 7"];
    const start = { ...confined, argv: script(5, argv) };
    const outcome = await runProcess(
      argv,
      { cwd: "/", realCwd: folder },
      { ...options, input: "hello" },
      systemClock,
      start,
    );
    expect([outcome.stdout, outcome.exitCode]).toEqual(["hello", 7]);
  });

  it.skipIf(missing)(`PERM-16 ends everything when its input ends${missing ?? ""}`, () => {
    const argv = ["/bin/sh", "-c", "setsid sleep 1000000 & exec sleep 1000000"];
    const [program = "", ...words] = script(0, argv);
    expect(() => execFileSync(program, words, { input: "", timeout: 20_000, stdio: "pipe" })).toThrow(/Command failed/);
  });
});

describe("docker", () => {
  let folder = "";
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-docker-")));
    mkdirSync(join(folder, "work"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Writes its words down and answers `ps` with these lines. */
  function fake(ps: string): string {
    const path = join(folder, "docker");
    const log = join(folder, "log");
    writeFileSync(path, `#!/bin/sh\necho "$@" >> ${log}\ncase $1 in ps) printf '${ps}';; run) exit 125;; esac\n`, {
      mode: 0o755,
    });
    return path;
  }

  it("PERM-15 cannot be used where Docker is missing or does not start a container, and leaves nothing", async () => {
    for (const programs of [["/no/such/docker"], [fake("")]]) {
      const opening = docker({ image: "none", programs }).open(join(folder, "work"));
      await expect(opening).rejects.toSatisfy((error) => CapstanError.is(error, "sandbox-unavailable"));
    }
    expect(readdirSync(join(folder, "work"))).toEqual([]);
  });

  it("G10 ends containers whose Capstan is gone, and no others", async () => {
    const namespace = /\d+/.exec(execFileSync("readlink", ["/proc/self/ns/pid"], { encoding: "utf8" }))?.[0] ?? "";
    const gone = `${namespace}.999999999.1.aa`;
    const program = fake(`one ${gone}\\ntwo 1.1.1.aa\\nthree \\n`);
    await docker({ image: "none", programs: [program] })
      .open(join(folder, "work"))
      .catch(() => undefined);
    const log = readFileSync(join(folder, "log"), "utf8").split("\n");
    expect(log[1]).toBe("rm --force one");
  });
});

function canUnshare(): boolean {
  try {
    execFileSync("/usr/bin/unshare", ["-Urpf", "--mount-proc", "/bin/true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
