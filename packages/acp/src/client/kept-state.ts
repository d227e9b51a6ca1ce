/** What a client keeps between processes: read once, written one after the other, the newest state at last. */

import type { MessageStore } from "./message-store.ts";
import { readSessionFile, writeSessionFile } from "./session-file.ts";

export type KeptStateOptions = {
  /** Without it nothing is kept. */
  readonly path: string | undefined;
  readonly withMessages: boolean;
  readonly store: MessageStore;
};

export class KeptState {
  sessionId: string | undefined;
  readonly #options: KeptStateOptions;
  #isLoaded = false;
  #writing: Promise<void> | undefined;
  #written = "";

  constructor(options: KeptStateOptions) {
    this.#options = options;
  }

  async load(): Promise<void> {
    const { path, withMessages, store } = this.#options;
    if (this.#isLoaded) return;
    if (path !== undefined) {
      const { sessionId, messages = [] } = await readSessionFile(path);
      this.sessionId = sessionId;
      if (withMessages && store.all().length === 0 && messages.length > 0) store.replace(messages);
    }
    this.#isLoaded = true;
  }

  /** Resolves when what is known now is on the disk. Before it was read nothing is written. */
  async save(): Promise<void> {
    const { path } = this.#options;
    if (path === undefined || !this.#isLoaded) return;
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined);
    this.#writing = this.#save(path).finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #save(path: string): Promise<void> {
    const { withMessages, store } = this.#options;
    const { sessionId } = this;
    const kept = { ...(sessionId !== undefined && { sessionId }), ...(withMessages && { messages: store.all() }) };
    const text = JSON.stringify(kept);
    if (text === this.#written) return;
    await writeSessionFile(path, kept);
    this.#written = text;
  }
}
