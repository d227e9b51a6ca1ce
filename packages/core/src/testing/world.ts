/** One memory store that outlives its processes: each `open` stands for one, on the same clock that a test moves. */

import type { Fact } from "../words/event.ts";
import type { Ids } from "../words/ids.ts";
import { type MemoryStore, memoryStore } from "../store-engine/memory-store.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { fixedIds } from "./fixed-ids.ts";
import { logOf, soon } from "./waiting.ts";

export class World {
  readonly store: MemoryStore = memoryStore();
  readonly ids: Ids = fixedIds();
  readonly clock: FakeClock;
  #skew = 0;
  readonly #opened: Runtime[] = [];

  constructor() {
    const clock = fakeClock();
    this.clock = {
      ...clock,
      now: () => clock.now() + this.#skew,
      get pending() {
        return clock.pending;
      },
    };
  }

  /** Moves the wall clock only, as if the machine had slept. */
  jump(ms: number): void {
    this.#skew += ms;
  }

  async open(
    options: Partial<RuntimeOptions> & Pick<RuntimeOptions, "agents">,
    store: Store = this.store,
  ): Promise<Runtime> {
    const runtime = await openRuntime({
      ...options,
      engine: storeEngine(store, { clock: this.clock, ids: this.ids }),
      host: { clock: this.clock, ids: this.ids },
    });
    this.#opened.push(runtime);
    return runtime;
  }

  /** Ends every process without goodbye. */
  async kill(): Promise<void> {
    for (const { owner } of await this.store.owners()) this.store.kill(owner);
  }

  async owner(): Promise<string> {
    return (await this.store.owners())[0]?.owner ?? "";
  }

  log(sessionId = "ses_1"): Promise<readonly Fact[]> {
    return logOf(this.store, sessionId);
  }

  /** Without arguments all that were opened. */
  async close(...some: readonly Runtime[]): Promise<void> {
    for (const runtime of some.length > 0 ? some : this.#opened) {
      const closed = runtime.close({ graceMs: 0 });
      await this.clock.advance(600);
      await soon(closed);
    }
  }
}
