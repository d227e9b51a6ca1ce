/** `npm run build`: declarations by tsc, and JavaScript in few files, because each file costs time at the start. */

import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "rolldown";

type Manifest = { readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>> };

const root = join(import.meta.dirname, "..");
const { status } = spawnSync("tsc", ["-b", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
for (const file of globSync("packages/*/package.json", { cwd: root })) await bundle(join(root, file, ".."));
await buildConsole(join(root, "packages/console"));

/** The page is a program of its own, for browsers: Vite makes its files. */
async function buildConsole(folder: string): Promise<void> {
  const { buildInto } = (await import(join(folder, "web/build.ts"))) as { buildInto: (to: string) => Promise<void> };
  await buildInto(join(folder, "dist/web"));
}

async function bundle(folder: string): Promise<void> {
  for (const old of globSync("dist/**/*.{js,js.map}", { cwd: folder })) rmSync(join(folder, old));
  await build({
    input: entriesOf(folder),
    cwd: folder,
    platform: "node",
    logLevel: "warn",
    // packages and libraries stay imports: one copy of core in a process
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    output: {
      dir: join(folder, "dist"),
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name].js", // as deep below the package as the sources that look for its package.json
    },
  });
}

/** What `exports` names, and the command of a package that has one. */
function entriesOf(folder: string): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest; // ours
  const sources = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [] : (target["capstan-source"] ?? []),
  );
  const entries = [...sources, ...globSync("src/main.ts", { cwd: folder })];
  return Object.fromEntries(
    entries.map((source) => [relative("src", source).replace(/\.ts$/, ""), join(folder, source)]),
  );
}
