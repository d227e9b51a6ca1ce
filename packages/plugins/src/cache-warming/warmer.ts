/** The waits of one runtime: a timer each, and what happens when it fires. */

import {
  budgetLeft,
  type Definitions,
  type Model,
  type ModelRequest,
  NO_USAGE,
  type Price,
  reduce,
  type SessionState,
  type Usage,
} from "@capstan/core";
import { Background } from "../background.ts";

/** A call that ended and asked for tools. */
export type Asked = {
  readonly request: ModelRequest;
  /** Before the call. */
  readonly state: SessionState;
  readonly usage: Usage;
};

type Wait = Asked & {
  cancel: () => void;
  warmed: number;
  /** What was spent on it, in tokens of uncached input. */
  spent: number;
};

/** The provider forgets after five minutes without use (Anthropic, prompt caching); the rest is for a slow answer. */
const EVERY_MS = 270_000;
const ASK_MS = 30_000;
/** What a token costs against one of uncached input, nearly the same at all models with markers. */
const RATES = { read: 0.1, written: 1.25, said: 5 } as const;
const ACTOR = { id: "cache-warming", door: "plugin" };

export class Warmer {
  readonly #runtime: Definitions;
  readonly #times: number;
  readonly #background = new Background();
  readonly #waits = new Map<string, Wait>();

  constructor(runtime: Definitions, times: number) {
    this.#runtime = runtime;
    this.#times = times;
  }

  /** `begunAt`: when the call began, by the monotonic clock. The cache is as old as that. */
  watch(asked: Asked, begunAt: number): void {
    const { sessionId } = asked.request;
    this.stop(sessionId);
    if (cachedIn(asked.usage) === 0) return;
    const wait: Wait = { ...asked, cancel: () => undefined, warmed: 0, spent: 0 };
    this.#waits.set(sessionId, wait);
    this.#arm(wait, begunAt);
  }

  stop(sessionId: string): void {
    this.#waits.get(sessionId)?.cancel();
    this.#waits.delete(sessionId);
  }

  async close(): Promise<void> {
    for (const sessionId of this.#waits.keys()) this.stop(sessionId);
    await this.#background.close();
  }

  #arm(wait: Wait, from: number): void {
    const { clock } = this.#runtime;
    const left = EVERY_MS - (clock.monotonic() - from);
    wait.cancel = clock.after(left, () => this.#background.start(() => this.#warm(wait)), { background: true });
  }

  async #warm(wait: Wait): Promise<void> {
    const { sessionId } = wait.request;
    const isOver = (): boolean => this.#waits.get(sessionId) !== wait;
    try {
      const begunAt = this.#runtime.clock.monotonic();
      const state = await this.#stateOf(wait);
      if (isOver() || state === undefined) return this.#end(wait);
      const model = await this.#runtime.model(
        this.#runtime.agent(state.agent),
        state.run?.overrides?.model ?? state.model,
      );
      if (!(await canPay(model, wait, state)) || isOver()) return this.#end(wait);
      const usage = await ask(model, wait, AbortSignal.any([this.#background.signal, AbortSignal.timeout(ASK_MS)]));
      wait.warmed++;
      await this.#record(wait, usage);
      wait.spent += weigh(usage);
      const next = wait.spent + weigh(usage);
      const isWorth = cachedIn(usage) > 0 && next < cachedIn(usage) * (RATES.written - RATES.read);
      if (isOver() || wait.warmed >= this.#times || !isWorth) return this.#end(wait);
      this.#arm(wait, begunAt);
    } catch {
      this.#end(wait); // the next call writes what is forgotten, as it would have without us
    }
  }

  #end(wait: Wait): void {
    if (this.#waits.get(wait.request.sessionId) === wait) this.stop(wait.request.sessionId);
  }

  /** The session as it is now; undefined when it is another runtime's, or no longer waits in this turn: then it may go on elsewhere. */
  async #stateOf({ state: before, request: { sessionId } }: Wait): Promise<SessionState | undefined> {
    const { engine } = this.#runtime;
    if ((await engine.summary(sessionId)) === undefined) return undefined;
    let state = before;
    for await (const fact of engine.read(sessionId, { after: before.head })) state = reduce(state, fact);
    const isSame = state.run?.id === before.run?.id && state.run?.turns === (before.run?.turns ?? 0) + 1;
    return isSame && state.run?.turn?.reason !== undefined ? state : undefined;
  }

  async #record({ request, state, warmed }: Wait, usage: Usage): Promise<void> {
    if (usage === NO_USAGE) return;
    const { sessionId } = request;
    const idempotencyKey = `cache-warming/${state.run?.id}/${state.run?.turns}/${warmed}`;
    await this.#runtime.engine.submit({ type: "update", sessionId, usage }, { idempotencyKey, actor: ACTOR });
  }
}

/** Whether the limits of the run leave room for the dearest that the read could be: a write of all of it. */
async function canPay(model: Model, { usage }: Wait, state: SessionState): Promise<boolean> {
  const { tokens, microUsd } = budgetLeft(state);
  const prompt = promptOf(usage);
  if (tokens !== undefined && tokens <= prompt) return false;
  if (microUsd === undefined) return true;
  const price = await model.price?.();
  return price !== undefined && microUsd >= dearest(price, prompt);
}

/** The same request, byte for byte where it counts, with the shortest answer there is. */
async function ask(model: Model, { request }: Wait, signal: AbortSignal): Promise<Usage> {
  const settings = { ...request.settings, maxOutputTokens: 1 };
  let usage = NO_USAGE;
  for await (const batch of model.stream({ ...request, settings, signal }))
    for (const event of batch) if (event.type === "finish") usage = event.usage;
  return usage;
}

function cachedIn({ cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return cacheReadTokens + cacheWriteTokens;
}

function promptOf(usage: Usage): number {
  return usage.inputTokens + cachedIn(usage) + usage.outputTokens; // the answer is part of the next prompt
}

function weigh({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens + cacheReadTokens * RATES.read + cacheWriteTokens * RATES.written + outputTokens * RATES.said;
}

/** Millionths of a dollar. */
function dearest(price: Price, prompt: number): number {
  const { long } = price;
  const rate = long !== undefined && prompt > long.overTokens ? { ...price, ...long } : price;
  return Math.ceil(prompt * Math.max(rate.input, rate.cacheWrite ?? 0) + rate.output);
}
