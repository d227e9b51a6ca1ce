/** The default store: one SQLite file for any number of processes on one machine. */

import type { Clock, Store } from "@capstan/core";
import { openSqliteStore } from "./sqlite/store.ts";

export type SqliteStoreOptions = {
  /** The database file. It and its folder are made when missing, private to the user. */
  readonly path: string;
  /** `full` (default): what is acknowledged survives a power loss. `relaxed`: only the end of the process. */
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
};

/**
 * Opens or creates the store. Beside `path` there are SQLite's `-wal` and `-shm` and an `.anchor` with the heads that were
 * on disk. Throws `store-newer` (nothing is changed), `store-damaged`, `store-readonly`, `store-full` or `store-failed`.
 */
export function sqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return openSqliteStore(options);
}
