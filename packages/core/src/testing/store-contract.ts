/** What every `Store` must do, as a list of cases for any test runner. */

import { claimCases } from "./store-contract-claims.ts";
import type { StoreCase, StoreFixture } from "./store-contract-fixture.ts";
import { logCases } from "./store-contract-log.ts";
import { mailCases } from "./store-contract-mail.ts";
import { sessionCases } from "./store-contract-sessions.ts";

export type { StoreFixture } from "./store-contract-fixture.ts";

/** One case: opens an empty store of its own, checks one sentence of the port, closes. */
export type ContractCase = { readonly name: string; readonly run: () => Promise<void> };

/** `open` is called once for each case and gives a new, empty store. Cases may run at the same time. */
export function storeContract(open: () => Promise<StoreFixture>): readonly ContractCase[] {
  return [...sessionCases, ...claimCases, ...logCases, ...mailCases].map((one) => toCase(open, one));
}

function toCase(open: () => Promise<StoreFixture>, { name, run }: StoreCase): ContractCase {
  return {
    name,
    async run() {
      const fixture = await open();
      try {
        await run(fixture.store, fixture);
      } finally {
        await fixture.close();
      }
    },
  };
}
