/** Published prices of models, loaded only when a model without a given price is first called. */

import type { Price } from "../price.ts";

/** The price of a model, when it is known. `provider` is the id before the slash of `Model.id`. */
export async function priceOf(_provider: string, _modelId: string): Promise<Price | undefined> {
  return Promise.resolve(undefined);
}
