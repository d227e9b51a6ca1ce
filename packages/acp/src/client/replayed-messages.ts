/** The history that an agent shows again while it loads a session, as UI messages. */

import {
  acpChunks,
  type AcpChunks,
  type AcpContentBlock,
  type AcpSessionUpdate,
  applyUiChunk,
  type UiMessage,
  uiPartOf,
} from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";

export class ReplayedMessages {
  readonly #newId: () => string;
  readonly #messages: UiMessage[] = [];
  #chunks: AcpChunks | undefined;
  /** Of the message of a person that is being shown. */
  #said: string | undefined;

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  push(update: AcpSessionUpdate): void {
    if (update.sessionUpdate === "user_message_chunk")
      return this.#person(update.content, update.messageId ?? undefined);
    const chunks = (this.#chunks ??= this.#answer());
    const message = this.#messages.at(-1);
    if (message !== undefined) for (const chunk of chunks.push(update)) applyUiChunk(message, chunk);
  }

  /** Oldest first. Nothing may be pushed behind it. */
  end(): readonly UiMessage[] {
    this.#endAnswer();
    return this.#messages.filter(({ parts }) => parts.length > 0);
  }

  #person(content: AcpContentBlock, messageId: string | undefined): void {
    this.#endAnswer();
    const last = this.#messages.at(-1);
    const same = last?.role === "user" && messageId === this.#said;
    const message: UiMessage = same ? last : { id: this.#newId(), role: "user", parts: [] };
    if (!same) this.#add(message);
    this.#said = messageId;
    const part = uiPartOf(content, `${message.id}/${message.parts.length}`);
    const open = message.parts.at(-1);
    if (part?.type === "text" && open?.type === "text") (open as { text: string }).text += part.text; // a text, as its type says
    else if (part !== undefined) message.parts.push(part);
  }

  #answer(): AcpChunks {
    const message: UiMessage = { id: this.#newId(), role: "assistant", parts: [] };
    this.#add(message);
    return acpChunks(message.id);
  }

  #endAnswer(): void {
    const message = this.#messages.at(-1);
    if (this.#chunks === undefined || message === undefined) return;
    for (const chunk of this.#chunks.end("end_turn")) applyUiChunk(message, chunk);
    this.#chunks = undefined;
  }

  #add(message: UiMessage): void {
    this.#messages.push(message);
    if (this.#messages.length > LIMITS.messages) this.#messages.shift();
  }
}
