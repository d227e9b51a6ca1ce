/** A real Postgres server for tests, when `CAPSTAN_POSTGRES_URL` names one, and schemas of their own on any. */

import { Client } from "pg";

/** Of a role that may make schemas and end connections of others. */
export const SERVER_URL: string | undefined = process.env["CAPSTAN_POSTGRES_URL"];

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
