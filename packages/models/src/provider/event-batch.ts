/** What every decoder does with its stream: parse an event, begin the answer, collect the model events of one chunk. */

import type { Json, ModelEvent, Part } from "@capstan/core";
import { protocolError, type ProviderName } from "./errors.ts";
import { stringOf } from "./json.ts";

type Delta = { readonly type: "block-delta"; readonly index: number; delta: string };

/** Model events of one network chunk. Deltas of one block that stand side by side travel as one. */
export class EventBatch {
  #events: ModelEvent[] = [];
  /** The newest event, while it is a delta: nobody else has it yet. */
  #last: Delta | undefined;

  push(event: ModelEvent): void {
    this.#last = undefined;
    this.#events.push(event);
  }

  delta(index: number, delta: string): void {
    if (this.#last?.index === index) this.#last.delta += delta;
    else {
      this.#last = { type: "block-delta", index, delta };
      this.#events.push(this.#last);
    }
  }

  end(index: number, part: Part): void {
    this.push({ type: "block-end", index, part });
  }

  /** `asked` stands for a model that the answer does not name. */
  start(asked: string, model: Json | undefined, id: Json | undefined): void {
    const responseId = stringOf(id);
    this.push({ type: "start", model: stringOf(model) || asked, ...(responseId !== "" && { responseId }) });
  }

  /** The events since the last time. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#last = undefined;
    return events;
  }
}

/** Throws `model-protocol` (retryable) for what is no JSON. */
export function parseEvent(provider: ProviderName, data: string): Json {
  try {
    return JSON.parse(data) as Json;
  } catch (cause) {
    throw protocolError(provider, "sent an event that is not JSON", { retryable: true, cause });
  }
}
