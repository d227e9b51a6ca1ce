/** What every `Model` must do, as a list of cases for any test runner. */

import assert from "node:assert/strict";
import { systemClock } from "../words/clock.ts";
import { CapstanError } from "../words/errors.ts";
import type { TurnReason } from "../words/event.ts";
import { hashJson, type Json } from "../words/json.ts";
import type { Message, Part } from "../words/message.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports/model.ts";
import { answered, collected } from "./model-contract-events.ts";
import type { ContractCase } from "./store-contract.ts";

/** One answer of the provider, which the fixture plays in its provider's own words. */
export type ContractReply = {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  readonly reason: TurnReason;
  /** `cut`: the stream breaks off after the first piece. `hang`: nothing comes after it, and the connection stays open. */
  readonly fault?: "cut" | "hang";
};

export type ModelFixture = {
  /** A model that gives these replies, one a request, in order. */
  model(replies: readonly ContractReply[]): ContractModel | Promise<ContractModel>;
  /** Finish reasons this provider can express. */
  readonly reasons: readonly TurnReason[];
  /** Whether it streams reasoning. */
  readonly reasoning: boolean;
  /** Whether reasoning comes with state that must go back. */
  readonly seals: boolean;
};
export type ContractModel = {
  readonly model: Model;
  /** What the provider received, one entry a request. Without it, what goes out is not checked. */
  readonly sent?: () => readonly unknown[];
  readonly close?: () => void | Promise<void>;
};

/** A model has this long to stop after its signal. */
const PROMPTLY_MS = 1_000;
const TEXT = "Hello, w\u00f6rld \u{1f30d}! A second sentence, so that there are several pieces.";
const REASONING = "First I look at the weather, then I answer.";
const CALLS = [
  { name: "weather", input: { city: "Oslo", days: 3, nested: { list: [1, "two", null, true], empty: {} } } },
  { name: "search", input: { query: 'quote " and \u{1f511} and \\' } },
  { name: "now", input: {} },
] as const;

export function modelContract(fixture: ModelFixture): readonly ContractCase[] {
  const of = (
    name: string,
    replies: readonly ContractReply[],
    run: (played: ContractModel) => Promise<void>,
  ): ContractCase => ({ name, run: () => withModel(fixture, replies, run) });
  return [
    ...answerCases(of),
    ...concurrentCases(of),
    ...fixture.reasons.map((reason) => reasonCase(of, reason)),
    ...(fixture.reasoning ? reasoningCases(of) : []),
    ...(fixture.reasoning && fixture.seals ? sealCases(of) : []),
    ...faultCases(of),
  ];
}

type CaseOf = (
  name: string,
  replies: readonly ContractReply[],
  run: (played: ContractModel) => Promise<void>,
) => ContractCase;

function answerCases(of: CaseOf): readonly ContractCase[] {
  return [
    of("streams a text in pieces and finishes with stop", [{ text: TEXT, reason: "stop" }], async ({ model }) => {
      const events = await answered(model, request());
      assert.deepEqual(partsOf(events).map(withoutSeals), [{ type: "text", text: TEXT }]);
      assert.equal(finishOf(events).reason, "stop");
    }),
    of("names the model it asked when it begins", [{ text: TEXT, reason: "stop" }], async ({ model }) => {
      const starts = (await answered(model, request())).filter(({ type }) => type === "start");
      assert.equal(starts.length, 1);
      assert.match(model.id, /^[^/]+\/.+$/);
    }),
    of(
      "gives parallel calls in their order with parsed input",
      [{ calls: CALLS, reason: "tool-calls" }],
      async ({ model }) => {
        const events = await answered(model, request());
        assert.deepEqual(callsOf(events), CALLS);
        assert.equal(finishOf(events).reason, "tool-calls");
      },
    ),
    of("keeps a text before its calls", [{ text: TEXT, calls: CALLS, reason: "tool-calls" }], async ({ model }) => {
      const events = await answered(model, request());
      assert.deepEqual(
        partsOf(events).map(({ type }) => type),
        ["text", "tool-call", "tool-call", "tool-call"],
      );
      assert.deepEqual(callsOf(events), CALLS);
    }),
    of(
      "takes the results of its calls back and goes on",
      [
        { calls: CALLS, reason: "tool-calls" },
        { text: TEXT, reason: "stop" },
      ],
      async ({ model }) => {
        const first = await answered(model, request());
        const second = await answered(model, request([question(), reply(first), resultsOf(first)]));
        assert.deepEqual(partsOf(second).map(withoutSeals), [{ type: "text", text: TEXT }]);
      },
    ),
    of("leaves the request as it was", [{ text: TEXT, reason: "stop" }], async ({ model }) => {
      const messages = [deepFrozen(question())];
      const asked = request(Object.freeze(messages));
      const before = hashJson(asked.messages as unknown as Json); // messages are JSON by their type
      await answered(model, asked);
      assert.equal(hashJson(asked.messages as unknown as Json), before);
    }),
  ];
}

