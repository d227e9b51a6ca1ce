/** The only file that touches `pg`: one connection with prepared statements, and its errors as ours. */

import { CapstanError, systemClock, systemIds } from "@capstan/core";
import type * as pg from "pg";
import type { Client, ClientConfig, QueryResult, QueryResultRow } from "pg";
import { ConnectionLost, fromDriver } from "./sql-errors.ts";

export type SqlValue = null | boolean | number | string | Uint8Array | readonly number[] | readonly string[];

export interface Sql {
  /** The caller states the type of a row, which is that of the columns named in `sql`. Prepared once a connection. */
  readonly all: <Row extends QueryResultRow>(sql: string, ...values: readonly SqlValue[]) => Promise<readonly Row[]>;
  /** The first row. */
  readonly get: <Row extends QueryResultRow>(sql: string, ...values: readonly SqlValue[]) => Promise<Row | undefined>;
  /** Answers how many rows changed. */
  readonly run: (sql: string, ...values: readonly SqlValue[]) => Promise<number>;
  /** Runs statements that have no parameters, in one go. */
  readonly exec: (sql: string) => Promise<void>;
}

export interface Connection extends Sql {
  /** Nothing more can be asked of it. */
  readonly broken: boolean;
  /** The `synchronous_commit` of what is to be on disk: what the server does anyway, unless that is nothing. */
  readonly strict: string;
  /** Whether it keeps the process alive. It does not at first. */
  hold(alive: boolean): void;
  onNotice(told: (payload: string) => void): void;
  onBroken(ended: () => void): void;
  /** Ends it, at once when a statement is under way. */
  close(): Promise<void>;
}

export type Connect = () => Promise<Connection>;

const CONNECT_MS = 5_000;
/** The server gives up a statement after this, and waiting for a lock after that. */
const STATEMENT_MS = 30_000;
const LOCK_MS = 10_000;
/** A process that froze within a transaction loses it, and with it the rows that others wait for. Below `LOCK_MS`. */
const FROZEN_MS = 5_000;
/** For a server that does not answer at all. */
const SILENT_MS = 40_000;
const CLOSE_MS = 1_000;

const SETTINGS = `SET statement_timeout = ${STATEMENT_MS}; SET lock_timeout = ${LOCK_MS};
SET idle_in_transaction_session_timeout = ${FROZEN_MS}; SET client_encoding = 'UTF8';
SET default_transaction_isolation = 'read committed';`;

const MODE = "SELECT current_setting('synchronous_commit') AS mode";

/** Opens connections to `url` that find their tables in `schema`, a name without quotes. */
export async function connector(url: string, schema: string): Promise<Connect> {
  const { Client: PgClient, types } = await driver();
  const parsers = { getTypeParser: (oid: number, format?: "text" | "binary") => parserOf(types, oid, format) };
  const config = {
    connectionString: url,
    application_name: "capstan",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: SILENT_MS,
    keepAlive: true,
    types: parsers as NonNullable<ClientConfig["types"]>, // its own type has one overload for each format
  };
  return async () => {
    let client: OpenClient;
    try {
      client = new PgClient(config) as OpenClient;
    } catch (cause) {
      throw new CapstanError(
        "config-invalid",
        "The URL of the Postgres store cannot be read; write postgres://user@host/database",
        { cause },
      );
    }
    client.on("error", () => undefined); // what is asked of it says so
    try {
      await client.connect();
      const said: unknown = await client.query(`${SETTINGS} SET search_path TO "${schema}"; ${MODE}`);
      client.unref();
      return connectionOf(client, modeOf(said));
    } catch (error) {
      client.end().catch(() => undefined);
      throw fromDriver(error);
    }
  };
}

type Driver = typeof pg;
/** Its types leave out what keeps the process alive or not. */
type OpenClient = Client & { ref(): void; unref(): void };

async function driver(): Promise<Driver> {
  try {
    return await import("pg");
  } catch (cause) {
    throw new CapstanError("config-invalid", 'The Postgres store needs the package "pg": npm install pg@8', { cause });
  }
}

const INT8 = 20;
const BYTEA = 17;

/** 64-bit integers as numbers: all of ours are below 2^53. */
function parserOf(types: Driver["types"], oid: number, format: "text" | "binary" = "text"): (text: never) => unknown {
  if (oid === INT8 && format === "text") return Number;
  if (oid === BYTEA && format === "text") return (text: string) => Buffer.from(text.slice(2), "hex");
  return types.getTypeParser(oid, format as "text") as (text: never) => unknown; // the same, whatever the format
}

/** Of the answers to several statements, the last one's. */
function modeOf(said: unknown): string {
  const { rows } = (said as readonly QueryResult<{ readonly mode: string }>[]).at(-1) ?? { rows: [] }; // one for each statement
  return rows[0]?.mode ?? "on";
}

function connectionOf(client: OpenClient, mode: string): Connection {
  const names = new Map<string, string>();
  const prefix = `capstan_${systemIds(() => systemClock.now()).random()}`; // a pooler may share one server session
  const endings: (() => void)[] = [];
  let broken = false;
  const end = (): void => {
    if (broken) return;
    broken = true;
    for (const tell of endings) tell();
  };
  client.on("error", end);
  client.on("end", end);
  const query = async <Row extends QueryResultRow>(
    text: string,
    values: readonly SqlValue[],
  ): Promise<QueryResult<Row>> => {
    if (broken) throw new ConnectionLost("the connection is closed");
    let name = names.get(text);
    if (name === undefined) names.set(text, (name = `${prefix}_${names.size}`));
    try {
      return await client.query<Row>({ name, text, values: [...values] });
    } catch (error) {
      throw failed(fromDriver(error));
    }
  };
  const failed = (error: Error): Error => {
    if (error instanceof ConnectionLost) {
      end();
      client.end().catch(() => undefined);
    }
    return error;
  };
  return {
    get broken() {
      return broken;
    },
    strict: mode === "off" ? "on" : mode,
    all: async (sql, ...values) => (await query<never>(sql, values)).rows,
    get: async (sql, ...values) => (await query<never>(sql, values)).rows[0],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    async exec(sql) {
      if (broken) throw new ConnectionLost("the connection is closed");
      await client.query(sql).catch((error: unknown) => {
        throw failed(fromDriver(error));
      });
    },
    hold: (alive) => (alive ? client.ref() : client.unref()),
    onNotice: (told) => void client.on("notification", ({ payload = "" }) => told(payload)),
    onBroken: (ended) => void endings.push(ended),
    async close() {
      broken = true;
      const gaveUp = Promise.withResolvers<void>();
      const cancel = systemClock.after(CLOSE_MS, gaveUp.resolve);
      await Promise.race([client.end().catch(() => undefined), gaveUp.promise]);
      cancel();
    },
  };
}
