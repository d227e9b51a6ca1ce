/** Requests for a model and what came of them, for tests of models. */

import type { Message, Model, ModelEvent, ModelRequest, Part } from "@capstan/core";

/** A request of these messages with nothing else in it; `more` replaces members. */
export function modelRequest(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: "You are helpful.",
    tools: [],
    messages,
    settings: {},
    cache: [],
    sessionId: "ses_test",
    signal: new AbortController().signal,
    blob: (hash) => Promise.reject(new Error(`there is no blob ${hash}`)),
    ...more,
  };
}

/** All events of one call, in order, without their batches. */
export async function collectEvents(model: Model, request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const batch of model.stream(request)) events.push(...batch);
  return events;
}

/** The finished parts in the order of their blocks. */
export function partsOf(events: readonly ModelEvent[]): Part[] {
  const ends = events.filter((event) => event.type === "block-end");
  return ends.toSorted((a, b) => a.index - b.index).map((event) => event.part);
}

/** The deltas of one block, joined. */
export function deltasOf(events: readonly ModelEvent[], index: number): string {
  return events.map((event) => (event.type === "block-delta" && event.index === index ? event.delta : "")).join("");
}