function concurrentCases(of: CaseOf): readonly ContractCase[] {
  return [
    of(
      "keeps two answers apart that it reads at once",
      [
        { text: TEXT, reason: "stop" },
        { text: TEXT, reason: "stop" },
      ],
      async ({ model }) => {
        const both = await Promise.all([answered(model, request()), answered(model, request())]);
        for (const events of both) assert.deepEqual(partsOf(events).map(withoutSeals), [{ type: "text", text: TEXT }]);
      },
    ),
  ];
}

function reasonCase(of: CaseOf, reason: TurnReason): ContractCase {
  const calls = reason === "tool-calls" ? { calls: CALLS } : {};
  return of(
    `maps the provider's word to the finish reason ${reason}`,
    [{ text: TEXT, ...calls, reason }],
    async ({ model }) => {
      assert.equal(finishOf(await answered(model, request())).reason, reason);
    },
  );
}

function reasoningCases(of: CaseOf): readonly ContractCase[] {
  return [
    of(
      "streams reasoning before the text",
      [{ reasoning: REASONING, text: TEXT, reason: "stop" }],
      async ({ model }) => {
        const parts = partsOf(await answered(model, request()));
        assert.deepEqual(parts.map(withoutSeals), [
          { type: "reasoning", text: REASONING },
          { type: "text", text: TEXT },
        ]);
      },
    ),
  ];
}

function sealCases(of: CaseOf): readonly ContractCase[] {
  const replies: readonly ContractReply[] = [
    { reasoning: REASONING, calls: CALLS.slice(0, 1), reason: "tool-calls" },
    { text: TEXT, reason: "stop" },
  ];
  return [
    of("sends the seal of its reasoning back as it came", replies, async ({ model, sent }) => {
      const first = await answered(model, request());
      const seals = sealsOf(first);
      assert.ok(seals.length > 0, "the reasoning has no seal");
      await answered(model, request([question(), reply(first), resultsOf(first)]));
      const body = JSON.stringify(sent?.()[1] ?? seals);
      for (const text of seals.flatMap((seal) => textsOf(seal)))
        assert.ok(body.includes(JSON.stringify(text)), `${text} was not sent`);
    }),
    of("drops a seal of another provider", replies, async ({ model, sent }) => {
      const first = await answered(model, request());
      const foreign = { provider: "somebody-else", data: { signature: "foreign-signature" } };
      const parts = reply(first).parts.map((part) =>
        "seal" in part && part.seal !== undefined ? { ...part, seal: foreign } : part,
      );
      await answered(model, request([question(), { ...reply(first), parts }, resultsOf(first)]));
      if (sent !== undefined) assert.ok(!JSON.stringify(sent()[1]).includes("foreign-signature"));
    }),
  ];
}

