/** The packages as they would be published: built and packed from a copy, put together as npm does, used from outside. */

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const OURS = readdirSync(join(root, "packages"));
/** What a program needs that runs agents of its own: design, section 3. */
const RUNTIME = ["core", "engines", "models"];
const MOST_BYTES = 2_000_000;

type Manifest = {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

let base = "";
let app = "";
const env = { ...process.env, PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter) };
const run = async (file: string, args: readonly string[], cwd: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(file, args, {
    cwd,
    env: { ...env, HOME: base, CAPSTAN_HOME: join(base, "home") },
  });
  return stdout;
};
const nameOf = (folder: string): string => (folder === "capstan" ? folder : `@capstan/${folder}`);
const manifestIn = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;

/** The sources in a place of their own, with the libraries of the repository beside them. */
async function copySources(to: string): Promise<void> {
  const skipped = /[/\\](dist|node_modules)$/;
  for (const name of [
    "packages",
    "scripts",
    "package.json",
    "tsconfig.json",
    "tsconfig.base.json",
    "tsconfig.build.json",
  ]) {
    await cp(join(root, name), join(to, name), { recursive: true, filter: (path) => !skipped.test(path) });
  }
  await mkdir(join(to, "node_modules/@capstan"), { recursive: true });
  for (const name of await readdir(join(root, "node_modules"))) {
    if (name !== "@capstan" && name !== "capstan")
      await symlink(join(root, "node_modules", name), join(to, "node_modules", name));
  }
  for (const folder of OURS) await symlink(join(to, "packages", folder), join(to, "node_modules", nameOf(folder)));
}

/** Unpacks what was packed, and links what it declares to need at run time and nothing else. */
async function install(archives: string, to: string): Promise<void> {
  const wanted: string[] = [];
  const need = async (folder: string): Promise<void> => {
    const { dependencies = {}, optionalDependencies = {} } = await manifestIn(folder);
    wanted.push(
      ...Object.keys({ ...dependencies, ...optionalDependencies }).filter(
        (name) => !/^(@capstan\/|capstan$)/.test(name),
      ),
    );
  };
  for (const folder of OURS) {
    const at = join(to, "node_modules", nameOf(folder));
    await mkdir(at, { recursive: true });
    const archive = `${nameOf(folder).replace("@", "").replace("/", "-")}-0.1.0.tgz`;
    await run("tar", ["-xzf", join(archives, archive), "-C", at, "--strip-components=1"], to);
    await need(at);
  }
  const linked = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const from = await realpath(join(root, "node_modules", name)).catch(() => undefined); // of another platform
    if (from === undefined || linked.has(name)) continue;
    linked.add(name);
    await mkdir(join(to, "node_modules", name, ".."), { recursive: true });
    await cp(from, join(to, "node_modules", name), { recursive: true });
    await need(from);
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => lstat(join(entry.parentPath, entry.name)));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "capstan-packages-")));
  const sources = join(base, "sources");
  const archives = join(base, "archives");
  app = join(base, "app");
  for (const folder of [sources, archives, app]) await mkdir(folder);
  await copySources(sources);
  await run("node", ["scripts/build.ts"], sources);
  await run("npm", ["pack", "--workspaces", "--offline", "--pack-destination", archives], sources);
  await install(archives, app);
  await writeFile(join(app, "package.json"), '{ "type": "module" }');
}, 300_000);
afterAll(() => rm(base, { recursive: true, force: true }));

describe("the packed packages", { timeout: 120_000 }, () => {
  it("hold no sources and no tests", async () => {
    const files = await readdir(join(app, "node_modules/@capstan"), { recursive: true });
    expect(files.filter((file) => /\.test\.|[/\\]src[/\\]|\.tsbuildinfo$/.test(file))).toEqual([]);
  });

  it("are small where a program needs no more than to run agents", async () => {
    const sizes = await Promise.all(RUNTIME.map((folder) => bytesIn(join(app, "node_modules", nameOf(folder)))));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
  });

  it("load by every name they export, with nothing but what they declare", async () => {
    const manifests = await Promise.all(OURS.map((folder) => manifestIn(join(app, "node_modules", nameOf(folder)))));
    const names = manifests.flatMap(({ name, exports = {} }) =>
      Object.keys(exports)
        .filter((entry) => !entry.endsWith(".json"))
        .map((entry) => name + entry.slice(1)),
    );
    await writeFile(join(app, "load.js"), names.map((name) => `await import(${JSON.stringify(name)});`).join("\n"));
    expect(names.length).toBeGreaterThan(40);
    await run("node", ["load.js"], app);
  });

  it.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("have types for module %s with resolution %s", async (module, moduleResolution) => {
    await cp(join(root, "examples/first-program/main.ts"), join(app, "main.ts"));
    await symlink(join(root, "node_modules/@types"), join(app, "node_modules/@types")).catch(() => undefined);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      target: "es2024",
      lib: ["es2024", "esnext.disposable"],
      types: ["node"],
      module,
      moduleResolution,
      noEmit: true,
      skipLibCheck: false,
    };
    await writeFile(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
    await run("tsc", ["-p", "."], app);
  });

  it("run the smallest program and the command", async () => {
    await cp(join(root, "examples/first-program/main.ts"), join(app, "main.ts"));
    expect(await run("node", ["main.ts"], app)).toBe("Take one: it rains in Oslo.\n");
    const bin = join(app, "node_modules/capstan/bin/capstan.js");
    expect(await run("node", [bin, "--version"], app)).toBe("0.1.0\n");
    expect(await run("node", [bin, "sessions", "list"], app)).toContain("guide");
  });
});
