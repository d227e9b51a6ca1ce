/** What the model is saying right now: blocks of deltas, until the message that holds them is a fact. */

import type { Event } from "@capstan/core";
import type { Item } from "./item.ts";
import { newCall } from "./transcript.ts";

type Block = {
  readonly blockId: string;
  readonly messageId: string;
  readonly type: "text" | "reasoning" | "tool-input";
  readonly callId: string;
  readonly name: string;
  readonly seq: number;
  readonly at: number;
  text: string;
};

export class LiveBlocks {
  readonly #blocks = new Map<string, Block>();
  #items: readonly Item[] | undefined = [];

  /** Deltas say where they begin: one that came before changes nothing. */
  apply(event: Event): void {
    switch (event.type) {
      case "block.started": {
        const { blockId, messageId, block, seq, at } = event;
        if (this.#blocks.has(blockId)) return;
        const call = block.type === "tool-input" ? block : { callId: "", name: "" };
        const { callId, name } = call;
        this.#blocks.set(blockId, { blockId, messageId, type: block.type, callId, name, seq, at, text: "" });
        break;
      }
      case "text.delta":
      case "reasoning.delta":
      case "tool-input.delta": {
        const block = this.#blocks.get(event.blockId);
        if (block === undefined || event.offset > block.text.length) return;
        block.text = block.text.slice(0, event.offset) + event.delta;
        break;
      }
      case "message.added":
        for (const { blockId, messageId } of this.#blocks.values())
          if (messageId === event.message.id) this.#blocks.delete(blockId);
        break;
      case "turn.started":
      case "turn.reset":
      case "turn.finished":
      case "run.finished":
        this.#blocks.clear();
        break;
      default:
        return;
    }
    this.#items = undefined;
  }

  items(): readonly Item[] {
    this.#items ??= Array.from(this.#blocks.values()).flatMap((block): readonly Item[] => {
      const { blockId: id, seq, at, text, type } = block;
      if (type !== "tool-input") return text === "" ? [] : [{ kind: type, id, seq, at, text, live: true }];
      return [{ ...newCall(block.callId, block.name, text), id, seq, at, status: "writing" }];
    });
    return this.#items;
  }
}
