/** The Postgres store: one database for any number of processes on any number of machines. */

import type { Clock, Store } from "@capstan/core";
import { openPostgresStore } from "./postgres/store.ts";

export type PostgresStoreOptions = {
  /** `postgres://user:password@host:port/database`, with `?sslmode=` and the like as `pg` takes them. */
  readonly url: string;
  /** Where its tables are; made when missing. Default "capstan". Small letters, digits and underscores. */
  readonly schema?: string;
  /** `full` (default): what is acknowledged survives a crash of the server. `relaxed`: only the end of the process. */
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
};

/**
 * Opens or creates the store, with up to five connections that are opened when they are needed. Throws `config-invalid`,
 * `store-newer` (nothing is changed), `store-damaged`, `store-readonly` or `store-failed`.
 */
export function postgresStore(options: PostgresStoreOptions): Promise<Store> {
  return openPostgresStore(options);
}
