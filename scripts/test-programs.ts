/** Bundles the programs that tests start as processes, once a run: a process of many source files takes seconds to start. */

import { chmodSync, copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "rolldown";

const root = join(import.meta.dirname, "..");
const capstan = join(root, "packages", "capstan");

/**
 * Vitest calls this once before it starts its workers, which inherit `TEST_PROGRAMS`: the folder in which `main.js` is the
 * command, `index.js` the library and `worker.js` a worker of the journeys.
 */
export async function setup(): Promise<() => void> {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "test-programs-")); // below node_modules: what stays an import is found
  chmodSync(folder, 0o755); // some tests start a program as another user
  const close = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await bundle(join(folder, "dist"));
    copyFileSync(join(capstan, "package.json"), join(folder, "package.json"));
  } catch (error) {
    close();
    throw error;
  }
  process.env["TEST_PROGRAMS"] = join(folder, "dist");
  return close;
}

/** The chunks lie as deep as those of `npm run build`. */
async function bundle(dir: string): Promise<void> {
  const sources = [
    ...["main", "index", "testing"].map((name) => join(capstan, "src", `${name}.ts`)),
    join(root, "packages", "engines", "src", "sqlite-store.ts"),
    ...globSync("tests/harness/{script,worker,*-worker}.ts", { cwd: root }).map((file) => join(root, file)),
  ];
  await build({
    input: Object.fromEntries(sources.map((file) => [basename(file, ".ts"), file])),
    cwd: root,
    platform: "node",
    logLevel: "warn",
    resolve: { conditionNames: ["capstan-source", "node", "import"] },
    external: ["@vscode/ripgrep", "@anthropic-ai/sandbox-runtime", "pg"], // they look for files beside them
    output: { dir, entryFileNames: "[name].js", chunkFileNames: "chunks/[name].js" },
  });
}
