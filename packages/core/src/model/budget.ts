/** Budgets by reservation: what a model call may cost at most is set aside before it, and what a sub-agent gets is given before it starts. */

import type { Hold } from "../hold/hold.ts";
import { canAsk } from "../hold/policy.ts";
import { openRequests, requestIdOf } from "../hold/requests.ts";
import { within } from "../hold/within.ts";
import type { Agent } from "../ports/agent.ts";
import type { Model, ModelRequest, Price } from "../ports/model.ts";
import { budgetLeft, type Kind, KINDS } from "../state/budget-left.ts";
import { timeToGive } from "../state/deadline.ts";
import { CapstanError } from "../words/errors.ts";
import type { Limits } from "../words/event.ts";
import { hashJson, type Json } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import { isPrice, payable, ratesOf } from "./price.ts";
import { type Known, promptBound } from "./prompt-bound.ts";
import type { Aside } from "./spending.ts";

/** Asks a person for as much again; `false` when nobody can be asked, or the answer was no. */
export async function askForMore(hold: Hold): Promise<boolean> {
  const { state } = hold;
  const { run } = state;
  if (run?.limits.ask !== true || state.parent !== undefined || !canAsk(hold)) return false;
  const began = hold.definitions.find(run.agent) ?? hold.agent; // the run keeps its limits when another one takes over
  const { tokens, microUsd, calls }: Limits = { ...began.limits, ...run.overrides?.limits };
  const budget: Limits = {
    ...(tokens !== undefined && { tokens }),
    ...(microUsd !== undefined && { microUsd }),
    ...(calls !== undefined && { calls }),
  };
  const name = `${run.id}/budget/${hashJson(run.limits as Json)}`; // another one each time it was raised
  if (run.answers[requestIdOf(state.sessionId, name)] !== undefined) return false;
  const used = Object.entries(budget).map(([kind, limit]) => `${kind}: ${limit}`);
  const options = [
    { label: "Go on", description: `As much again (${used.join(", ")})` },
    { label: "Stop", description: "The run ends here" },
  ];
  const question = { header: "Budget", question: "The budget of this run is used up.", multiSelect: false, options };
  await openRequests(hold, [{ name, body: { type: "question", questions: [question], budget } }]);
  return true;
}

/** `among`: sub-agents that start now. What is left is split evenly among them and the run. */
export type Share = { readonly among: number };

/** What a sub-agent may spend: its own limits, and no more than its share of what the run has left. */
export function grantFor(hold: Hold, agent: Agent<unknown>, { among }: Share): Limits | undefined {
  const { state, run } = hold;
  const left = budgetLeft(state);
  const grant: { [K in Kind | "wallMs"]?: number } = {};
  for (const kind of KINDS) {
    const mine = left[kind];
    if (mine === undefined) continue;
    const share = Math.max(0, Math.floor(mine / (among + 1)));
    grant[kind] = Math.min(share, agent.limits[kind] ?? share);
  }
  if (run.limits.wallMs !== undefined) {
    const time = timeToGive(run, hold.journal.now());
    grant.wallMs = Math.min(time, agent.limits.wallMs ?? time);
  }
  return Object.keys(grant).length === 0 ? undefined : grant;
}

export type Reserved = {
  readonly request: ModelRequest;
  /** As it stands in the log. */
  readonly reserved?: Limits;
  readonly aside?: Aside;
};

/**
 * Sets aside what the call may cost at most, and cuts the answer's length to what can be paid. `undefined`: not even a
 * short answer can be paid. Throws `price-unknown` when money is limited and the model has no price.
 */
export async function reserve(
  hold: Hold,
  model: Model,
  { request, prefixHash }: { readonly request: ModelRequest; readonly prefixHash: string },
): Promise<Reserved | undefined> {
  const left = budgetLeft(hold.state);
  if (left.tokens === undefined && left.microUsd === undefined) return { request };
  const price = left.microUsd === undefined ? undefined : await priceOf(hold, model);
  const known: Known = {
    prefixHash,
    model: model.id,
    contextTokens: model.capabilities.contextTokens,
    counted: hold.state.counted,
    tokens: hold.state.contextTokens,
  };
  const prompt = await promptBound(request, known);
  const rates = price === undefined ? undefined : ratesOf(price, prompt);
  const asked = request.settings.maxOutputTokens ?? LIMITS.reservedOutputTokens;
  const { output, tokens, microUsd = 0 } = payable(asked, prompt, left, rates);
  if (output < Math.min(asked, LIMITS.leastOutputTokens)) return undefined;
  if (output < asked)
    hold.notice("info", "budget-shrunk", `The answer may take ${output} tokens: more does not fit the budget`);
  const paid = { ...request, settings: { ...request.settings, maxOutputTokens: output } };
  const aside = { request: paid, prompt, known, tokens };
  if (price === undefined || rates === undefined) return { request: paid, reserved: { tokens }, aside };
  const reserved = { tokens, microUsd: Math.ceil(microUsd) };
  return { request: paid, reserved, aside: { ...aside, money: { microUsd: reserved.microUsd, price, ...rates } } };
}

async function priceOf(hold: Hold, model: Model): Promise<Price> {
  const price = await within(hold, "The price of the model", model.price?.());
  if (price !== undefined && isPrice(price)) return price;
  const there = price === undefined ? "There is no price" : "There is no price in numbers of at least 0";
  throw new CapstanError(
    "price-unknown",
    `${there} for the model ${model.id}, so a limit of money cannot be kept. Give the model a price, or limit tokens`,
  );
}
