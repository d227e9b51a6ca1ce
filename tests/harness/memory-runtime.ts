/** A runtime in this process on the memory store, with the real clock unless it is given another, and a model that refuses unsound histories. */

import {
  type Agent,
  CapstanError,
  type Fact,
  memoryStore,
  type Model,
  openRuntime,
  type Runtime,
  type RuntimeOptions,
  type Store,
  storeEngine,
  systemClock,
  systemIds,
} from "@capstan/core";
import { messageProblems } from "./history-checker.ts";

export async function memoryRuntime(
  agents: readonly Agent<unknown>[],
  more: Partial<RuntimeOptions> & { readonly store?: Store } = {},
): Promise<Runtime & { readonly store: Store }> {
  const { store = memoryStore(), ...options } = more;
  const { clock = systemClock, ids = systemIds(() => clock.now()) } = options.host ?? {};
  const engine = storeEngine(store, { clock, ids });
  const runtime = await openRuntime({ ...options, agents, engine });
  return Object.assign(runtime, { store });
}

export async function factsOf(store: Store, sessionId: string): Promise<readonly Fact[]> {
  return store.read(sessionId, { after: 0, limit: Number.MAX_SAFE_INTEGER });
}

/** The model, behind a provider that checks what it is sent as strictly as the strictest. */
export function strict(model: Model): Model {
  return {
    ...model,
    async *stream(request) {
      const [problem] = messageProblems(request.messages);
      if (problem !== undefined) throw new CapstanError("model-invalid-request", `unsound history: ${problem}`);
      yield* model.stream(request);
    },
  };
}
