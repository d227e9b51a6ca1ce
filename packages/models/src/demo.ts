/** The demo model: scripted, without a network. It reads the real results of real tools and repairs the demo project. */

import {
  CapstanError,
  sleep,
  systemClock,
  type Clock,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from "@capstan/core";
import { resultsOf } from "./demo/results.ts";
import { nextTurn, type DemoTurn } from "./demo/script.ts";

export type DemoOptions = {
  /** Pause after each word of text, so that a person can watch it. Default 0. */
  readonly wordMs?: number;
  readonly clock?: Clock;
};

const ID = "demo/scripted";

/** `demo` or `demo/scripted` by name. Throws `model-unknown` for another. */
export function demo(modelId = "scripted"): Model {
  if (modelId === "scripted") return demoModel();
  throw new CapstanError("model-unknown", `There is no demo model "${modelId}". Name demo, which is scripted.`);
}

/** Needs the tools `glob`, `read_file`, `edit` and `shell`. The same conversation always gets the same answer. */
export function demoModel({ wordMs = 0, clock = systemClock }: DemoOptions = {}): Model {
  return {
    id: ID,
    capabilities: {},
    price: () => ({ input: 0, output: 0 }),
    async *stream(request) {
      request.signal.throwIfAborted();
      yield [{ type: "start", model: ID }];
      yield* emitted(nextTurn(resultsOf(request.messages)), request, () => sleep(clock, wordMs, request.signal));
    },
  };
}

async function* emitted(
  turn: DemoTurn,
  { signal }: ModelRequest,
  pause: () => Promise<void>,
): AsyncGenerator<readonly ModelEvent[]> {
  const { text, calls = [] } = turn;
  yield [{ type: "block-start", index: 0, block: { type: "text" } }];
  for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
    signal.throwIfAborted();
    yield [{ type: "block-delta", index: 0, delta: word }];
    await pause();
  }
  yield [{ type: "block-end", index: 0, part: { type: "text", text } }];
  for (const [at, { name, input }] of calls.entries()) {
    const index = at + 1;
    yield [
      { type: "block-start", index, block: { type: "tool-input", name } },
      { type: "block-delta", index, delta: JSON.stringify(input) },
      { type: "block-end", index, part: { type: "tool-call", callId: `call_${at}`, name, input, by: "capstan" } },
    ];
  }
  yield [
    {
      type: "finish",
      reason: calls.length > 0 ? "tool-calls" : "stop",
      usage: { inputTokens: 0, outputTokens: 0, costMicroUsd: 0 }, // nobody is asked and nothing is charged
    },
  ];
}
