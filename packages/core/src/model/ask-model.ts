/** One question of a hook to a model, beside the conversation: a named step, paid from the run's budget and settled in the log. */

import type { Hold } from "../hold/hold.ts";
import { performStep } from "../hold/steps.ts";
import { endedOrIgnored, IGNORED } from "../hold/stop.ts";
import { within } from "../hold/within.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports/model.ts";
import type { ModelAnswer, ModelQuestion } from "../ports/plugin.ts";
import { sleep } from "../words/clock.ts";
import { CapstanError, toProblem } from "../words/errors.ts";
import type { Json } from "../words/json.ts";
import { NO_USAGE, type Usage } from "../words/message.ts";
import { answerCut, checkedPart, checkedReason, checkedUsage, checkLength } from "../words/model-part.ts";
import { reserve, type Reserved } from "./budget.ts";
import { streamNamed } from "./model-names.ts";
import { modelOfRun } from "./output.ts";
import { storedPrefix } from "./prefix.ts";
import { retryDelay } from "./retry.ts";
import { priced } from "./spending.ts";

/**
 * Throws what the model throws, `limit-reached` when the budget does not pay it, and the reason of an interrupt. A failure
 * is recorded too: the same code gets it again after a crash. Nothing of the answer is shown live.
 */
export async function askModel(
  hold: Hold,
  name: string,
  question: ModelQuestion,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const { steps, stepFailures } = hold.run;
  const answered = steps[name];
  if (answered !== undefined && stepFailures[name] === undefined) return answered as unknown as ModelAnswer; // written below
  const model =
    typeof question.model === "object"
      ? question.model
      : question.model === undefined
        ? await modelOfRun(hold)
        : await within(hold, "Finding the model", hold.definitions.model(hold.agent, question.model));
  const paid = await reserve(hold, model, {
    request: requestOf(hold, question, signal),
    prefixHash: await prefixOf(hold, question),
  });
  if (paid === undefined) {
    const problem = "The budget of the run does not pay a question that a plugin asks a model. Raise the limit";
    throw new CapstanError("limit-reached", problem);
  }
  const asking = new Asking(hold, model, paid);
  const { reserved } = paid;
  const settled = (value: Json): { readonly usage?: Usage } | { readonly lost?: typeof reserved } => {
    const { usage } = (value ?? {}) as { readonly usage?: Usage }; // absent where it failed
    if (usage !== undefined && usage !== NO_USAGE) return { usage };
    return asking.begun && reserved !== undefined ? { lost: reserved } : {};
  };
  const options = { name, rerun: "keyed", signal, paid: { reserved, settled } } as const;
  return (await performStep(hold, options, () => asking.answer() as Promise<Json>)) as unknown as ModelAnswer;
}

function requestOf(hold: Hold, question: ModelQuestion, signal: AbortSignal): ModelRequest {
  const { system, tools = [], messages, settings = {}, cache = [] } = question;
  const { sessionId } = hold.state;
  return { system, tools, messages, settings, cache, sessionId, signal, blob: (hash) => hold.journal.blob(hash) };
}

/** A request that begins as the conversation's is bounded by what that was counted as. */
async function prefixOf(hold: Hold, { system, tools }: ModelQuestion): Promise<string> {
  if (hold.state.prefix === undefined) return "";
  const prefix = await storedPrefix(hold);
  return prefix.system === system && prefix.tools === tools ? prefix.hash : "";
}

class Asking {
  /** Something was answered, and so has to be paid. */
  begun = false;
  readonly #hold: Hold;
  readonly #model: Model;
  readonly #paid: Reserved;

  constructor(hold: Hold, model: Model, paid: Reserved) {
    this.#hold = hold;
    this.#model = model;
    this.#paid = paid;
  }

  /** Asks again only while nothing was answered. */
  async answer(): Promise<ModelAnswer> {
    const hold = this.#hold;
    let spentMs = 0;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once();
      } catch (error) {
        if (this.begun || hold.stopping) throw error;
        const retryAfterMs = CapstanError.is(error) ? error.retryAfterMs : undefined;
        const delayMs = retryDelay(tries, toProblem(error), retryAfterMs, spentMs);
        if (delayMs === undefined) throw error;
        spentMs += delayMs;
        await sleep(hold.definitions.clock, delayMs, hold.stopSignal());
      }
    }
  }

  async #once(): Promise<ModelAnswer> {
    const stop = this.#hold.stop({ halts: true });
    try {
      const stream = streamNamed(this.#model, { ...this.#paid.request, signal: stop.signal }, { remote: true });
      // a model that does not hear its signal must not hold up an interrupt
      const read = await endedOrIgnored(this.#hold.definitions.clock, this.#read(stream), stop);
      stop.signal.throwIfAborted();
      if (read !== IGNORED) return read;
      throw new Error("a model was left that did not stop");
    } finally {
      stop.end();
    }
  }

  async #read(stream: AsyncIterable<readonly ModelEvent[]>): Promise<ModelAnswer> {
    let received = 0;
    let text = "";
    for await (const batch of stream) {
      for (const event of batch) {
        this.begun ||= event.type === "block-start" || event.type === "finish";
        if (event.type === "block-delta") received += event.delta.length;
        checkLength(received);
        if (event.type === "block-end") {
          const part = checkedPart(event.part);
          if (part.type === "text") text += part.text;
        }
        if (event.type === "finish") {
          const usage = priced(this.#paid.aside, checkedUsage(event.usage));
          return { text, reason: checkedReason(event.reason), usage };
        }
      }
    }
    throw answerCut();
  }
}
