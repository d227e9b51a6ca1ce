#!/usr/bin/env node
/** The command `capstan`. This file must be readable for old Node lines: it asks which one runs it before anything else loads. */

const OLDEST = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < OLDEST) {
  process.stderr.write(
    `capstan: Capstan needs Node ${OLDEST} or newer; this is v${process.versions.node}. Install it from https://nodejs.org, or run "npx -p node@${OLDEST} capstan" where Capstan is installed (node-too-old)\n`,
  );
  process.exitCode = 2;
} else {
  const { runProgram } = await import("./cli/program.ts");
  process.exitCode = await runProgram(process.argv.slice(2));
}
