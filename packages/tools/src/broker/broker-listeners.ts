/** Where the broker is reached: a port of loopback, and on Linux a socket that can be shown inside a sandbox. */

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOrphanTag, newTag } from "../workspaces/run-tag.ts";

export type Listening = {
  readonly port: number;
  /** Absolute path; only this user may open it. */
  readonly socket?: string;
  close(): Promise<void>;
};

/** Followed by the tag of its process. */
const FOLDER = "capstan-broker-";
/** What Linux takes as the path of a socket. */
const MAX_SOCKET_PATH = 107;

export async function listen(server: () => Server): Promise<Listening> {
  sweep();
  const open = server();
  await begin(open, { port: 0, host: "127.0.0.1" });
  const address = open.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const folder = join(tmpdir(), `${FOLDER}${newTag()}`);
  const socket = join(folder, "s");
  const inside = process.platform === "linux" && socket.length <= MAX_SOCKET_PATH ? server() : undefined;
  if (inside !== undefined) {
    mkdirSync(folder, { mode: 0o700 });
    await begin(inside, { path: socket });
  }
  return {
    port,
    ...(inside !== undefined && { socket }),
    async close() {
      await end(open);
      if (inside !== undefined) await end(inside);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function begin(
  server: Server,
  where: { readonly port: number; readonly host: string } | { readonly path: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => resolve());
    server.unref(); // a program that forgets to close its runtime still ends
  });
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Takes away what killed processes left. */
function sweep(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(FOLDER) && isOrphanTag(name.slice(FOLDER.length)))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
}
