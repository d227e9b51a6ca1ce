import {
  agent,
  type Fact,
  jsonSchema,
  type Message,
  type Model,
  type ModelCapabilities,
  type ModelRequest,
  type Part,
  tool,
} from "@capstan/core";
import { testRuntime, transcriptOf } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { memoryRuntime } from "./harness/memory-runtime.ts";
import { type Played, type Said, WIRE_FORMATS, type WireFormat } from "./harness/wire-formats.ts";

/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const city = jsonSchema<{ readonly city: string }>({
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
});
const weather = tool({
  name: "weather",
  description: "Tells the weather.",
  input: city,
  rerun: "safe",
  execute: (input) => `Rain in ${input.city}`,
});
const photo = tool({
  name: "photo",
  description: "Looks out of the window.",
  input: city,
  rerun: "safe",
  execute: () => ({
    content: [
      { type: "text", text: "The street:" },
      { type: "file", mediaType: "image/png", data: { type: "base64", base64: PNG } },
    ],
  }),
});
const report = jsonSchema<{ readonly degrees: number }>({
  type: "object",
  properties: { degrees: { type: "number" } },
  required: ["degrees"],
  additionalProperties: false,
});
const degrees = { degrees: 12 };

type Story = {
  readonly ids: string;
  readonly said: readonly Said[];
  readonly inputs: readonly string[];
  readonly structured?: boolean;
  readonly capabilities?: ModelCapabilities;
  readonly ends: string;
};

const STORIES: Readonly<Record<string, Story>> = {
  "a text": {
    ids: "MODEL-01 MODEL-02 MODEL-03 MODEL-04 MODEL-05 LOOP-19",
    said: [{ text: "Hello, wörld \u{1f30d}." }, { text: "Again." }],
    inputs: ["Hello", "And again?"],
    ends: "Again.",
  },
  "parallel calls": {
    ids: "LOOP-19",
    said: [
      {
        text: "I look at both.",
        calls: [
          { name: "weather", input: { city: "Oslo" } },
          { name: "weather", input: { city: "Rome" } },
          { name: "nothing_like_it", input: {} },
        ],
      },
      { calls: [{ name: "weather", input: { city: "Bonn" } }] },
      { text: "Rain everywhere." },
    ],
    inputs: ["Umbrella?"],
    ends: "Rain everywhere.",
  },
  "reasoning between calls and inputs": {
    ids: "MODEL-14 MODEL-16",
    said: [
      { reasoning: "First I look.", text: "I look.", calls: [{ name: "weather", input: { city: "Oslo" } }] },
      { reasoning: "It rains.", text: "Take one." },
      { reasoning: "Rome, then.", calls: [{ name: "weather", input: { city: "Rome" } }] },
      { reasoning: "There too.", text: "There too." },
    ],
    inputs: ["Umbrella?", "And in Rome?"],
    ends: "There too.",
  },
  "structured output, enforced by the provider": {
    ids: "OUT-01 OUT-03",
    said: [{ calls: [{ name: "weather", input: { city: "Oslo" } }] }, { text: JSON.stringify(degrees) }],
    inputs: ["How warm?"],
    structured: true,
    ends: JSON.stringify(degrees),
  },
  "structured output by a last tool": {
    ids: "OUT-01 OUT-03",
    said: [
      { calls: [{ name: "weather", input: { city: "Oslo" } }] },
      { calls: [{ name: "final_answer", input: degrees }] },
    ],
    inputs: ["How warm?"],
    structured: true,
    capabilities: { structured: false },
    ends: JSON.stringify(degrees),
  },
  "structured output that is repaired": {
    ids: "OUT-02",
    said: [{ text: "It is warm." }, { text: JSON.stringify(degrees) }],
    inputs: ["How warm?"],
    structured: true,
    ends: JSON.stringify(degrees),
  },
  "an image in a tool's result": {
    ids: "TOOL-25 TOOL-43",
    said: [{ calls: [{ name: "photo", input: { city: "Oslo" } }] }, { text: "A wet street." }],
    inputs: ["What do you see?"],
    ends: "A wet street.",
  },
};

describe("the same agent on all six wire formats", () => {
  for (const [name, story] of Object.entries(STORIES)) {
    it(`${story.ids} leaves the same facts of ${name}`, async () => {
      const told = await Promise.all(WIRE_FORMATS.map(async (format) => tell(story, format)));
      const [first] = told;
      expect(transcriptOf(first?.facts ?? [])).toContain(story.ends);
      for (const { facts } of told) expect(facts.map(normal)).toEqual(first?.facts.map(normal));
      for (const [at, { sent }] of told.entries())
        if (name.startsWith("an image")) expect(sent, WIRE_FORMATS[at]?.name).toContain(PNG);
    });
  }
});

async function tell(
  { said, inputs, structured, capabilities }: Story,
  format: WireFormat,
): Promise<{ readonly facts: readonly Fact[]; readonly sent: string }> {
  const script = (index: number): Said => said[index] ?? { text: "The script is over." };
  await using played = await format.serve(script, capabilities === undefined ? {} : { capabilities });
  const facts = await talk(played.model, inputs, structured === true);
  expect(played.violations, format.name).toEqual([]);
  return { facts, sent: JSON.stringify(played.sent()) };
}

async function talk(model: Model, inputs: readonly string[], structured: boolean): Promise<readonly Fact[]> {
  const settings = { reasoning: "high" } as const;
  const definition = { name: "guide", model, instructions: "Look first.", tools: [weather, photo], settings };
  const guide = structured ? agent({ ...definition, output: report }) : agent(definition);
  await using runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session({ agent: "guide" });
  for (const input of inputs) {
    const { reason, output, error } = await (await session.send(input)).result();
    expect([reason, error]).toEqual(["end-turn", undefined]);
    if (structured) expect(output).toEqual(degrees);
  }
  return runtime.store.read(session.id, { after: 0, limit: 1_000 });
}

