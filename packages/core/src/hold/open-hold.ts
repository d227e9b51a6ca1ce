/** Taking up a session: its log folded from the last snapshot that is of use, with the folds of its plugins. */

import type { Definitions } from "../ports/definitions.ts";
import type { Journal } from "../ports/journal.ts";
import type { Plugin } from "../ports/plugin.ts";
import { initialState, reduce, STATE_VERSION } from "../state/state.ts";
import { Folds } from "./folds.ts";
import { type Folded, Hold, type SnapshotData } from "./hold.ts";
import { pluginsOf } from "./plugins-of.ts";

export async function openHold(journal: Journal, definitions: Definitions): Promise<Hold> {
  const hold = new Hold(journal, definitions, await foldLog(journal, definitions));
  hold.tellFoldFailures();
  if (hold.state.run !== undefined) await hold.askForTools();
  return hold;
}

/** The snapshot when there is one, and the facts after it. A plugin that is new to the session folds the whole log once. */
async function foldLog(journal: Journal, definitions: Definitions): Promise<Folded> {
  const stored = await journal.snapshot();
  const snapshot = stored?.version === STATE_VERSION ? (stored.data as unknown as SnapshotData) : undefined; // written by snapshotIfDue
  let state = snapshot?.state;
  let folded = state === undefined ? undefined : definitions.find(state.agent);
  let plugins = folded === undefined ? [] : pluginsOf(definitions, folded, state?.parent);
  const folds = new Folds(snapshot?.folds);
  const fresh = plugins.filter((plugin) => plugin.fold !== undefined && !folds.has(plugin));
  folds.begin(fresh);
  // an unfinished run is read from its start: the journal must know its keys
  const start = state?.run === undefined ? state?.head : state.run.startedSeq - 1;
  const after = fresh.length > 0 ? 0 : (start ?? 0);
  for await (const fact of journal.read({ after })) {
    const known = state !== undefined && fact.seq <= state.head;
    if (state === undefined) {
      if (fact.type !== "session.created") throw new Error(`the first fact of ${journal.sessionId} is ${fact.type}`);
      state = initialState(fact);
      folded = definitions.find(state.agent);
      plugins = folded === undefined ? [] : pluginsOf(definitions, folded, state.parent);
      folds.begin(plugins);
    } else if (!known) state = reduce(state, fact);
    folds.add(known ? fresh : plugins, fact);
  }
  if (state === undefined) throw new Error(`session ${journal.sessionId} has no facts`);
  const agent = definitions.agent(state.agent);
  const snapshotSeq = snapshot === undefined ? 0 : (stored?.seq ?? 0);
  if (agent === folded) return { state, agent, plugins, folds, snapshotSeq };
  const others = pluginsOf(definitions, agent, state.parent); // it took over behind the snapshot
  return { state, agent, plugins: others, folds: await foldWhole(journal, others), snapshotSeq };
}

async function foldWhole(journal: Journal, plugins: readonly Plugin[]): Promise<Folds> {
  const folding = plugins.filter(({ fold }) => fold !== undefined);
  const folds = new Folds();
  folds.begin(folding);
  if (folding.length === 0) return folds;
  for await (const fact of journal.read({ after: 0 })) folds.add(folding, fact);
  return folds;
}
