/** `capstan sessions`: lists, shows, forks, exports and deletes. Works on what is stored; no model and no agent is needed. */

import { CapstanError, type Engine, type Fact, type SessionSummary, type Store } from "@capstan/core";
import type { Config } from "../config.ts";
import { EXIT, failureLine } from "./failure.ts";
import { inertLine } from "./inert.ts";
import type { Screen } from "./screen.ts";
import { shownTime } from "./shown-values.ts";
import { knownSummary, withEngine, withRuntime, withStore } from "./stored-sessions.ts";
import { tableLines } from "./table-lines.ts";
import { transcriptLines } from "./transcript-lines.ts";

export function listSessions(
  name: string,
  config: Config | undefined,
  { json = false, limit }: { readonly json?: boolean; readonly limit: number },
): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const sessions = await engine.list({ limit });
    if (json) for (const session of sessions) screen.data(JSON.stringify(session));
    else if (sessions.length === 0) screen.note(`There are no sessions yet; "${name} run" begins one`);
    else {
      const shown = sessions.map((session) => [session, shownStatus(session, config)] as const);
      for (const line of table(shown)) screen.data(line);
      if (shown.some(([, status]) => status === STOPPED))
        screen.note(`${STOPPED}: unfinished, and no process drives it; "${name} resume SESSION" goes on with it`);
    }
    return EXIT.done;
  });
}

export function showSession(name: string, config: Config | undefined, id: string): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const summary = await knownSummary(engine, id);
    const shown = transcriptLines(summary);
    for (const line of shown.head()) screen.data(line);
    const whole = await readWhole({ name, config, engine, summary, screen }, (fact) => {
      for (const line of shown.lines(fact)) screen.data(line);
    });
    if (summary.status === "waiting" || summary.status === "running" || summary.status === "parked") {
      screen.note(`  unfinished; "${name} resume ${id}" goes on with it`);
    }
    return whole ? EXIT.done : EXIT.failed;
  });
}

export function exportSession(name: string, config: Config | undefined, id: string): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const summary = await knownSummary(engine, id);
    const whole = await readWhole({ name, config, engine, summary, screen }, (fact) =>
      screen.data(JSON.stringify(fact)),
    );
    return whole ? EXIT.done : EXIT.failed;
  });
}

export function deleteSession(config: Config | undefined, id: string): Promise<number> {
  return withRuntime(config, async ({ runtime, engine, screen }) => {
    await knownSummary(engine, id);
    const session = await runtime.session(id);
    await session.remove();
    screen.note(`Deleted ${id}`);
    return EXIT.done;
  });
}

/** Writes the id of the new session. */
export function forkSession(config: Config | undefined, id: string, { at }: { readonly at?: number }): Promise<number> {
  return withRuntime(config, async ({ runtime, engine, screen }) => {
    await knownSummary(engine, id);
    const session = await runtime.session(id);
    const fork = await session.fork({ ...(at !== undefined && { at }) });
    screen.data(fork.id);
    return EXIT.done;
  });
}

type Reading = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly engine: Engine;
  readonly summary: SessionSummary;
  readonly screen: Screen;
};

/** Hands on every fact that can be read. Says so and returns false when the log is damaged, also when only its end is missing. */
async function readWhole(
  { name, config, engine, summary, screen }: Reading,
  take: (fact: Fact) => void,
): Promise<boolean> {
  const { sessionId: id, status } = summary;
  let count = 0;
  try {
    for await (const fact of engine.read(id)) {
      if (!screen.open) return true;
      take(fact);
      count++;
    }
    if (status !== "quarantined") return true;
    const left = `Session ${id} is damaged; what can be read of it are these ${count} facts`;
    screen.note(failureLine(name, new CapstanError("session-damaged", left)));
    return false;
  } catch (error) {
    if (!CapstanError.is(error, "session-damaged")) throw error;
    count += (await withStore(config, (store) => readSingly(store, id, count, take))) ?? 0;
    screen.note(failureLine(name, new CapstanError("session-damaged", `After ${count} whole facts: ${error.message}`)));
    return false;
  }
}

/** An engine reads whole pages; what is whole before the damage in a page is read fact by fact. */
async function readSingly(store: Store, id: string, after: number, take: (fact: Fact) => void): Promise<number> {
  let count = 0;
  try {
    for (;;) {
      const [fact] = await store.read(id, { after: after + count, limit: 1 });
      if (fact === undefined) return count;
      take(fact);
      count++;
    }
  } catch (error) {
    if (CapstanError.is(error, "session-damaged")) return count;
    throw error;
  }
}

const STOPPED = "stopped";

/** The log of a run whose process was killed says "running" for ever. An engine of the configuration may not tell who drives what. */
function shownStatus({ status, held }: SessionSummary, config: Config | undefined): string {
  return status === "running" && held !== true && config?.engine === undefined ? STOPPED : status;
}

function table(sessions: readonly (readonly [SessionSummary, string])[]): readonly string[] {
  const rows = sessions.map(([{ sessionId, agent, updatedAt, title, key, openRequests }, status]) => [
    sessionId,
    openRequests.length > 0 ? `${status} (${openRequests.length})` : status,
    inertLine(agent, 20),
    shownTime(updatedAt),
    inertLine(title ?? key ?? "", 60),
  ]);
  return tableLines([["SESSION", "STATUS", "AGENT", "LAST CHANGE", "ABOUT"], ...rows]);
}
