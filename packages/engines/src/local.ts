/** The local engine: `storeEngine` over SQLite, one file for any number of processes, shared within one process. */

import { resolve } from "node:path";
import { CapstanError, type Clock, type Engine, type Ids, storeEngine, systemClock, systemIds } from "@capstan/core";
import { sqliteStore } from "./sqlite-store.ts";

export type LocalEngineOptions = {
  /** The database file; created with its folder when missing. */
  readonly path: string;
  /** `full` (default): acknowledged survives power loss. `relaxed`: survives a killed process only. */
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
  readonly ids?: Ids;
};

type Open = { readonly engine: Promise<Engine>; readonly durability: "full" | "relaxed" };
/** Engines of this process by file: opening one twice gives the same. */
const engines = new Map<string, Open>();

/** Opens the engine, or gives the one that this process has open on the file. Throws what `sqliteStore` throws. */
export function localEngine(options: LocalEngineOptions): Promise<Engine> {
  const path = resolve(options.path);
  const { durability = "full" } = options;
  const known = engines.get(path);
  if (known === undefined) {
    const engine = openEngine(path, durability, options);
    engines.set(path, { engine, durability });
    engine.catch(() => engines.delete(path));
    return engine;
  }
  if (known.durability === durability) return known.engine;
  const message = `${path} is open with durability ${known.durability} in this process; it cannot be ${durability} too`;
  return Promise.reject(new CapstanError("config-invalid", message));
}

async function openEngine(path: string, durability: "full" | "relaxed", options: LocalEngineOptions): Promise<Engine> {
  const { clock = systemClock, ids = systemIds(() => clock.now()) } = options;
  const store = await sqliteStore({ path, durability, clock });
  const engine = storeEngine(store, { clock, ids });
  const close = engine.close.bind(engine);
  return Object.assign(engine, {
    close: () => {
      engines.delete(path);
      return close();
    },
  });
}
