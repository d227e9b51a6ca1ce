/** Postgres for tests: PGlite in this process behind a socket, always; a real server when `CAPSTAN_POSTGRES_URL` names one. */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { PgliteSocket } from "./pglite-socket.ts";

/** Of a role that may make schemas and end connections of others. */
export const SERVER_URL: string | undefined = process.env["CAPSTAN_POSTGRES_URL"];

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

/** Runs statements beside the store. */
export async function admin<Row extends object>(url: string, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as readonly Row[];
  } finally {
    await client.end();
  }
}

let schemas = 0;

/** A schema of its own, which is empty; `drop` removes it. */
export function freshSchema(url: string): { readonly schema: string; readonly drop: () => Promise<void> } {
  const schema = `t${process.pid}_${++schemas}`;
  return { schema, drop: async () => void (await admin(url, `DROP SCHEMA IF EXISTS "${schema}" CASCADE`)) };
}
