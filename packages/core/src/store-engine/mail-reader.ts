/** The mailbox of a session as its hold reads it: each entry once, the oldest first. */

import type { MailboxEntry } from "../words/op.ts";

type MailSource = {
  /** All that waits in the store. */
  readonly load: () => Promise<readonly MailboxEntry[]>;
  /** The end of the hold. */
  readonly signal: AbortSignal;
};

export class MailReader {
  readonly #source: MailSource;
  #mail: MailboxEntry[];
  #lastPosition = 0;
  #mayWait = false;
  #arrived: (() => void) | undefined;

  /** `unread`: what waited when the hold began. */
  constructor(source: MailSource, unread: readonly MailboxEntry[]) {
    this.#source = source;
    this.#mail = [...unread];
  }

  async next(): Promise<MailboxEntry> {
    for (;;) {
      const entry = await this.poll();
      if (entry !== undefined) return entry;
      if (!this.#mayWait) await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  async poll(): Promise<MailboxEntry | undefined> {
    const { load, signal } = this.#source;
    signal.throwIfAborted();
    if (this.#mail.length === 0 && this.#mayWait) {
      this.#mayWait = false;
      const waiting = await load();
      signal.throwIfAborted();
      this.#mail = waiting.filter(({ position }) => position > this.#lastPosition);
    }
    const entry = this.#mail.shift();
    if (entry !== undefined) this.#lastPosition = entry.position;
    return entry;
  }

  /** There may be more. */
  arrived(): void {
    this.#mayWait = true;
    this.wake();
  }

  /** Whoever waits looks again: for mail, and whether the hold is over. */
  wake(): void {
    const arrived = this.#arrived;
    this.#arrived = undefined;
    arrived?.();
  }
}
