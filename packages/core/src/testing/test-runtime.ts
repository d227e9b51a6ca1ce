/** A runtime for tests: memory engine, a clock that stands still, the same ids every time, nobody to ask. */

import type { Agent } from "../ports/agent.ts";
import { memoryStore, type MemoryStore } from "../store-engine/memory-store.ts";
import type { Model } from "../ports/model.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { fixedIds } from "./fixed-ids.ts";

export type TestRuntimeOptions = Partial<Omit<RuntimeOptions, "agents" | "engine" | "host">> & {
  readonly agents: readonly Agent<unknown>[];
  /** Models by agent name, usually scripted. */
  readonly models?: { readonly [agent: string]: Model };
};
/** `clock` moves only when told: retries, deadlines and expiry wait for `clock.advance(ms)`. */
export type TestRuntime = Runtime & { readonly clock: FakeClock; readonly store: MemoryStore };

export async function testRuntime(options: TestRuntimeOptions): Promise<TestRuntime> {
  const clock = fakeClock();
  const ids = fixedIds();
  const store = memoryStore();
  const engine = storeEngine(store, { clock, ids });
  const runtime = await openRuntime({
    ...options,
    permission: { mode: "never-ask", ...options.permission },
    engine,
    host: { clock, ids, resolveModel: unresolved },
  });
  return Object.assign(runtime, { clock, store });
}

function unresolved(name: string): Promise<Model> {
  return Promise.reject(
    new Error(`give testRuntime a model for the agent that names ${name}: models: { agentName: scriptedModel([...]) }`),
  );
}
