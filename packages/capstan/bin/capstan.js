#!/usr/bin/env node
// The command: in a clone from the sources beside it, which are never out of date; else the built program.
import { existsSync } from "node:fs";

const source = new URL("../src/main.ts", import.meta.url);
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `capstan: Capstan needs Node 24 or newer; this is v${process.versions.node}. Install it from https://nodejs.org, or run "npx -p node@24 capstan" where Capstan is installed (node-too-old)`,
  );
  process.exitCode = 2;
} else if (existsSync(source)) {
  const { registerHooks } = await import("node:module");
  // As `--conditions=capstan-source`, but in this process: signals and exit codes are the command's own.
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...context.conditions, "capstan-source"] }),
  });
  await import(source.href);
} else await import(new URL("../dist/main.js", import.meta.url).href);
