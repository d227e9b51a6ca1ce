/** `capstan serve`: the HTTP door on a socket, until a signal ends it in good order. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { consolePages } from "@capstan/console";
import { CapstanError } from "@capstan/core";
import { httpHandler, nodeListener } from "@capstan/server/http";
import type { Config } from "../config.ts";
import { inertLine } from "./inert.ts";
import { endSoon, keepWithoutReaders, untilSignal } from "./serve-command-end.ts";
import { type DoorFlags, openDoorRuntime } from "./serve-command-runtime.ts";
import { brings, serveToken } from "./serve-command-token.ts";

export type ServeFlags = DoorFlags & {
  readonly host: string;
  readonly port: number;
  /** Names beside those of the loopback to which it answers. */
  readonly allowHost: readonly string[];
  readonly allowOrigin: readonly string[];
};

const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
const CHECK_MS = 2_000;
const CONNECTIONS = 4_096;
const CLOSE_GRACE_MS = 2_000;

/** Resolves with the exit code once everything is closed. */
export async function serveCommand(name: string, given: Config | undefined, flags: ServeFlags): Promise<number> {
  const { token, file } = await serveToken(process.env);
  const { runtime, agent, agents, folder, blob, notes } = await openDoorRuntime(given, flags);
  const isOurs = brings(token);
  const handle = httpHandler({
    runtime,
    workspace: folder,
    pages: consolePages(),
    agents: [agent, ...agents.filter((one) => one !== agent)],
    blob,
    hosts: flags.allowHost,
    origins: flags.allowOrigin,
    authorize: (request) => (isOurs(request) ? { id: "operator", trusted: true } : null),
  });
  const listener = nodeListener(handle);
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxConnections = CONNECTIONS;
  keepWithoutReaders();
  const told = untilSignal();
  try {
    await listen(server, flags);
    for (const note of notes) process.stderr.write(`  ! ${note}\n`);
    process.stdout.write(`${urlOf(server)}\n`);
    process.stderr.write(`${name}: the console is at ${urlOf(server)}/console/\n`);
    process.stderr.write(`${name}: serves ${inertLine(agents.join(", "))}; send the token of ${file} as a bearer\n`);
    if (!told.signal.aborted) await once(told.signal, "abort");
    return 0;
  } finally {
    handle.close();
    server.close();
    server.closeIdleConnections();
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    server.closeAllConnections();
    told.forget();
    endSoon();
  }
}

function listen(server: Server, { host, port }: ServeFlags): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "the port is in use; take another with --port" : error.message;
      reject(new CapstanError("usage", `Nothing can be served on ${host}:${port}: ${why}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo; // it listens on a socket of the network
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
