/** Signs of life: the one that this process gives while it holds something, and those of others as they were last seen. */

import type { OwnerState, Store } from "../ports/store.ts";
import type { Clock } from "../words/clock.ts";
import { LIMITS } from "../words/limits.ts";

export class SignOfLife {
  readonly owner: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #sightings = new Map<string, { readonly beat: number; readonly since: number }>();
  #registered: Promise<void> | undefined;
  #beating = false;
  #cancel: () => void = () => undefined;

  constructor(store: Store, clock: Clock, owner: string) {
    this.#store = store;
    this.#clock = clock;
    this.owner = owner;
  }

  /** Makes this process known to the store, once. */
  register(): Promise<void> {
    this.#registered ??= this.#store.register(this.owner).catch((error: unknown) => {
      this.#registered = undefined; // tried again with the next session
      throw error;
    });
    return this.#registered;
  }

  /** One sign, now: others count from the last one, which may be old. */
  async show(): Promise<void> {
    await this.#store.beat(this.owner);
  }

  /** Shows one every `LIMITS.beatMs` for as long as `needed`. */
  keepUp(needed: () => boolean): void {
    if (this.#beating) return;
    this.#beating = true;
    const fire = (): void => {
      this.#beating = false;
      if (!needed()) return;
      this.show().catch(() => undefined); // a missed beat costs at most the hold
      this.keepUp(needed);
    };
    this.#cancel = this.#clock.after(LIMITS.beatMs, fire, { background: true });
  }

  /** Whether the owner is dead, or its sign stood still for too long by our clock. `undefined`: the store knows no such owner. */
  isGone(state: OwnerState | undefined): boolean {
    if (state === undefined || state.alive === false) return true;
    const { owner, beat } = state;
    const now = this.#clock.monotonic();
    const seen = this.#sightings.get(owner);
    if (seen?.beat === beat) return now - seen.since >= LIMITS.takeoverMs;
    this.#sightings.set(owner, { beat, since: now });
    return false;
  }

  cancel(): void {
    this.#cancel();
  }
}
