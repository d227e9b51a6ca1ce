/** Keeps what `model` hooks send to what was set aside: a longer request leaves less for the answer, a second call what the first left. */

import type { ModelEvent, ModelRequest, Price } from "../ports/model.ts";
import { CapstanError } from "../words/errors.ts";
import { LIMITS } from "../words/limits.ts";
import { addUsage, NO_USAGE, tokensOf, type Usage } from "../words/message.ts";
import { checkedUsage } from "../words/model-part.ts";
import { payable, type Rates, withCost } from "./price.ts";
import { changedBound, type Known } from "./prompt-bound.ts";

/** What was set aside for one call. Money is in micro-dollars, rates in micro-dollars a token. */
export type Aside = {
  /** The request as it was when this was worked out, and its tokens at most. */
  readonly request: ModelRequest;
  readonly prompt: number;
  readonly known: Known;
  readonly tokens: number;
  readonly money?: Rates & { readonly microUsd: number; readonly price: Price };
};
type Send = (request: ModelRequest) => AsyncIterable<readonly ModelEvent[]>;

/** `used` sums the calls that said what they used, when there was more than one. */
export type Spending = { readonly send: Send; readonly used: () => Usage | undefined };

/** The innermost call of an attempt. Throws `limit-reached` when what is left does not pay a short answer. */
export function spending(aside: Aside | undefined, send: Send): Spending {
  let calls = 0;
  let total = NO_USAGE;
  /** What the earlier calls of this attempt cost: what they said, or all that was set aside where they did not say. */
  let tokens = 0;
  let microUsd = 0;
  return {
    used: () => (calls > 1 ? total : undefined),
    async *send(request) {
      calls++;
      const left = aside && { tokens: aside.tokens - tokens, microUsd: (aside.money?.microUsd ?? 0) - microUsd };
      const cost = aside && left && (await costOf(aside, request, left));
      tokens += cost?.tokens ?? 0;
      microUsd += cost?.microUsd ?? 0;
      for await (const batch of send(cost?.request ?? request)) {
        for (const event of batch) {
          if (event.type !== "finish") continue;
          const usage = priced(aside, checkedUsage(event.usage));
          total = addUsage(total, usage);
          tokens += tokensOf(usage) - (cost?.tokens ?? 0);
          microUsd += (usage.costMicroUsd ?? cost?.microUsd ?? 0) - (cost?.microUsd ?? 0);
        }
        yield batch;
      }
    },
  };
}

/** Where money is limited, what was used always has a cost: a model that says none is charged by its price. */
export function priced(aside: Aside | undefined, usage: Usage): Usage {
  const { price } = aside?.money ?? {};
  return price === undefined || usage.costMicroUsd !== undefined || tokensOf(usage) === 0
    ? usage
    : withCost(usage, price);
}

type Cost = { readonly request: ModelRequest; readonly tokens: number; readonly microUsd: number };

/** The request with as long an answer as can be paid, and what both cost at most. */
async function costOf(
  { request: original, prompt: bound, known, money }: Aside,
  request: ModelRequest,
  left: { readonly tokens: number; readonly microUsd: number },
): Promise<Cost> {
  const prompt = await changedBound(original, bound, request, known);
  const asked = request.settings.maxOutputTokens ?? LIMITS.reservedOutputTokens;
  const { output, tokens, microUsd = 0 } = payable(asked, prompt, left, money);
  if (output < Math.min(asked, original.settings.maxOutputTokens ?? asked, LIMITS.leastOutputTokens)) {
    throw new CapstanError(
      "limit-reached",
      "A plugin asks the model for more than the budget has set aside for this call. Let it send less, or raise the limit",
    );
  }
  return { request: { ...request, settings: { ...request.settings, maxOutputTokens: output } }, tokens, microUsd };
}
