import {
  agent,
  isLive,
  jsonSchema,
  type Model,
  openRuntime,
  type Run,
  type Runtime,
  storeEngine,
  systemClock,
  systemIds,
  type Tool,
  tool,
} from "@capstan/core";
import { expectCacheStable } from "@capstan/core/testing";
import { sqliteStore } from "@capstan/engines/sqlite";
import { anthropicFrom } from "@capstan/models/anthropic";
import { chatPresetFrom } from "@capstan/models/openai-chat";
import {
  anthropicServer,
  billOf,
  billRatio,
  type CacheBlock,
  cacheBlocks,
  type CacheUse,
  chatCacheBlocks,
  openaiChatServer,
  type RecordedRequest,
  type ScriptedServer,
} from "@capstan/models/testing";
import { describe, expect, it } from "vitest";
import { join } from "node:path";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import type { Said } from "./harness/wire-formats.ts";

const SYSTEM = "You are a careful assistant that reads files before it speaks. ".repeat(100);
/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const anything = jsonSchema<{ readonly at: number }>({ type: "object", properties: { at: { type: "number" } } });

const look = tool({
  name: "look",
  description: "Reads a part of a file. ".repeat(20),
  input: anything,
  rerun: "safe",
  execute: ({ at }) => ({
    content: [
      { type: "text", text: `line ${at} `.repeat(40) },
      ...(at % 5 === 4
        ? [{ type: "file", mediaType: "image/png", data: { type: "base64", base64: PNG } } as const]
        : []),
    ],
  }),
});
const late = tool({ name: "late", description: "Came later.", input: anything, execute: () => "late" });

type Charged = RecordedRequest & { readonly cache?: CacheUse };
type Provider = {
  readonly name: string;
  readonly serve: (next: () => Said) => Promise<ScriptedServer<Charged>>;
  readonly modelAt: (url: string) => Model;
  readonly blocksOf: (body: RecordedRequest["body"]) => readonly CacheBlock[];
  /** Its tools may end in a marker, so that a tool that comes later leaves them in the cache. */
  readonly marksTools?: boolean;
};

const PROVIDERS: readonly Provider[] = [
  {
    name: "Anthropic",
    serve: (next) =>
      anthropicServer(() => {
        const { reasoning = "", text = "", calls = [] } = next();
        return {
          content: [
            { type: "thinking", thinking: reasoning },
            { type: "text", text },
            ...calls.map(({ name, input }) => ({ type: "tool_use", name, input }) as const),
          ],
        };
      }),
    modelAt: (url) => anthropicFrom({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }, "claude-opus-4-6"),
    blocksOf: cacheBlocks,
    marksTools: true,
  },
  {
    name: "OpenRouter's dialect",
    serve: (next) =>
      openaiChatServer(() => next(), { reasoning: "reasoning_details", cost: 0.001, cacheControl: true }),
    modelAt: (baseUrl) =>
      chatPresetFrom("openrouter", {}, "anthropic/claude-x", { apiKey: "or-key-1", baseUrl: `${baseUrl}/v1` }),
    blocksOf: chatCacheBlocks,
  },
];

type Shape = {
  readonly name: string;
  readonly sessions: number;
  /** Inputs to each session, each with so many turns of so many calls before its answer. */
  readonly inputs: number;
  readonly turns: number;
  readonly calls: number;
};
const SHAPES: readonly Shape[] = [
  { name: "20 tool turns", sessions: 1, inputs: 1, turns: 20, calls: 1 },
  { name: "five short conversations", sessions: 5, inputs: 2, turns: 0, calls: 0 },
  { name: "turns of 16 parallel calls", sessions: 1, inputs: 1, turns: 6, calls: 16 },
];

/** The conversations of a shape with one provider, each part of them by a runtime of its own over one file. */
class Bill {
  readonly #provider: Provider;
  readonly #shape: Shape;
  readonly #path = join(temporaryFolder(), "store.db");
  readonly #said: Said[] = [];
  #asked = 0;
  #server: ScriptedServer<Charged> | undefined;

  constructor(provider: Provider, shape: Shape) {
    this.#provider = provider;
    this.#shape = shape;
  }

