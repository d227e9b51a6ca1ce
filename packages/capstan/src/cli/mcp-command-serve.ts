/** `capstan mcp serve`: an agent as an MCP server, over stdio or at an address of this machine. */

import { timingSafeEqual } from "node:crypto";
import { CapstanError, sha256, systemClock, systemIds, type Runtime } from "@capstan/core";
import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { protocolOnly } from "./protocol-output.ts";
import { endSoon, keepWithoutReaders, untilSignal } from "./serve-command-end.ts";
import { setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";

export type ServeFlags = {
  readonly agent?: string;
  readonly model?: string;
  readonly config?: string;
  readonly http?: boolean;
  readonly port?: number;
  readonly host?: string;
};

/** Holds the token that clients send. Without it one is made and shown. */
const TOKEN_VARIABLE = "CAPSTAN_MCP_TOKEN";
const MIN_TOKEN = 16;
const CLOSE_GRACE_MS = 2_000;
const ids = systemIds(() => systemClock.now());

/** Ends with the input, or with a signal. With `--http` nothing is written to standard output but the address. */
export async function serveCommand(given: Config | undefined, flags: ServeFlags): Promise<number> {
  const output = flags.http === true ? undefined : protocolOnly();
  keepWithoutReaders();
  const told = untilSignal();
  const config = flags.config === undefined ? given : await (await import("./config-file.ts")).loadConfig(flags.config);
  const root = process.cwd();
  const settings = await readSettings();
  const setUp = await setUpAgent({ config, settings, name: flags.agent, model: flags.model, root, asks: true });
  const engine = await openEngine(config);
  const { agent, plugins } = setUp;
  const runtime: Runtime = await openAgent({
    engine,
    agent,
    config,
    settings: setUp.settings,
    plugins,
    onRequest: undefined,
  });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  told.signal.addEventListener("abort", () => stop());
  if (told.signal.aborted) stop();
  const served = { runtime, agents: [agent], folder: root };
  const { serveMcp, listenMcp } = await import("@capstan/mcp/server");
  try {
    if (output !== undefined) {
      const stdio = await serveMcp({ ...served, output });
      await Promise.race([stdio.ended, stopped]);
      await stdio.close();
      return EXIT.done;
    }
    const token = tokenOf(process.env[TOKEN_VARIABLE]);
    const listening = await listenMcp({
      ...served,
      authorize: (request) => (carries(request, token) ? { id: "mcp", door: "mcp-http" } : null),
      ...(flags.port !== undefined && { port: flags.port }),
      ...(flags.host !== undefined && { host: flags.host, hosts: [flags.host, "localhost", "127.0.0.1", "[::1]"] }),
    });
    process.stdout.write(`${listening.url}\n`);
    if (process.env[TOKEN_VARIABLE] === undefined)
      process.stderr.write(`Clients send: Authorization: Bearer ${token}\n`);
    await stopped;
    await listening.close();
    return EXIT.done;
  } finally {
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    told.forget();
    endSoon();
  }
}

function tokenOf(set: string | undefined): string {
  if (set === undefined) return `${ids.random()}${ids.random()}`.replaceAll("-", "");
  if (set.length >= MIN_TOKEN) return set;
  throw new CapstanError("usage", `${TOKEN_VARIABLE} must have at least ${MIN_TOKEN} characters`);
}

/** Takes as long whatever was sent. */
function carries(request: Request, token: string): boolean {
  const sent = request.headers.get("authorization") ?? "";
  return timingSafeEqual(Buffer.from(sha256(sent)), Buffer.from(sha256(`Bearer ${token}`)));
}
