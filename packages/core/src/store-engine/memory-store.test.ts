import { describe, expect, it } from "vitest";
import { memoryStore } from "./memory-store.ts";
import { storeContract } from "../testing/store-contract.ts";

describe("memoryStore", () => {
  const cases = storeContract(async () => {
    const store = memoryStore();
    return { store, reopen: async () => store, other: async () => store, close: () => store.close() };
  });
  for (const { name, run } of cases) it(`EDGE-13 ${name}`, run);

  it("DUR-08 shows a killed owner as dead and tells watchers", async () => {
    const store = memoryStore();
    await store.register("owner-a");
    const told = Promise.withResolvers<void>();
    const end = store.watch(() => told.resolve());
    store.kill("owner-a");
    await told.promise;
    end();
    expect(await store.owners()).toEqual([{ owner: "owner-a", beat: 1, alive: false }]);
  });

  it("keeps a killed owner dead when its beat comes late", async () => {
    const store = memoryStore();
    await store.register("owner-a");
    store.kill("owner-a");
    await store.beat("owner-a");
    expect((await store.owners()).map(({ alive }) => alive)).toEqual([false]);
  });
});
