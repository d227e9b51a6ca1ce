import { describe, expect, it } from "vitest";
import { type MemoryStore, memoryStore } from "../store-engine/memory-store.ts";
import type { Store } from "../ports/store.ts";
import { storeContract } from "./store-contract.ts";

/** Names of the cases that the store does not pass. */
async function failures(change: (store: MemoryStore) => Partial<Store>): Promise<readonly string[]> {
  const cases = storeContract(async () => {
    const inner = memoryStore();
    const store: Store = { ...inner, ...change(inner) };
    return { store, reopen: async () => store, other: async () => store, close: () => inner.close() };
  });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

const WRONG: { readonly [fault: string]: (store: MemoryStore) => Partial<Store> } = {
  "loses the last fact of an append": (store) => ({
    append: (append, options) => store.append({ ...append, facts: append.facts.slice(0, -1) }, options),
  }),
  "gives facts in another order": (store) => ({
    read: async (id, options) => (await store.read(id, options)).toReversed(),
  }),
  "lets a former holder write": (store) => ({
    append: async (append, options) => {
      const { epoch } = append;
      for (let now = epoch; ; now++) {
        const stored = await store.append({ ...append, epoch: now }, options).catch((error: unknown) => error);
        if (!(stored instanceof Error)) return stored as undefined;
        if (now > epoch + 5) throw stored;
      }
    },
  }),
  "takes the same mail twice": (store) => {
    let count = 0;
    return { submit: (mail) => store.submit({ ...mail, key: `${mail.key}/${++count}` }) };
  },
  "does not count mail as consumed": (store) => ({
    append: (append, options) => store.append({ ...append, consumes: [] }, options),
  }),
  "forgets timers": (store) => ({ append: (append, options) => store.append({ ...append, timers: [] }, options) }),
  "keeps a removed session": () => ({ remove: async () => undefined }),
};

describe("storeContract", () => {
  it("TEST-05 passes a store that is right", async () => {
    expect(await failures(() => ({}))).toEqual([]);
  });

  for (const [fault, change] of Object.entries(WRONG)) {
    it(`TEST-05 refuses one that ${fault}`, async () => {
      expect((await failures(change)).length).toBeGreaterThan(0);
    });
  }
});
