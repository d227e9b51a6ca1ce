import { expectCacheStable } from "@capstan/core/testing";
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
import { type BilledProvider, sit, type Sitting } from "./harness/bill-agent.ts";
import { runProgram } from "./harness/program.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import type { Said } from "./harness/wire-formats.ts";

type Charged = RecordedRequest & { readonly cache?: CacheUse };
type Provider = {
  readonly name: BilledProvider;
  readonly serve: (next: () => Said) => Promise<ScriptedServer<Charged>>;
  readonly blocksOf: (body: RecordedRequest["body"]) => readonly CacheBlock[];
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
    blocksOf: cacheBlocks,
  },
  {
    name: "OpenRouter's dialect",
    serve: (next) =>
      openaiChatServer(() => next(), {
        reasoning: "reasoning_details",
        cost: 0.001,
        cacheControl: true,
        toolMarkers: true,
      }),
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

/** The conversations of a shape with one provider, each sitting in whatever process over one file. */
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

  async here(tools: Sitting["tools"]): Promise<readonly string[]> {
    return sit(this.#next(tools));
  }

  /** In a process that has seen nothing of what came before but the file. */
  async elsewhere(tools: Sitting["tools"]): Promise<readonly string[]> {
    const { output, complaints } = await runProgram("bill-worker.ts", this.#next(tools));
    if (output === "") throw new Error(complaints);
    const { pid, notices } = JSON.parse(output) as { readonly pid: number; readonly notices: readonly string[] }; // bill-worker.ts wrote it
    expect(pid).not.toBe(process.pid);
    return notices;
  }

  get requests(): readonly Charged[] {
    return this.#server?.requests ?? [];
  }

  get ratio(): number {
    return billRatio(this.requests, this.#provider.blocksOf);
  }

  /** What was paid over the ideal, in tokens of input. */
  get surplus(): number {
    const { bill, ideal } = billOf(this.requests, this.#provider.blocksOf);
    return bill - ideal;
  }

  /** The next sitting, with what the model will say in it. */
  #next(tools: Sitting["tools"]): Sitting {
    const { sessions, inputs, turns, calls } = this.#shape;
    for (let input = 0; input < sessions * inputs; input++)
      this.#said.push(...Array.from({ length: turns }, () => this.#turn(calls)), this.#turn(0));
    const url = this.#server?.url ?? "";
    return { path: this.#path, provider: this.#provider.name, url, sessions, inputs, tools };
  }

  #turn(calls: number): Said {
    const turn = this.#asked++;
    const made = Array.from({ length: calls }, (_, at) => ({ name: "look", input: { at: turn + at } }));
    return { reasoning: `Thought ${turn}.`, text: `Turn ${turn}: I look.`, calls: made };
  }
}

for (const provider of PROVIDERS) {
  describe(`the input bill at default settings, ${provider.name}`, () => {
    for (const shape of SHAPES) {
      it(`COST-01 COST-02 COST-03 COST-04 COST-09 EDGE-07 is 1.00 times the ideal for ${shape.name}, also after a restart in another process; a tool added late breaks the prefix once, by name, and costs nothing more`, async () => {
        const bill = new Bill(provider, shape);
        await using server = await bill.open();
        expect(await bill.here(["look"])).toEqual([]);
        expect(bill.ratio).toBeCloseTo(1, 6);
        expect(await bill.elsewhere(["look"])).toEqual([]); // a restart is no break
        expect(bill.ratio).toBeCloseTo(1, 6);
        if (shape.sessions === 1) expectCacheStable(bill.requests.map(({ body }) => body));

        const before = bill.requests.length;
        const told = await bill.elsewhere(["look", "late"]);
        const cause = "prefix-changed: The cached prompt prefix is rebuilt: tools were added (late)";
        expect(told).toEqual(Array.from({ length: shape.sessions }, () => cause)); // once in each conversation
        const later = bill.requests.slice(before).map(({ cache }) => cache?.read ?? 0);
        expect(later.length).toBeGreaterThan(0);
        expect(later.every((read) => read > 0)).toBe(true); // the tools before the new one, from the first request on
        expect(bill.surplus).toBeCloseTo(0, 6);
        expect(await bill.here(["look", "late"])).toEqual([]);
        expect(bill.surplus).toBeCloseTo(0, 6);
        expect(server.violations).toEqual([]);
      });
    }
  });
}