function faultCases(of: CaseOf): readonly ContractCase[] {
  const hanging: readonly ContractReply[] = [{ text: TEXT, reason: "stop", fault: "hang" }];
  return [
    of("a stream that breaks off has no finish", [{ text: TEXT, reason: "stop", fault: "cut" }], async ({ model }) => {
      const { events, error } = await collected(model, request());
      assert.ok(!events.some(({ type }) => type === "finish"));
      assert.ok(error === undefined || CapstanError.is(error, "model-cut", "model-network"), String(error));
      assert.ok(error === undefined || error.retryable);
    }),
    of(
      "a call that breaks off is not given as a call",
      [{ calls: CALLS.slice(0, 1), reason: "tool-calls", fault: "cut" }],
      async ({ model }) => {
        const { events } = await collected(model, request());
        assert.ok(!events.some(({ type }) => type === "block-end" || type === "finish"));
      },
    ),
    of("throws the reason of a signal that is aborted already", hanging, async ({ model }) => {
      const reason = new Error("stopped before");
      const { events, error } = await collected(model, request(undefined, AbortSignal.abort(reason)));
      assert.equal(error, reason);
      assert.deepEqual(events, []);
    }),
    of("throws the reason of its signal soon after the abort", hanging, async ({ model }) => {
      const controller = new AbortController();
      const reason = new Error("stopped in the middle");
      const stream = collected(model, request(undefined, controller.signal), (event) => {
        if (event.type === "block-delta") setImmediate(() => controller.abort(reason));
      });
      const { events, error } = await soon(stream, "the abort");
      assert.equal(error, reason);
      assert.ok(!events.some(({ type }) => type === "finish"));
    }),
    of("stops when its reader leaves", hanging, async ({ model }) => {
      const leave = async (): Promise<void> => {
        for await (const batch of model.stream(request())) if (batch.some(({ type }) => type === "block-delta")) return;
      };
      await soon(leave(), "the reader left");
    }),
  ];
}

async function withModel(
  fixture: ModelFixture,
  replies: readonly ContractReply[],
  run: (played: ContractModel) => Promise<void>,
): Promise<void> {
  const played = await fixture.model(replies);
  try {
    await run(played);
  } finally {
    await played.close?.();
  }
}

function request(
  messages: readonly Message[] = [question()],
  signal: AbortSignal = new AbortController().signal,
): ModelRequest {
  const object = { type: "object", properties: {}, additionalProperties: true };
  return {
    system: "You are a test.",
    tools: CALLS.map(({ name }) => ({ name, description: `The tool ${name}.`, inputSchema: object })),
    messages,
    settings: {},
    cache: [],
    sessionId: "ses_contract",
    signal,
    blob: () => Promise.reject(new Error("no blobs here")),
  };
}

function question(): Message {
  return { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella in Oslo?" }] };
}

/** The reply as the loop stores it: with call ids of its own. */
function reply(events: readonly ModelEvent[]): Message {
  let call = 0;
  const parts = partsOf(events).map((part) =>
    part.type === "tool-call" ? { ...part, callId: `run_1/1/${call++}` } : part,
  );
  return { id: "m2", role: "assistant", parts };
}

function resultsOf(events: readonly ModelEvent[]): Message {
  const parts = callsOf(events).map(({ name }, at): Part => {
    return {
      type: "tool-result",
      callId: `run_1/1/${at}`,
      name,
      output: { content: [{ type: "text", text: `result ${at}` }] },
    };
  });
  return { id: "m3", role: "user", parts };
}

function partsOf(events: readonly ModelEvent[]): readonly Part[] {
  return events.flatMap((event) => (event.type === "block-end" ? [event.part] : []));
}

function callsOf(events: readonly ModelEvent[]): readonly { readonly name: string; readonly input: Json }[] {
  return partsOf(events).flatMap((part) => (part.type === "tool-call" ? [{ name: part.name, input: part.input }] : []));
}

function finishOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "finish" }> {
  const finish = events.at(-1);
  assert.ok(finish?.type === "finish");
  return finish;
}

function sealsOf(events: readonly ModelEvent[]): readonly Json[] {
  return partsOf(events).flatMap((part) =>
    part.type === "reasoning" && part.seal !== undefined ? [part.seal.data] : [],
  );
}

/** Every text in a value. */
function textsOf(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return value === null || typeof value !== "object"
    ? []
    : Object.values(value).flatMap((member: Json) => textsOf(member));
}

function withoutSeals(part: Part): Part {
  const { seal: _seal, ...rest } = { seal: undefined, ...part };
  return rest as Part; // a part without its optional seal
}

function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const member of Object.values(value)) deepFrozen(member);
  return Object.freeze(value);
}

async function soon<T>(promise: Promise<T>, after: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const fail = (): void => late.reject(new Error(`still running ${PROMPTLY_MS} ms after ${after}`));
  const cancel = systemClock.after(PROMPTLY_MS, fail);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
  }
}
