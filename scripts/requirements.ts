/** Says which requirements of requirements.tsv are named by a test, and with `--missing` which are not. Never fails. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const ID = /\b[A-Z][A-Z0-9]*-\d{2,}\b/g;

const requirements = readFileSync(join(root, "requirements.tsv"), "utf8")
  .split("\n")
  .slice(1)
  .map((line) => line.split("\t"))
  .flatMap(([id, text]) => (id ? [{ id, text: text ?? "" }] : []));

const testsById = new Map<string, Set<string>>();
const patterns = ["packages/*/src/**/*.test.ts", "tests/**/*.test.ts", "packages/*/src/testing/**/*.ts"];
for (const file of globSync(patterns, { cwd: root }).toSorted()) {
  for (const [id] of readFileSync(join(root, file), "utf8").matchAll(ID)) {
    const files = testsById.get(id) ?? new Set();
    testsById.set(id, files.add(file));
  }
}

const known = new Set(requirements.map(({ id }) => id));
const named = requirements.filter(({ id }) => testsById.has(id));
if (!process.argv.includes("--missing")) {
  for (const { id } of named) console.log(`${id}  ${[...(testsById.get(id) ?? [])].join(" ")}`);
  console.log();
}
for (const { id, text } of requirements) if (!testsById.has(id)) console.log(`${id}  not named  ${text}`);

const groups = new Set([...known].map((id) => id.replace(/-\d+$/, "")));
const strange = [...testsById.keys()].filter((id) => !known.has(id) && groups.has(id.replace(/-\d+$/, "")));
if (strange.length > 0) console.log(`\nnamed by a test but not in requirements.tsv: ${strange.join(" ")}`);
console.log(`\nrequirements: ${named.length} of ${requirements.length} named by a test`);
