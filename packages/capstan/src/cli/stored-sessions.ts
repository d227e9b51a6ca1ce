/** Commands over what is stored: no model and no agent is needed. */

import { CapstanError, type Engine, type FactOf, openRuntime } from "@capstan/core";
import type { Runtime, SessionSummary, Store } from "@capstan/core";
import type { Config } from "../config.ts";
import { databasePath, providerSecrets } from "../open-runtime.ts";
import { EXIT } from "./failure.ts";
import { openEngine } from "./open-agent.ts";
import { type Screen, screen as newScreen } from "./screen.ts";

/** Opens the engine for `work`, which returns the exit code. */
export async function withEngine(
  config: Config | undefined,
  work: (engine: Engine, screen: Screen) => Promise<number>,
): Promise<number> {
  const screen = newScreen();
  const engine = await openEngine(config);
  try {
    const code = await work(engine, screen);
    await screen.flush();
    return code === EXIT.done && screen.failed ? EXIT.failed : code;
  } finally {
    await engine.close();
  }
}

/** The same with a runtime that drives nothing. */
export function withRuntime(
  config: Config | undefined,
  work: (opened: { readonly runtime: Runtime; readonly engine: Engine; readonly screen: Screen }) => Promise<number>,
): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const secrets = [...providerSecrets(process.env), ...(config?.secrets ?? [])];
    await using runtime = await openRuntime({ agents: [], engine, work: "none", secrets });
    return await work({ runtime, engine, screen });
  });
}

/** For what an engine does not tell and its store does. Undefined where the configuration brings an engine of its own. */
export async function withStore<T>(
  config: Config | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T | undefined> {
  if (config?.engine !== undefined) return undefined;
  const { sqliteStore } = await import("@capstan/engines/sqlite");
  const store = await sqliteStore({ path: databasePath(config?.dataFolder) });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Throws `session-not-found`. */
export async function knownSummary(engine: Engine, id: string): Promise<SessionSummary> {
  const summary = await engine.summary(id);
  if (summary !== undefined) return summary;
  throw new CapstanError(
    "session-not-found",
    `There is no session ${JSON.stringify(id)}; "sessions list" shows those there are`,
  );
}

/** How a session began. */
export async function createdFact(engine: Engine, id: string): Promise<FactOf<"session.created"> | undefined> {
  for await (const fact of engine.read(id, { types: ["session.created"] })) {
    if (fact.type === "session.created") return fact;
  }
  return undefined;
}

/** The model has asked something that is still open. */
export function hasQuestion({ openRequests }: SessionSummary): boolean {
  return openRequests.some(({ body }) => body.type === "question");
}
