/** The local engine: `storeEngine` over SQLite, one file for any number of processes, shared within one process. */

import { resolve } from "node:path";
import { type Clock, type Engine, type Ids, storeEngine, systemClock, systemIds } from "@capstan/core";
import { sqliteStore } from "./sqlite-store.ts";

export type LocalEngineOptions = {
  /** The database file; created with its folder when missing. */
  readonly path: string;
  /** `full` (default): acknowledged survives power loss. `relaxed`: survives a killed process only. */
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
  readonly ids?: Ids;
};

/** Opens the engine. Throws what `sqliteStore` throws. */
export async function localEngine(options: LocalEngineOptions): Promise<Engine> {
  const { clock = systemClock, ids = systemIds(() => clock.now()), durability = "full" } = options;
  const store = await sqliteStore({ path: resolve(options.path), durability, clock });
  return storeEngine(store, { clock, ids });
}
