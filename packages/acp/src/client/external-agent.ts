/** An agent elsewhere, whatever protocol it speaks: UI messages go in, chunks of them come out, and it owns its messages. */

import type { UiChunk, UiMessage } from "@capstan/wire/acp";

export type ChunkCallback = (chunk: UiChunk) => void;
/** A value that is `undefined` takes the name away. */
export type EnvironmentUpdate = { readonly [name: string]: string | undefined };
export type PromptEnd = {
  readonly stopReason: "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";
  /** What it answered. */
  readonly message: UiMessage;
};

export interface ExternalAgent extends AsyncDisposable {
  /** Makes ready for sessions. Throws `process-failed` and `timeout`. */
  connect(): Promise<void>;
  /** The session's id: of the one that was, else of a new one. */
  ensureSession(): Promise<string>;
  /** Lets go of everything. May be called twice; `connect` begins again. */
  disconnect(): Promise<void>;
  readonly isConnected: boolean;

  /** Gets every chunk of the answers to come; `null` ends that. */
  setUpdateCallback(callback: ChunkCallback | null): void;
  /** Resolves at the end of the answer. One at a time: throws `session-busy`; `process-failed` when the agent is lost. */
  prompt(message: UiMessage | string): Promise<PromptEnd>;
  /** The open prompt ends as `cancelled`. */
  cancel(): Promise<void>;

  /** Begins again with the changed environment, in the same session. */
  updateEnvironment(update: EnvironmentUpdate): Promise<void>;
  getEnvironment(): { [name: string]: string };

  getMessages(): UiMessage[];
  /** Throws `input-invalid` for an id that is there already. */
  addMessage(message: UiMessage): void;
  /** Throws `input-invalid` for an id that is not there. */
  updateMessage(id: string, updates: Partial<UiMessage>): void;
  getLastAssistantMessage(): UiMessage | undefined;
  clearMessages(): void;
  /** Forgets the messages and the session: the next prompt begins a new one. */
  clearSession(): Promise<void>;
}