/** The fact without what a provider names and counts: its model, its words, its tokens, its seals. */
function normal(fact: Fact): object {
  const { model: _model, responseId: _response, rawReason: _raw, usage: _usage, ...rest } = { ...ABSENT, ...fact };
  const { firstDeltaMs: _first, treeUsage: _tree, ...same } = { ...ABSENT, ...rest };
  if (fact.type !== "message.added") return same;
  const parts = fact.message.parts.filter(({ type }) => type !== "opaque").map(unsealed);
  return { ...same, message: { ...fact.message, parts } };
}
const ABSENT = { model: 0, responseId: 0, rawReason: 0, usage: 0, firstDeltaMs: 0, treeUsage: 0 };

function unsealed(part: Part): object {
  const { seal: _seal, ...rest } = { seal: undefined, ...part };
  return rest;
}

describe("a conversation that changes its provider, with reasoning on", () => {
  for (const from of WIRE_FORMATS) {
    for (const to of WIRE_FORMATS) {
      if (from === to) continue;
      it(`MODEL-07 MODEL-16 MODEL-20 goes from ${from.name} to ${to.name} and back`, () => thereAndBack(from, to));
    }
  }
});

/** Thinks, calls two tools at once, thinks again, answers. */
function thinker(name: string): (index: number) => Said {
  return (index) => {
    const reasoning = `${name} thinks ${index}.`;
    if (index % 2 === 1) return { reasoning, text: `${name} says ${index}.` };
    const calls = ["Oslo", "Rome"].map((at) => ({ name: "weather", input: { city: at } }));
    return { reasoning, text: `${name} looks.`, calls };
  };
}

async function thereAndBack(from: WireFormat, to: WireFormat): Promise<void> {
  await using first = await from.serve(thinker("first"));
  await using second = await to.serve(thinker("second"));
  const asked: { readonly model: string; readonly request: ModelRequest }[] = [];
  const models: Record<string, Model> = { first: recording(first.model), second: recording(second.model) };
  function recording(model: Model): Model {
    const stream: Model["stream"] = (request) => {
      asked.push({ model: model.id, request: { ...request, messages: [...request.messages] } });
      return model.stream(request);
    };
    return { ...model, stream };
  }
  const settings = { reasoning: "high" } as const;
  const guide = agent({ name: "guide", model: "acme/first", instructions: "Look.", tools: [weather], settings });
  const resolveModel = async (id: string): Promise<Model> => {
    const model = models[id.slice("acme/".length)];
    return model === undefined ? Promise.reject(new Error(`there is no ${id}`)) : Promise.resolve(model);
  };
  await using runtime = await memoryRuntime([guide], { host: { resolveModel } });
  const session = await runtime.session({ agent: "guide" });
  const say = async (input: string, model?: string): Promise<void> => {
    const run = await session.send(input, model === undefined ? {} : { model });
    const { reason, error } = await run.result();
    expect([reason, error]).toEqual(["end-turn", undefined]);
  };
  await say("One");
  await session.update({ model: "acme/second" });
  await say("Two");
  await say("Three", "acme/first"); // for this input only
  await say("Four");
  await session.update({ model: "acme/first" });
  await say("Five");

  expect([first.violations, second.violations]).toEqual([[], []]);
  const facts = await runtime.store.read(session.id, { after: 0, limit: 1_000 });
  const started = facts.flatMap((fact) => (fact.type === "turn.started" ? [fact.model] : []));
  const [one, two] = [first.model.id, second.model.id];
  expect(started).toEqual([one, one, two, two, one, one, two, two, one, one]);
  const finished = facts.filter((fact) => fact.type === "turn.finished");
  expect(finished.every(({ model }) => model.length > 0)).toBe(true);
  const returned = [
    expectSeals(first, second, asked.at(-1)?.request.messages ?? []),
    expectSeals(second, first, asked.findLast(({ model }) => model === two)?.request.messages ?? []),
  ];
  const expected = [from, to].map(({ sealed }) => sealed);
  expect(returned.map((count) => count > 2)).toEqual(expected);
}

/** The last request holds the provider's own seals of all its turns before it, and nothing of the other's. How many it holds. */
function expectSeals(own: Played, other: Played, messages: readonly Message[]): number {
  const body = JSON.stringify(own.sent().at(-1));
  const sealed = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => ("seal" in part && part.seal !== undefined ? [part.seal] : [])),
  );
  const providers = new Set(sealed.map(({ provider }) => provider));
  const mine = prefixOf(own.model.id, providers);
  const theirs = prefixOf(other.model.id, providers);
  let returned = 0;
  for (const { provider, data } of sealed) {
    for (const secret of secretsOf(data)) {
      if (provider === theirs) expect(body).not.toContain(JSON.stringify(secret));
      if (provider !== mine) continue;
      expect(body).toContain(JSON.stringify(secret));
      returned++;
    }
  }
  return returned;
}

/** The name of the seals that a model with this id gives. */
function prefixOf(modelId: string, providers: ReadonlySet<string>): string | undefined {
  return [...providers].find((provider) => modelId === provider || modelId.startsWith(`${provider}/`));
}

/** Texts in a seal that only its provider can read: signatures and encrypted reasoning. */
function secretsOf(data: unknown): readonly string[] {
  if (typeof data === "string") return /^(sig[-_]|gAAAA|signed )/.test(data) ? [data] : [];
  return typeof data === "object" && data !== null ? Object.values(data).flatMap(secretsOf) : [];
}
