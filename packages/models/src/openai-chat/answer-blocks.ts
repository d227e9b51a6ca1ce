/** The blocks of an answer as events. A chat completion does not say where a block ends: the next one or the end does. */

import type { Json, Part, Seal } from "@capstan/core";
import type { EventBatch } from "../provider/event-batch.ts";
import { type JsonObject, parsedInput } from "../provider/json.ts";
import { type OpenCall, takeCallDelta } from "./open-calls.ts";
import { addDetails } from "./reasoning-details.ts";

export type BlockOptions = {
  /** Of the seals. */
  readonly provider: string;
  /** Reasoning goes back to this model only. */
  readonly modelId: string;
  /** Reasoning goes back at all. */
  readonly sealed: boolean;
  readonly out: EventBatch;
};

type TextBlock = { readonly index: number; readonly type: "text" | "reasoning"; text: string };

export class AnswerBlocks {
  readonly #options: BlockOptions;
  readonly #out: EventBatch;
  #blocks = 0;
  #current: TextBlock | undefined;
  #details: JsonObject[] = [];
  readonly #calls: OpenCall[] = [];

  constructor(options: BlockOptions) {
    this.#options = options;
    this.#out = options.out;
  }

  get calls(): number {
    return this.#calls.length;
  }

  /** A call has come whose name has not. */
  get nameless(): boolean {
    return this.#calls.some((call) => call.block === undefined);
  }

  addText(type: TextBlock["type"], delta: string): void {
    if (delta === "") return;
    let block = this.#current;
    if (block?.type !== type) {
      this.#endText();
      block = { index: this.#blocks++, type, text: "" };
      this.#current = block;
      this.#out.push({ type: "block-start", index: block.index, block: { type } });
    }
    block.text += delta;
    this.#out.delta(block.index, delta);
  }

  /** Reasoning that goes back; its text is added by `addText`. */
  addDetails(deltas: readonly Json[]): void {
    addDetails(this.#details, deltas);
  }

  addCall(delta: Json): void {
    this.#endText();
    const call = takeCallDelta(this.#calls, delta);
    if (call.name === "") return;
    if (call.block === undefined) {
      call.block = this.#blocks++;
      const block = { type: "tool-input", name: call.name, ...sealed(this.#callSeal(call)) } as const;
      this.#out.push({ type: "block-start", index: call.block, block });
    }
    if (call.unseen !== "") this.#out.delta(call.block, call.unseen);
    call.unseen = "";
  }

  /** Ends everything; calls without a name are left out. */
  end(): void {
    this.#endText();
    if (this.#details.length > 0) {
      const index = this.#blocks++;
      this.#out.push({ type: "block-start", index, block: { type: "reasoning" } });
      this.#out.end(index, this.#reasoning(""));
    }
    for (const call of this.#calls) {
      if (call.block === undefined) continue;
      const input = parsedInput(call.text);
      const named = { callId: call.id, name: call.name, input, by: "capstan" } as const;
      this.#out.end(call.block, { type: "tool-call", ...named, ...sealed(this.#callSeal(call)) });
    }
  }

  #endText(): void {
    const block = this.#current;
    if (block === undefined) return;
    this.#current = undefined;
    const part: Part = block.type === "text" ? { type: "text", text: block.text } : this.#reasoning(block.text);
    this.#out.end(block.index, part);
  }

  #reasoning(text: string): Part {
    if (!this.#options.sealed) return { type: "reasoning", text };
    const details = this.#details;
    this.#details = [];
    const data = { model: this.#options.modelId, ...(details.length > 0 && { details }) };
    return { type: "reasoning", text, seal: { provider: this.#options.provider, data } };
  }

  #callSeal({ id, extra }: OpenCall): Seal | undefined {
    const data = { ...(id !== "" && { id }), ...(Object.keys(extra).length > 0 && { extra }) };
    return Object.keys(data).length === 0 ? undefined : { provider: this.#options.provider, data };
  }
}

function sealed(seal: Seal | undefined): { readonly seal?: Seal } {
  return seal === undefined ? {} : { seal };
}
