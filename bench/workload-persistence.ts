/** What the local engine adds to a turn: the same conversation on it and on the memory engine, in turns, in one process. */

import { capstan, type CapstanOptions, DEFAULTS } from "./capstan.ts";
import type { Subject } from "./subject.ts";
import { turnMeter } from "./turn-meter.ts";
import { type Numbers, setting, type World } from "./world.ts";

const ENGINES = ["memory", "full"] as const;

/** Medians over pairs of conversations: what slows the machine down slows both of a pair down. */
export async function persistence(world: World): Promise<Numbers> {
  const rerun = world.settings["rerun"] === "never" ? "never" : "safe";
  const meter = turnMeter(setting(world, "turns"), setting(world, "skip"));
  const job = { script: `tools/${setting(world, "turns")}/1`, look: meter.look, history: setting(world, "history") };
  const subjects = new Map<CapstanOptions["engine"], Subject>();
  for (const engine of ENGINES) {
    subjects.set(engine, await capstan(world.url, world.folder, { ...DEFAULTS, engine, rerun }, job));
  }
  const pairs: { memory: number; full: number }[] = [];
  for (let pair = 0; pair < setting(world, "warm") + setting(world, "pairs"); pair++) {
    const costs = { memory: 0, full: 0 };
    for (const engine of pair % 2 === 0 ? ENGINES : ENGINES.toReversed()) {
      await subjects.get(engine)?.converse(() => undefined);
      costs[engine] = meter.perTurn();
    }
    pairs.push(costs);
  }
  for (const subject of subjects.values()) await subject.close();
  const measured = pairs.slice(setting(world, "warm"));
  const median = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return {
    memory: median(measured.map(({ memory }) => memory)),
    full: median(measured.map(({ full }) => full)),
    added: median(measured.map(({ memory, full }) => full - memory)),
    units: measured.length,
  };
}
