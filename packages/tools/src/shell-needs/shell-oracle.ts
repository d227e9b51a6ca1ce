/** For tests: runs commands in a real bash in a prepared project and tells whether the canary ran or was written. */

import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Observed = {
  /** The program `canary` ran, or a file was written that no command of the tests may write. */
  readonly canary: boolean;
  /** Argument vectors of the programs of the project that ran, in the order they began. */
  readonly argv: readonly (readonly string[])[];
};
type ShellOracle = {
  readonly root: string;
  readonly observe: (command: string) => Promise<Observed>;
  readonly close: () => void;
};

const TIMEOUT_MS = 20_000;
const CANARY = '#!/bin/sh\n: > "${0%/*}/../ran"\n';
/** Writes its words down. */
const SHIM = `#!/bin/bash
printf '%s\\0' "\${0##*/}" "$@" $'\\1' >> "\${0%/*}/../argv"
`;
/** And runs a canary that is the value of one of its options. */
const OPTION_SHIM = `${SHIM}for word in "$@"; do
  case "$word" in -*=canary) canary ;; canary) [[ $last == -* ]] && canary ;; esac
  last=$word
done
exit 0
`;
const OPTION_SHIMS = "npm npx cargo go pytest tsc eslint rg fd curl wget ssh docker cp2 rsync vim";
/** In a project of shims these are real: they run other programs. */
const REAL_WRAPPERS = "timeout nice nohup env xargs find stdbuf";
const ALL_SHIMS = "git npm npx ls cat grep wc head tail sort uniq cut make curl a b c";

/** Projects in which commands run side by side. */
const PROJECTS = 3;

/** Runs all commands in a real bash, some side by side. */
export async function observeAll(all: readonly string[], everything: boolean): Promise<ReadonlyMap<string, Observed>> {
  const observed = new Map<string, Observed>();
  const waiting = [...all];
  const work = async (): Promise<void> => {
    const oracle = shellOracle(everything);
    try {
      for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
        observed.set(command, await oracle.observe(command));
      }
    } finally {
      oracle.close();
    }
  };
  await Promise.all(Array.from({ length: PROJECTS }, work));
  return observed;
}

/** `everything`: every program but the wrappers only writes its words down. */
function shellOracle(everything = false): ShellOracle {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-shell-")));
  const root = join(folder, "work");
  const bin = join(folder, "bin");
  const home = join(folder, "home");
  for (const path of [root, bin, home, join(root, "src"), join(root, "out")]) mkdirSync(path);
  const program = (path: string, text: string): void => {
    writeFileSync(path, text);
    chmodSync(path, 0o755);
  };
  program(join(bin, "canary"), CANARY);
  for (const name of (everything ? ALL_SHIMS : OPTION_SHIMS).split(" "))
    program(join(bin, name), everything ? SHIM : OPTION_SHIM);
  if (everything) {
    for (const name of [...REAL_WRAPPERS.split(" "), "bash"]) {
      const real = execFileSync("/bin/bash", ["-c", `type -P ${name}`], { encoding: "utf8" }).trim();
      program(join(bin, name), `#!/bin/bash\nexec ${real} "$@"\n`);
    }
  }
  const env = {
    PATH: everything ? bin : `${bin}:/usr/bin:/bin`,
    HOME: home,
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    FILTER_BRANCH_SQUELCH_WARNING: "1",
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@example.com",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@example.com",
  };
  writeProject(root, program);
  if (!everything) execFileSync("/bin/bash", ["-c", REPOSITORY], { cwd: root, env, stdio: "ignore" });
  return {
    root,
    observe: async (command) => {
      await ended(command, root, env);
      return takeObserved(folder, root);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Resolves when bash and everything it left in the background has ended: all of them hold the last descriptor open. */
function ended(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const nothing = Array.from({ length: 6 }, () => "ignore" as const);
  return new Promise((done) => {
    const child = spawn("/bin/bash", ["--noprofile", "--norc", "-c", command], {
      cwd,
      env,
      stdio: ["ignore", "ignore", "ignore", ...nothing, "pipe"],
      detached: true,
    });
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), TIMEOUT_MS);
    child.stdio.at(9)?.on("data", () => undefined);
    child.on("close", () => {
      clearTimeout(timer);
      done();
    });
  });
}

const REPOSITORY = `
git init -q --template= . && git add src package.json && git commit -qm one && echo more >> src/a.ts && git commit -qam two
git init -q --template= --bare nested && git -C nested config core.fsmonitor canary && git -C nested config core.bare false
git -C nested config core.worktree . && git -C nested config diff.external canary
`;

function writeProject(root: string, program: (path: string, text: string) => void): void {
  writeFileSync(join(root, "src/a.ts"), "export const a = 1;\n");
  writeFileSync(join(root, "src/b.ts"), "export const b = 2;\n");
  writeFileSync(join(root, "package.json"), '{ "name": "x" }\n');
  writeFileSync(join(root, "guarded.txt"), "guarded\n");
  writeFileSync(join(root, "Makefile"), "test:\n\t@true\n");
  writeFileSync(join(root, "build.js"), "");
  writeFileSync(join(root, "code.awk"), 'BEGIN { system("canary") }\n');
  writeFileSync(join(root, "code.sed"), "1e canary\n");
  writeFileSync(join(root, "script.sh"), "canary\n");
  writeFileSync(join(root, "evil.mk"), "all:\n\t@canary\n");
  program(join(root, "evil"), "#!/bin/bash\ncanary\n");
  mkdirSync(join(root, "sub"));
  for (const name of ["ls", "git", "timeout", "npm", "tool"])
    program(join(root, `sub/${name}`), "#!/bin/bash\ncanary\n");
  mkdirSync(join(root, "1")); // what `printf x%n PATH` makes of the search path
  program(join(root, "1/ls"), "#!/bin/bash\n: > CANARY\n");
  program(join(root, "tool"), "#!/bin/bash\ntrue\n");
  program(join(root, "timeout"), "#!/bin/bash\ncanary\n");
  writeFileSync(join(root, "sub/build.js"), 'require("node:child_process").execFileSync("canary");\n');
  writeFileSync(join(root, "--compress-program=canary"), "");
  writeFileSync(join(root, "--output=CANARY"), "");
}

/** What happened, and everything as it was before. */
function takeObserved(folder: string, root: string): Observed {
  const ran = join(folder, "ran");
  const log = join(folder, "argv");
  const written = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?:^|\/)CANARY/.test(name),
  );
  const isChanged =
    !existsSync(join(root, "guarded.txt")) || readFileSync(join(root, "guarded.txt"), "utf8") !== "guarded\n";
  const outside = [join(folder, "CANARY"), join(folder, "home/CANARY")].filter((path) => existsSync(path));
  const canary = existsSync(ran) || written.length > 0 || isChanged || outside.length > 0;
  const argv = existsSync(log) ? parsedLog(readFileSync(log, "utf8")) : [];
  for (const path of [ran, log, ...outside, ...written.map((name) => join(root, name))])
    rmSync(path, { force: true, recursive: true });
  if (isChanged) writeFileSync(join(root, "guarded.txt"), "guarded\n");
  return { canary, argv };
}

function parsedLog(text: string): readonly (readonly string[])[] {
  return text
    .split("\u0001\0")
    .slice(0, -1)
    .map((entry) => entry.split("\0").slice(0, -1));
}
