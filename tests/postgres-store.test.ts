import type { Store } from "@capstan/core";
import { storeContract, type StoreFixture } from "@capstan/core/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { postgresStore } from "@capstan/engines/postgres";
import { freshSchema, pgliteServer, SERVER_URL, type TestServer } from "./harness/postgres-servers.ts";

/** A new schema for each case. Closing it twice must do no harm, so every store of it is closed here. */
async function contractFixture(url: string, durability: "full" | "relaxed"): Promise<StoreFixture> {
  const { schema, drop } = freshSchema(url);
  const opened: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await postgresStore({ url, schema, durability });
    opened.push(store);
    return store;
  };
  return {
    store: await open(),
    async reopen() {
      await Promise.all(opened.map((store) => store.close()));
      return open();
    },
    other: open,
    async close() {
      await Promise.all(opened.map((store) => store.close()));
      await drop();
    },
  };
}

describe("postgresStore on PGlite", () => {
  let server: TestServer | undefined;
  beforeAll(async () => void (server = await pgliteServer()));
  afterAll(() => server?.close());
  for (const { name, run } of storeContract(() => contractFixture(server?.url ?? "", "full")))
    it(`DUR-09 DUR-13 EDGE-13 ${name}`, run);
});

describe.skipIf(SERVER_URL === undefined)("postgresStore on a Postgres server", () => {
  for (const durability of ["full", "relaxed"] as const) {
    describe(`contract, ${durability}`, () => {
      for (const { name, run } of storeContract(() => contractFixture(SERVER_URL ?? "", durability)))
        it(`DUR-09 DUR-13 EDGE-13 ${name}`, run);
    });
  }
});
