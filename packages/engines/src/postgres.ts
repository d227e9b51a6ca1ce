/** The engine over Postgres: any number of processes on any number of machines share one database. */

import { type Engine, type Ids, storeEngine, systemClock, systemIds } from "@capstan/core";
import { postgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

export { postgresStore, type PostgresStoreOptions };

export type PostgresEngineOptions = PostgresStoreOptions & { readonly ids?: Ids };

/** Opens the engine; each call opens one with connections of its own. Throws what `postgresStore` throws. */
export async function postgresEngine(options: PostgresEngineOptions): Promise<Engine> {
  const { clock = systemClock, ids = systemIds(() => clock.now()) } = options;
  return storeEngine(await postgresStore(options), { clock, ids });
}
