/** Runs every `examples/<name>/main.ts` from source, each in its own home and for at most 60 seconds. */

import { existsSync, globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hermeticEnv } from "./hermetic.ts";
import { mapBounded, runCommand, seconds } from "./run-command.ts";

const TIMEOUT_MS = 60_000;

async function runExample(file: string): Promise<boolean> {
  const { env, close } = hermeticEnv(process.env);
  try {
    const result = await runCommand([process.execPath, "--conditions=capstan-source", file], {
      env: { ...env, NODE_COMPILE_CACHE: shared.env["NODE_COMPILE_CACHE"] },
      timeoutMs: TIMEOUT_MS,
    });
    const name = basename(dirname(file));
    console.log(`${result.ok ? "pass" : "FAIL"}  ${name}  ${seconds(result.ms)}`);
    if (!result.ok) console.log(result.output.trimEnd().replace(/^/gm, "      "));
    return result.ok;
  } finally {
    close();
  }
}

const root = join(import.meta.dirname, "..");
const files = existsSync(join(root, "examples")) ? globSync("examples/*/main.ts", { cwd: root }).toSorted() : [];
const shared = hermeticEnv(process.env); // the examples load the same code
const results = await mapBounded(
  files.map((file) => join(root, file)),
  2,
  runExample,
);
shared.close();
const failed = results.filter((ok) => !ok).length;
console.log(`examples: ${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
