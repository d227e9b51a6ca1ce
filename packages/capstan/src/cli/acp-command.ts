/** `capstan acp`: an editor drives sessions over the pipes of the process. */

import { resolve } from "node:path";
import { Writable } from "node:stream";
import type { Agent } from "@capstan/core";
import type { Config } from "../config.ts";
import { loadConfig } from "./config-file.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { type Confinement, withSandbox } from "./sandbox-setting.ts";
import { setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";

export type AcpFlags = {
  readonly agent?: string;
  readonly model?: string;
  readonly config?: string;
  readonly cwd?: string;
  readonly sandbox?: Confinement;
};

const CLOSE_GRACE_MS = 2_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resolves with the exit code when the editor is gone or a signal came. What runs then goes on at the next start. */
export async function acpCommand(name: string, given: Config | undefined, flags: AcpFlags): Promise<number> {
  const output = protocolOnly();
  const log = (line: string): void => void process.stderr.write(`${name}: ${inertLine(line)}\n`);
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const { agent, settings, plugins, notes } = await setUpAgent({
    config,
    settings: withSandbox(await readSettings(), flags.sandbox),
    name: flags.agent,
    model: flags.model,
    root: resolve(flags.cwd ?? "."),
    asks: true,
  });
  for (const { line, verbose } of notes) if (!verbose) log(line);
  const [{ serveAcp }, engine] = await Promise.all([import("@capstan/acp"), openEngine(config)]);
  const runtime = await openAgent({ engine, agent, config, settings, plugins, onRequest: undefined });
  const actor = { id: "local", door: "acp" };
  const door = serveAcp({ runtime, agent, actor, output, log, models: await modelChoices(agent) });
  const leave = (): void => void door.close();
  for (const signal of SIGNALS) process.on(signal, leave);
  try {
    await door.closed;
    return 0;
  } finally {
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    for (const signal of SIGNALS) process.off(signal, leave);
  }
}

/** What can be used here, of the catalogue. */
async function modelChoices({
  model,
}: Agent<unknown>): Promise<readonly { readonly id: string; readonly name: string }[]> {
  if (typeof model !== "string") return []; // one that code brings is what its author wanted
  const { usableModels } = await import("@capstan/models");
  const models = await usableModels();
  return models.flatMap(({ usable, model: id }) => (usable && id !== undefined ? [{ id, name: id }] : []));
}

/** The pipe of the protocol. Whatever else is written to standard output from now on, by whomever, goes to standard error. */
function protocolOnly(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const output = new Writable({
    decodeStrings: true,
    write: (piece: Buffer, _encoding, done) => void write(piece, (error) => done(error)),
  });
  stdout.on("error", (error) => output.destroy(error));
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write; // the same two forms of call
  return output;
}
