/** The messages of one session of another agent, owned by its client: in memory, and in a file where that is wanted. */

import type { UiMessage } from "@capstan/wire/acp";
import { CapstanError } from "@capstan/core";
import { ACP_LIMITS as LIMITS } from "../limits.ts";

export class MessageStore {
  #messages: UiMessage[] = [];
  readonly #changed: () => void;

  /** `changed` is called after every change. */
  constructor(changed: () => void = () => undefined) {
    this.#changed = changed;
  }

  /** Oldest first. A copy of the list; the messages are the store's own until they are updated. */
  all(): UiMessage[] {
    return [...this.#messages];
  }

  find(id: string): UiMessage | undefined {
    return this.#messages.find((message) => message.id === id);
  }

  lastAssistant(): UiMessage | undefined {
    return this.#messages.findLast(({ role }) => role === "assistant");
  }

  /** Throws `input-invalid` for an id that is there already. The oldest go when there are too many. */
  add(message: UiMessage): void {
    if (this.find(message.id) !== undefined)
      throw new CapstanError("input-invalid", `There is a message ${JSON.stringify(message.id)} already; update it`);
    this.#messages.push(message);
    if (this.#messages.length > LIMITS.messages) this.#messages.splice(0, this.#messages.length - LIMITS.messages);
    this.#changed();
  }

  /** Its id stays. Throws `input-invalid` for an id that is not there. */
  update(id: string, { id: _id, ...updates }: Partial<UiMessage>): void {
    const index = this.#messages.findIndex((message) => message.id === id);
    const known = this.#messages[index];
    if (known === undefined) throw new CapstanError("input-invalid", `There is no message ${JSON.stringify(id)}`);
    this.#messages[index] = { ...known, ...updates };
    this.#changed();
  }

  replace(messages: readonly UiMessage[]): void {
    this.#messages = messages.slice(-LIMITS.messages);
    this.#changed();
  }
}
