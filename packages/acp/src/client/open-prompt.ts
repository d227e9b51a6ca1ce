/** One prompt that another agent is answering: its updates become chunks and the message of the assistant. */

import {
  ACP_WIRE_LIMITS,
  acpChunks,
  type AcpChunks,
  type AcpSessionUpdate,
  type AcpStopReason,
  type AcpToolCallUpdate,
  applyUiChunk,
  type UiChunk,
  type UiMessage,
} from "@capstan/wire/acp";
import type { PromptEnd } from "./external-agent.ts";

export class OpenPrompt {
  readonly message: UiMessage;
  /** Aborts when it was cancelled, or has ended. */
  readonly over: AbortController = new AbortController();
  readonly #chunks: AcpChunks;
  readonly #show: (chunk: UiChunk) => void;
  readonly #changed: (message: UiMessage) => void;
  readonly #end = Promise.withResolvers<void>();
  readonly #calls = new Map<string, AcpToolCallUpdate>();
  #asked = 0;

  /** `show` gets every chunk, `changed` the message after each. */
  constructor(id: string, show: (chunk: UiChunk) => void, changed: (message: UiMessage) => void) {
    this.message = { id, role: "assistant", parts: [] };
    this.#show = show;
    this.#changed = changed;
    this.#chunks = acpChunks(id);
    this.#emit([{ type: "start", messageId: id }]);
  }

  update(update: AcpSessionUpdate): void {
    if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") this.#known(update);
    this.#emit(this.#chunks.push(update));
  }

  /** A call as it stands: what is said of it now, and what was said before. */
  #known({ toolCallId, title, kind, locations }: AcpToolCallUpdate): AcpToolCallUpdate {
    const before = this.#calls.get(toolCallId);
    const known = {
      toolCallId,
      title: title ?? before?.title,
      kind: kind ?? before?.kind,
      locations: locations ?? before?.locations,
    };
    const call = Object.fromEntries(Object.entries(known).filter(([, value]) => value != null)) as AcpToolCallUpdate; // members that are there
    if (before !== undefined || this.#calls.size < ACP_WIRE_LIMITS.remembered) this.#calls.set(toolCallId, call);
    return call;
  }

  /** The whole call that a question is about. */
  whole(toolCall: AcpToolCallUpdate): AcpToolCallUpdate {
    return { ...toolCall, ...this.#known(toolCall) };
  }

  /** A question about a call; what it returns shows the answer. */
  asked(toolCall: AcpToolCallUpdate): (allowed: boolean, reason: string) => void {
    this.#asked += 1;
    const approvalId = `${this.message.id}/approval/${this.#asked}`;
    this.#emit(this.#chunks.asked(approvalId, toolCall));
    return (allowed, reason) => this.#emit(this.#chunks.answered(approvalId, allowed, reason));
  }

  /** Resolves at its end, whatever that is. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  end(stopReason: AcpStopReason): PromptEnd {
    this.#emit(this.#chunks.end(stopReason));
    this.#over();
    return { stopReason, message: structuredClone(this.message) };
  }

  failed(message: string): void {
    this.#emit(this.#chunks.failed(message));
    this.#over();
  }

  #over(): void {
    this.over.abort();
    this.#end.resolve();
  }

  #emit(chunks: readonly UiChunk[]): void {
    for (const chunk of chunks) applyUiChunk(this.message, chunk);
    if (chunks.length > 0) this.#changed(this.message);
    for (const chunk of chunks) this.#show(chunk);
  }
}
