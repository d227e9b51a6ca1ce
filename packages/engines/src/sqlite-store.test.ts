import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@capstan/core";
import { storeContract } from "@capstan/core/testing";
import { describe, it } from "vitest";
import { sqliteStore } from "./sqlite-store.ts";

describe("sqliteStore", () => {
  for (const durability of ["full", "relaxed"] as const) {
    describe(durability, () => {
      for (const { name, run } of storeContract(() => openFixture(durability))) it(`SESS-03 ${name}`, run);
    });
  }
});

async function openFixture(durability: "full" | "relaxed") {
  const folder = mkdtempSync(join(tmpdir(), "capstan-store-"));
  const path = join(folder, "deep", "store.db");
  const opened: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await sqliteStore({ path, durability });
    opened.push(store);
    return store;
  };
  const store = await open();
  return {
    store,
    other: open,
    async reopen() {
      await store.close();
      return open();
    },
    async close() {
      for (const one of opened) await one.close();
      rmSync(folder, { recursive: true });
    },
  };
}
