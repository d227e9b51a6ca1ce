import type { NewSession, Store } from "@capstan/core";
import { storeContract, type StoreFixture } from "@capstan/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "@capstan/engines/postgres";
import { pgliteServer, STARTING_MS, type TestServer } from "./harness/pglite-server.ts";
import { admin, freshSchema, SERVER_URL } from "./harness/postgres-servers.ts";

const TABLES = ["sessions", "facts", "mail", "timers", "snapshots", "owners", "blobs", "blob_names"];
/** Kept from case to case: making it takes longer than most of them. */
const schemas = new Map<string, string>();

/** Empty tables for each case. Closing it twice must do no harm, so every store of it is closed here. */
async function contractFixture(url: string, durability: "full" | "relaxed"): Promise<StoreFixture> {
  const schema = schemas.get(url) ?? freshSchema(url).schema;
  schemas.set(url, schema);
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
      await admin(url, `SET search_path TO "${schema}"; TRUNCATE ${TABLES.join(", ")}`);
    },
  };
}

describe("postgresStore on PGlite", () => {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await pgliteServer();
    return () => server?.close();
  }, STARTING_MS);
  for (const { name, run } of storeContract(() => contractFixture(server?.url ?? "", "full")))
    it(`DUR-09 DUR-13 EDGE-13 ${name}`, run);
});

afterAll(async () => {
  const schema = schemas.get(SERVER_URL ?? "");
  if (SERVER_URL !== undefined) await admin(SERVER_URL, `DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
});

/** More than a page of a list, and than are moved at once. */
const MANY = 1_100;

describe("many sessions on PGlite", { timeout: 120_000 }, () => {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await pgliteServer();
    return () => server?.close();
  }, STARTING_MS);

  it("SESS-01 DUR-10 are listed each once, in pieces, and their timers fire each once, also when several processes look", async () => {
    const { store, other, close } = await contractFixture(server?.url ?? "", "relaxed");
    const make = async (number: number): Promise<void> => {
      const sessionId = `ses_${number}`;
      const [, claim] = await Promise.all([store.create(session(sessionId)), store.claim(sessionId, "owner-a")]);
      const timers = [{ name: "wake", at: 10 + (number % 3) }];
      await store.append({ sessionId, epoch: claim?.epoch ?? 0, facts: [], timers }, { sync: false });
    };
    await Promise.all(Array.from({ length: MANY }, (_, number) => make(number)));
    const found = async (filter: Parameters<Store["list"]>[0]): Promise<readonly string[]> =>
      (await store.list(filter)).map(({ sessionId }) => sessionId);
    const all = await found({});
    expect(all.toSorted()).toEqual(Array.from({ length: MANY }, (_, number) => `ses_${number}`).toSorted());
    expect(await found({ limit: 1_050 })).toEqual(all.slice(0, 1_050));
    expect(await found({ limit: 1_001, before: all[50] ?? "" })).toEqual(all.slice(51, 1_052));
    expect(await found({ limit: 0 })).toEqual([]);
    const second = await other?.();
    expect(await Promise.all([store.fireTimers(11), second?.fireTimers(11)])).toEqual([12, 12]);
    expect(await store.fireTimers(12)).toBeUndefined();
    const mail = await Promise.all(all.map((sessionId) => store.mail(sessionId)));
    expect(mail.map((entries) => entries.length)).toEqual(all.map(() => 1));
    expect(mail[0]?.[0]).toMatchObject({ type: "timer", name: "wake", position: 1, key: "timer/wake/1" });
    await close();
  });
});

describe.skipIf(SERVER_URL === undefined)("postgresStore on a Postgres server", () => {
  for (const durability of ["full", "relaxed"] as const) {
    describe(`contract, ${durability}`, () => {
      for (const { name, run } of storeContract(() => contractFixture(SERVER_URL ?? "", durability)))
        it(`DUR-09 DUR-13 EDGE-13 ${name}`, run);
    });
  }
});

function session(sessionId: string): NewSession {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const common = { sessionId, agent: "guide", createdAt: 0, updatedAt: 0, head: 1 };
  const fact = { type: "data", name: "note", data: 1, key: "data/1", seq: 1, at: 1 } as const;
  return { sessionId, facts: [fact], summary: { ...common, status: "idle", queued: 0, openRequests: [], usage } };
}
