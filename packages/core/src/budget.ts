/** Budgets by reservation: what a model call may cost at most is set aside before it, and what a sub-agent gets is given before it starts. */

import type { Agent } from "./agent.ts";
import { timeToGive } from "./deadline.ts";
import { CapstanError } from "./errors.ts";
import type { Limits } from "./event.ts";
import type { Hold } from "./hold.ts";
import { hashJson, type Json } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { tokensOf, type Usage } from "./message.ts";
import type { Model, ModelRequest, Price } from "./model.ts";
import { canAsk } from "./permission/policy.ts";
import { openRequests, requestIdOf } from "./requests.ts";
import { isPrice, payable, ratesOf } from "./price.ts";
import { type Known, promptBound } from "./prompt-bound.ts";
import type { RunState, SessionState } from "./session-state.ts";
import type { Aside } from "./spending.ts";
import { within } from "./within.ts";

type Kind = "tokens" | "microUsd" | "calls";
const KINDS: readonly Kind[] = ["tokens", "microUsd", "calls"];

/** What is neither spent nor set aside, for each kind that the run limits. May be negative. */
export function budgetLeft({ run, tasks }: Pick<SessionState, "run" | "tasks">): Limits {
  const left: { [K in Kind]?: number } = {};
  if (run === undefined) return left;
  const granted = Object.values(tasks).filter((task) => task.runId === run.id);
  for (const kind of KINDS) {
    const limit = run.limits[kind];
    if (limit === undefined) continue;
    const grants = granted.reduce((sum, { grant }) => sum + (grant?.[kind] ?? 0), 0);
    left[kind] = limit - spent(run, kind) - grants - reservedNow(run, kind);
  }
  return left;
}

function spent({ usage, childUsage, callsMade, childCalls, lost }: RunState, kind: Kind): number {
  switch (kind) {
    case "tokens":
      return tokensOf(usage) + tokensOf(childUsage) + (lost.tokens ?? 0);
    case "microUsd":
      return costOf(usage) + costOf(childUsage) + (lost.microUsd ?? 0);
    case "calls":
      return callsMade + childCalls;
    default:
      return kind satisfies never;
  }
}

function costOf(usage: Usage): number {
  return usage.costMicroUsd ?? 0;
}

function reservedNow({ turn, stepReserved }: RunState, kind: Kind): number {
  const steps = Object.values(stepReserved).reduce((sum, reserved) => sum + (reserved[kind] ?? 0), 0);
  return steps + (turn?.reason === undefined ? (turn?.reserved?.[kind] ?? 0) : 0);
}

/** Whether some limit of the run is used up. */
export function isSpent(state: Pick<SessionState, "run" | "tasks">): boolean {
  const left = budgetLeft(state);
  return KINDS.some((kind) => (left[kind] ?? 1) <= 0);
}

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