  async open(): Promise<ScriptedServer<Charged>> {
    return (this.#server = await this.#provider.serve(() => this.#said.shift() ?? { text: "Nothing more." }));
  }

  /** Another process goes on with every conversation. What it told of the prefix. */
  async goOn(tools: readonly Tool[]): Promise<readonly string[]> {
    const notices: string[] = [];
    await using runtime = await this.#runtime(tools);
    const { sessions, inputs, turns, calls } = this.#shape;
    for (let index = 0; index < sessions; index++) {
      const session = await runtime.session({ agent: "reader", key: `session ${index}` });
      for (let input = 0; input < inputs; input++) {
        this.#said.push(...Array.from({ length: turns }, () => this.#turn(calls)), this.#turn(0));
        notices.push(...(await noticesOf(await session.send(`Hello, I am number ${index}, input ${input}.`))));
      }
    }
    return notices;
  }

  get requests(): readonly Charged[] {
    return this.#server?.requests ?? [];
  }

  get ratio(): number {
    return billRatio(this.requests, this.#provider.blocksOf);
  }

  /** What was paid over the ideal. */
  get surplus(): number {
    const { bill, ideal } = billOf(this.requests, this.#provider.blocksOf);
    return bill - ideal;
  }

  /** What it costs to write the tools of the first request once more, in place of reading them. */
  get toolsAgain(): number {
    const [first] = this.requests;
    const [tools] = first === undefined ? [] : this.#provider.blocksOf(first.body);
    return (tools?.tokens ?? Infinity) * (1.25 - 0.1);
  }

  #turn(calls: number): Said {
    const turn = this.#asked++;
    const made = Array.from({ length: calls }, (_, at) => ({ name: "look", input: { at: turn + at } }));
    return { reasoning: `Thought ${turn}.`, text: `Turn ${turn}: I look.`, calls: made };
  }

  async #runtime(tools: readonly Tool[]): Promise<Runtime> {
    const store = await sqliteStore({ path: this.#path, durability: "relaxed" });
    const engine = storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) });
    const model = this.#provider.modelAt(this.#server?.url ?? "");
    return openRuntime({ agents: [agent({ name: "reader", model, instructions: SYSTEM, tools })], engine });
  }
}

async function noticesOf(run: Run<unknown>): Promise<readonly string[]> {
  const notices: string[] = [];
  for await (const { event } of run.events())
    if (isLive(event) && event.type === "notice") notices.push(`${event.code}: ${event.title}`);
  expect((await run.result()).reason).toBe("end-turn");
  return notices;
}

for (const provider of PROVIDERS) {
  describe(`the input bill at default settings, ${provider.name}`, () => {
    for (const shape of SHAPES) {
      it(`COST-01 COST-02 COST-03 COST-04 COST-09 EDGE-07 is 1.00 times the ideal for ${shape.name}, also after a restart; a tool added late breaks the prefix once, by name`, async () => {
        const bill = new Bill(provider, shape);
        await using server = await bill.open();
        expect(await bill.goOn([look])).toEqual([]);
        expect(bill.ratio).toBeCloseTo(1, 6);
        expect(await bill.goOn([look])).toEqual([]); // a restart is no break
        expect(bill.ratio).toBeCloseTo(1, 6);
        if (shape.sessions === 1) expectCacheStable(bill.requests.map(({ body }) => body));

        const before = bill.requests.length;
        const told = await bill.goOn([look, late]);
        const cause = "prefix-changed: The cached prompt prefix is rebuilt: tools were added (late)";
        expect(told).toEqual(Array.from({ length: shape.sessions }, () => cause)); // once in each conversation
        const again = provider.marksTools === true ? 0 : bill.toolsAgain; // the tools before the new one, which no marker ended
        expect(bill.surplus).toBeCloseTo(again, 6);
        const [first, ...later] = bill.requests.slice(before).map(({ cache }) => cache);
        expect((first?.read ?? 0) > 0).toBe(provider.marksTools === true);
        expect(later.every((cache) => (cache?.read ?? 0) > 0)).toBe(true);
        expect(await bill.goOn([look, late])).toEqual([]);
        expect(bill.surplus).toBeCloseTo(again, 6); // once
        expect(bill.ratio).toBeLessThan(1.015);
        expect(server.violations).toEqual([]);
      });
    }
  });
}
