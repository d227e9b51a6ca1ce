/** A script that is killed and started again: the same key and idempotency key give the same run, and no step happens twice. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, openRuntime, tool } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const folder = process.env["EXAMPLE_FOLDER"];
if (folder === undefined) startTwice();
else await script(folder);

async function script(dataFolder: string): Promise<void> {
  const ledger = join(dataFolder, "sent.txt");
  const send = tool({
    name: "send_letter",
    description: "Sends a letter.",
    input: z.object({ to: z.string() }),
    execute: ({ to }) => appendFileSync(ledger, `${to}\n`),
  });
  const power = tool({
    name: "power",
    description: "Fails the power, once.",
    input: z.object({}),
    rerun: "safe", // after the crash it may simply run again
    execute: () =>
      existsSync(join(dataFolder, "failed"))
        ? "It is back."
        : (appendFileSync(join(dataFolder, "failed"), ""), process.kill(process.pid, "SIGKILL"), ""),
  });
  const model = scriptedModel([
    { calls: [{ name: "send_letter", input: { to: "Ada" } }] },
    { calls: [{ name: "power", input: {} }] },
    { text: "Sent." },
  ]);
  const clerk = agent({ name: "clerk", model, instructions: "Send letters.", tools: [send, power] });
  await using runtime = await openRuntime({ agents: [clerk], dataFolder });
  const run = await runtime.send(clerk, "Write to Ada.", { key: "letters", idempotencyKey: "2026-11" });
  console.log(await run.text());
}

function startTwice(): void {
  const dataFolder = mkdtempSync(join(tmpdir(), "capstan-example-"));
  const start = (): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [...process.execArgv, import.meta.filename], {
      env: { ...process.env, EXAMPLE_FOLDER: dataFolder },
      encoding: "utf8",
    });
  assert.equal(start().signal, "SIGKILL");
  const second = start();
  assert.equal(second.stdout, "Sent.\n", String(second.stderr));
  assert.equal(readFileSync(join(dataFolder, "sent.txt"), "utf8"), "Ada\n"); // once, not twice
  rmSync(dataFolder, { recursive: true });
  console.log("killed in the middle, finished by the second start, one letter sent");
}
