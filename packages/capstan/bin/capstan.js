#!/usr/bin/env node
// The command: the built program when there is one, else the sources beside it (a clone that was not built).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const built = new URL("../dist/main.js", import.meta.url);
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `capstan: Capstan needs Node 24 or newer; this is v${process.versions.node}. Install it from https://nodejs.org, or run "npx -p node@24 -p capstan capstan" (node-too-old)`,
  );
  process.exitCode = 2;
} else if (existsSync(built)) await import(built.href);
else {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const { status, signal } = spawnSync(
    process.execPath,
    ["--conditions=capstan-source", main, ...process.argv.slice(2)],
    { stdio: "inherit" },
  );
  if (signal !== null) process.kill(process.pid, signal);
  process.exitCode = status ?? 1;
}
