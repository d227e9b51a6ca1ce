/** The store that the processes of a journey share: a file of their folder, or the Postgres schema that the folder names. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@capstan/core";
import { postgresStore } from "@capstan/engines/postgres";
import { sqliteStore } from "@capstan/engines/sqlite";

export type PostgresPlace = { readonly url: string; readonly schema: string };

const NAMED = "postgres.json";

/** From now on the processes of this folder share that schema. */
export function keepInPostgres(folder: string, place: PostgresPlace): void {
  writeFileSync(join(folder, NAMED), JSON.stringify(place));
}

export async function openStore(folder: string, durability: "full" | "relaxed"): Promise<Store> {
  const named = join(folder, NAMED);
  if (!existsSync(named)) return sqliteStore({ path: `${folder}/store.db`, durability });
  return postgresStore({ ...(JSON.parse(readFileSync(named, "utf8")) as PostgresPlace), durability }); // written above
}
