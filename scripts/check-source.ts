/** Refuses what no linter rule sees: imports across layers, the clock in core, files without a header or a real name. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, relative, resolve, sep } from "node:path";
import { isBelow, LAYERS } from "./layers.ts";
import { parseSource } from "./source-file.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Package {
  readonly folder: string;
  readonly manifest: Manifest;
}

const root = join(import.meta.dirname, "..");
const VAGUE_NAMES = new Set(["utils.ts", "helpers.ts", "common.ts", "types.ts"]);
const MAY_READ_TIME = new Set(["clock.ts", "ids.ts"]);
const SPECIFIER = /^(@[^/]+\/[^/]+|[^/]+)(?:\/(.*))?$/;

const problems: string[] = [];
const rootManifest = readManifest(root);
const packages = globSync("packages/*/package.json", { cwd: root })
  .map((file): Package => ({ folder: join(root, file, ".."), manifest: readManifest(join(root, file, "..")) }))
  .toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
const manifests = new Map(packages.map(({ manifest }) => [manifest.name, manifest]));

for (const item of packages) checkManifest(item);
const patterns = ["packages/*/src/**/*.ts", "scripts/**/*.ts", "examples/**/*.ts", "bench/**/*.ts", "tests/**/*.ts"];
const files = globSync(patterns, { cwd: root }).toSorted();
for (const file of files) checkFile(file);

for (const problem of problems) console.error(problem);
console.log(`source rules: ${files.length} files, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function checkManifest({ folder, manifest }: Package): void {
  const where = relative(root, join(folder, "package.json"));
  if (!(manifest.name in LAYERS)) problems.push(`${where}: ${manifest.name} has no layer in scripts/layers.ts`);
  if (manifest.version !== rootManifest.version) problems.push(`${where}: all packages share one version`);
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = manifest;
  if (manifest.name === "@capstan/core" && Object.keys(dependencies ?? {}).length > 0) {
    problems.push(`${where}: core has no runtime dependencies`);
  }
  const declared = { ...optionalDependencies, ...devDependencies, ...dependencies };
  for (const [name, version] of Object.entries(declared)) {
    if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) problems.push(`${where}: pin ${name} to an exact version`);
  }
  for (const [name, version] of Object.entries({ ...declared, ...peerDependencies })) {
    if (!(name in LAYERS)) continue;
    if (!isBelow(name, manifest.name)) problems.push(`${where}: ${manifest.name} may not depend on ${name}`);
    if (version !== rootManifest.version) problems.push(`${where}: ${name} must be ${rootManifest.version}`);
  }
}

function checkFile(file: string): void {
  const isTest = file.endsWith(".test.ts");
  const source = parseSource(join(root, file));
  const owner = packages.find(({ folder }) => join(root, file).startsWith(join(folder, "src") + sep));
  if (VAGUE_NAMES.has(basename(file))) problems.push(`${file}: name the file by its one idea`);
  if (!isTest && !source.hasHeader) problems.push(`${file}: open the file with a /** header comment`);
  for (const { text, line } of source.imports) {
    const problem = text.startsWith(".") ? pathProblem(file, text, owner) : packageProblem(text, owner, isTest);
    if (problem !== undefined) problems.push(`${file}:${line}: ${problem}`);
  }
  if (owner?.manifest.name === "@capstan/core" && !isTest && !MAY_READ_TIME.has(basename(file))) {
    for (const { text, line } of source.impure) {
      problems.push(`${file}:${line}: only clock.ts and ids.ts of core use ${text}`);
    }
  }
}

/** A relative import stays inside the package, and nobody reaches into a package's source by path. */
function pathProblem(file: string, specifier: string, owner: Package | undefined): string | undefined {
  const target = resolve(root, file, "..", specifier);
  if (!existsSync(target)) return `there is no file ${specifier} (name the real file with its extension)`;
  const home = packages.find(({ folder }) => target.startsWith(folder + sep));
  if (home === owner) return undefined;
  if (home !== undefined) return `import ${home.manifest.name} by its exports, not by the path ${specifier}`;
  return owner === undefined ? undefined : `${specifier} is outside the package`;
}

/** A package import is declared, lies in a lower layer and names something the package exports. */
function packageProblem(specifier: string, owner: Package | undefined, isTest: boolean): string | undefined {
  if (specifier.startsWith("node:")) return undefined;
  if (isBuiltin(specifier)) return `write node:${specifier}`;
  const [, name = "", subpath] = SPECIFIER.exec(specifier) ?? [];
  const target = manifests.get(name);
  if (target !== undefined && !((subpath === undefined ? "." : `./${subpath}`) in (target.exports ?? {}))) {
    return `${name} does not export ${specifier}`;
  }
  if (owner === undefined || name === owner.manifest.name) return undefined;
  if (name in LAYERS && !isBelow(name, owner.manifest.name)) return `${owner.manifest.name} may not import ${name}`;
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = owner.manifest;
  const declared = {
    ...dependencies,
    ...peerDependencies,
    ...optionalDependencies,
    ...(isTest ? { ...devDependencies, ...rootManifest.devDependencies } : {}),
  };
  return name in declared ? undefined : `${owner.manifest.name} does not declare ${name}`;
}
