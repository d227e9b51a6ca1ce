/** `capstan serve`: the HTTP door on a socket, until a signal ends it in good order. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CapstanError } from "@capstan/core";
import { httpHandler, nodeListener } from "@capstan/server/http";
import type { Config } from "../config.ts";
import { inertLine } from "./inert.ts";
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
const CONNECTIONS = 4_096;
const CLOSE_GRACE_MS = 2_000;

/** Resolves with the exit code once everything is closed. */
export async function serveCommand(name: string, given: Config | undefined, flags: ServeFlags): Promise<number> {
  const { token, file } = await serveToken(process.env);
  const { runtime, agents, folder, notes } = await openDoorRuntime(given, flags);
  const isOurs = brings(token);
  const handle = httpHandler({
    runtime,
    workspace: folder,
    hosts: flags.allowHost,
    origins: flags.allowOrigin,
    authorize: (request) => (isOurs(request) ? { id: "operator", trusted: true } : null),
  });
  const listener = nodeListener(handle);
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxConnections = CONNECTIONS;
  const ended = untilSignal();
  try {
    await listen(server, flags);
    for (const note of notes) process.stderr.write(`  ! ${note}\n`);
    process.stdout.write(`${urlOf(server)}\n`);
    process.stderr.write(`${name}: serves ${inertLine(agents.join(", "))}; send the token of ${file} as a bearer\n`);
    return await ended.code;
  } finally {
    handle.close();
    server.close();
    server.closeIdleConnections();
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    server.closeAllConnections();
    ended.forget();
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

/** The first signal ends in good order, the second at once. */
function untilSignal(): { readonly code: Promise<number>; forget(): void } {
  const { promise, resolve } = Promise.withResolvers<number>();
  let told = false;
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const handlers = Object.entries(codes).map(([signal, code]) => {
    const handler = (): void => {
      if (told) process.exit(code); // everything acknowledged is on disk
      told = true;
      resolve(0);
    };
    process.on(signal, handler);
    return () => void process.off(signal, handler);
  });
  return { code: promise, forget: () => handlers.forEach((off) => off()) };
}
