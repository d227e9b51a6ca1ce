/** `capstan acp`: an editor drives sessions over the pipes of the process. */

import { resolve } from "node:path";
import type { Agent } from "@capstan/core";
import type { Config } from "../config.ts";
import { editorServers, serversOf } from "./acp-mcp-servers.ts";
import { loadConfig } from "./config-file.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { protocolOnly } from "./protocol-output.ts";
import { type Confinement, withSandbox } from "./sandbox-setting.ts";
import { endSoon, keepWithoutReaders, untilSignal } from "./serve-command-end.ts";
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

/** Resolves with the exit code when the editor is gone or a signal came. What runs then goes on at the next start. */
export async function acpCommand(name: string, given: Config | undefined, flags: AcpFlags): Promise<number> {
  const output = protocolOnly();
  keepWithoutReaders();
  const told = untilSignal();
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
  const editor = editorServers({ taken: serversOf(plugins), log, dataFolder: config?.dataFolder });
  const runtime = await openAgent({
    engine,
    agent,
    config,
    settings,
    plugins: [...plugins, editor.plugin],
    onRequest: undefined,
  });
  const actor = { id: "local", door: "acp" };
  const models = await modelChoices(agent);
  const door = serveAcp({ runtime, agent, actor, output, log, models, mcpServers: editor.connect });
  const leave = (): void => void door.close();
  told.signal.addEventListener("abort", leave);
  if (told.signal.aborted) leave();
  try {
    await door.closed;
    return 0;
  } finally {
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    told.forget();
    endSoon();
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
