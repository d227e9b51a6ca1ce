/** The stores that every guarantee is proved on, each as processes see it that open it one after the other. */

import { join } from "node:path";
import { memoryStore } from "@capstan/core";
import type { OpenSweptStore } from "@capstan/core/testing";
import { sqliteStore } from "@capstan/engines/sqlite";
import { postgresStore } from "@capstan/engines/postgres";
import { freshSchema, SERVER_URL } from "./postgres-servers.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const STORES: { readonly [name: string]: () => OpenSweptStore } = {
  memory() {
    const store = memoryStore();
    return () => Promise.resolve(store);
  },
  sqlite() {
    const path = join(temporaryFolder(), "store.db");
    let dying: Promise<void> = Promise.resolve();
    return async () => {
      await dying; // a process that is gone has let go of its files
      const store = await sqliteStore({ path, durability: "relaxed" });
      return { ...store, kill: () => void (dying = store.close()) };
    };
  },
  /** A crash sweep opens a store some thirty times: too slow on PGlite. */
  ...(SERVER_URL === undefined ? {} : { postgres: postgresAt.bind(undefined, SERVER_URL) }),
};

function postgresAt(url: string): OpenSweptStore {
  const { schema } = freshSchema(url);
  let dying: Promise<void> = Promise.resolve();
  return async () => {
    await dying; // a process that is gone has let go of its connections
    const store = await postgresStore({ url, schema, durability: "relaxed" });
    return { ...store, kill: () => void (dying = store.close()) };
  };
}
