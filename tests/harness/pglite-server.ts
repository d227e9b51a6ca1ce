/** PGlite for tests: Postgres in this process, behind a socket. */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PgliteSocket } from "./pglite-socket.ts";

export type TestServer = { readonly url: string; readonly close: () => Promise<void> };

export async function pgliteServer(): Promise<TestServer> {
  const db = await freshPglite();
  const server = new PgliteSocket(db);
  const port = await server.listen();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async close() {
      await server.close();
      await db.close();
    },
  };
}

/** Starting one takes long on a machine that is busy. */
export const STARTING_MS = 120_000;

/** An empty cluster, which takes seconds to make, is kept from one run to the next; a copy of it is loaded in one. */
async function freshPglite(): Promise<PGlite> {
  const main = createRequire(import.meta.url).resolve("@electric-sql/pglite"); // below dist
  const manifest = readFileSync(join(dirname(main), "..", "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string }; // every package has one
  const kept = join(import.meta.dirname, "../../node_modules/.cache", `pglite-${version}.tar`);
  if (existsSync(kept)) return PGlite.create({ loadDataDir: new Blob([readFileSync(kept)]) });
  const db = await PGlite.create();
  const dump = await db.dumpDataDir("none");
  mkdirSync(dirname(kept), { recursive: true });
  const own = `${kept}.${process.pid}`;
  writeFileSync(own, Buffer.from(await dump.arrayBuffer()));
  renameSync(own, kept);
  return db;
}
