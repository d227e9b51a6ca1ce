/**
 * Adds to package-lock.json the platform packages a registry did not list, so that `npm ci` accepts it everywhere.
 * With `--check` it changes nothing and fails when something is missing or a registry host is recorded.
 */

import { readFileSync, writeFileSync } from "node:fs";

const FILE = "package-lock.json";
const OS = "android darwin freebsd linux openharmony win32 netbsd openbsd sunos aix wasm32".split(" ");
const CPU = "x64 arm64 arm ia32 ppc64 riscv64 s390x loong64".split(" ");

const before = readFileSync(FILE, "utf8");
const lock = JSON.parse(before);
const packages = lock.packages;
const problems = [];

for (const [key, entry] of Object.entries(packages)) {
  if (typeof entry.resolved === "string" && /^(https?|git)/.test(entry.resolved)) {
    problems.push(`${key} records where it came from: ${entry.resolved} (see .npmrc, then npm install again)`);
  }
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(key, name)) continue;
    const added = platformEntry(name, range);
    if (added === undefined) {
      problems.push(`${key} has the optional dependency ${name}@${range}, whose platform its name does not say`);
      continue;
    }
    if (entry.dev) added.dev = true;
    packages[`node_modules/${name}`] = added;
  }
}

lock.packages = Object.fromEntries(Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
const after = `${JSON.stringify(lock, null, 2)}\n`;
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

if (after === before) {
  console.log("package-lock.json is complete");
} else if (process.argv.includes("--check")) {
  console.error("package-lock.json is not complete: run npm run lockfile:complete");
  process.exitCode = 1;
} else {
  writeFileSync(FILE, after);
  console.log("package-lock.json completed");
}

/** npm's look-up: nested first, then upwards. */
function isLocked(from, name) {
  for (let at = from; ;) {
    if (packages[`${at ? `${at}/` : ""}node_modules/${name}`]) return true;
    if (!at) return false;
    const parent = at.lastIndexOf("/node_modules/");
    at = parent < 0 ? "" : at.slice(0, parent);
  }
}

function platformEntry(name, range) {
  const version = range.replace(/^[~^]/, "");
  const words = name.split(/[/_.-]/);
  const os = words.find((word) => OS.includes(word));
  if (os === undefined || !/^\d/.test(version)) return undefined;
  const entry = { version, optional: true };
  if (os === "wasm32") return { ...entry, cpu: ["wasm32"] };
  entry.os = [os];
  const cpu = words.map((word) => word.replace(/eabi|hf/g, "")).find((word) => CPU.includes(word));
  if (cpu !== undefined) entry.cpu = [cpu];
  if (os === "linux") entry.libc = [name.includes("musl") ? "musl" : "glibc"];
  return entry;
}
