/** Which text and thoughts of a conversation were shown: deltas may come twice, late or not at all, the message tells the rest. */

import type { Event, Part } from "@capstan/core";
import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";
import type { AcpSessionUpdate } from "./acp-wire.ts";

type Kind = "text" | "reasoning";
type Delta = Extract<Event, { type: "text.delta" | "reasoning.delta" | "tool-input.delta" }>;
type Block = { readonly messageId: string; readonly kind: Kind; known: number };
/** Of one message: characters shown of all its texts, and of all its thoughts. `gap`: some deltas were left out. */
type Shown = { text: number; reasoning: number; gap: boolean };

export class ShownText {
  readonly #blocks = new Map<string, Block>();
  readonly #messages = new Map<string, Shown>();
  /** Answers begun again: the same message under another name. */
  readonly #again = new Map<string, number>();

  start(blockId: string, messageId: string, kind: Kind): void {
    if (!this.#blocks.has(blockId)) this.#blocks.set(blockId, { messageId, kind, known: 0 });
  }

  delta({ blockId, offset, delta }: Delta): readonly AcpSessionUpdate[] {
    const block = this.#blocks.get(blockId);
    if (block === undefined) return [];
    const shown = this.#shownOf(block.messageId);
    shown.gap ||= offset > block.known; // the message brings what was left out, and what comes after it
    if (shown.gap) return [];
    const text = delta.slice(block.known - offset);
    if (text === "") return [];
    block.known += text.length;
    shown[block.kind] += text.length;
    return [this.#chunk(block.kind, block.messageId, text)];
  }

  /** What of a finished message was not shown yet. */
  rest(messageId: string, parts: readonly Part[]): readonly AcpSessionUpdate[] {
    const shown = this.#shownOf(messageId);
    const updates = (["reasoning", "text"] as const).flatMap((kind) => {
      const whole = parts.flatMap((part) => (part.type === kind ? [part.text] : [])).join("");
      const rest = whole.slice(shown[kind]);
      shown[kind] = Math.max(shown[kind], whole.length);
      return rest === "" ? [] : [this.#chunk(kind, messageId, rest)];
    });
    for (const [id, block] of this.#blocks) if (block.messageId === messageId) this.#blocks.delete(id);
    return updates;
  }

  /** The unfinished answer is void. Says whether any of its text was shown. */
  reset(): boolean {
    let any = false;
    for (const messageId of new Set(Array.from(this.#blocks.values(), (block) => block.messageId))) {
      any ||= (this.#messages.get(messageId)?.text ?? 0) > 0;
      this.#messages.delete(messageId);
      this.#again.set(messageId, (this.#again.get(messageId) ?? 0) + 1);
    }
    this.#blocks.clear();
    return any;
  }

  forget(): void {
    this.#blocks.clear();
    this.#messages.clear();
    this.#again.clear();
  }

  #shownOf(messageId: string): Shown {
    const known = this.#messages.get(messageId);
    if (known !== undefined) return known;
    const [oldest] = this.#messages.keys();
    if (oldest !== undefined && this.#messages.size >= LIMITS.remembered) this.#messages.delete(oldest);
    const made = { text: 0, reasoning: 0, gap: false };
    this.#messages.set(messageId, made);
    return made;
  }

  #chunk(kind: Kind, messageId: string, text: string): AcpSessionUpdate {
    const times = this.#again.get(messageId) ?? 0;
    const name = times === 0 ? messageId : `${messageId}#${times + 1}`;
    const sessionUpdate = kind === "text" ? ("agent_message_chunk" as const) : ("agent_thought_chunk" as const);
    return { sessionUpdate, content: { type: "text", text }, messageId: name };
  }
}
