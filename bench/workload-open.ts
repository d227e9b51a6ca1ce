/** Opening a session whose log is long or short, in a database that was made once. */

import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULTS, historyMessages, read, runtimeFor } from "./capstan.ts";
import { INPUT, lookAt } from "./subject.ts";
import { type Numbers, setting, type World } from "./world.ts";

const TURNS = 12;
/** Facts of the run that follows the imported messages. */
const RUN_FACTS = 4 + TURNS * 5 + 3;

/** Makes in `settings.into` a database with one session of `events` facts; the last ones are those of a real run. */
export async function prepareSession(world: World): Promise<Numbers> {
  const into = String(world.settings["into"]);
  const events = setting(world, "events");
  const runtime = await runtimeFor(world.url, into, DEFAULTS, { script: `tools/${TURNS}/1`, look: lookAt });
  const messages = historyMessages(Math.max(2, events - RUN_FACTS));
  const session = await runtime.session({ agent: "reader", messages });
  await read(await session.send(INPUT), () => undefined);
  const { head } = await session.state();
  await runtime.close();
  await writeFile(join(into, "session"), session.id);
  return { head };
}

/**
 * Opens it again and again in a runtime of its own: until the state is read, an input is accepted and its run has begun.
 * The code is warmed up on the same session whatever is measured, so that only the length of the log differs.
 */
export async function openSession(world: World): Promise<Numbers> {
  const warm = await copyOf(world, "warmFrom");
  const measured = await copyOf(world, "from");
  for (let round = 0; round < setting(world, "warm"); round++) await openOnce(world, warm);
  const samples: Numbers[] = [];
  for (let round = 0; round < setting(world, "rounds"); round++) {
    globalThis.gc?.();
    samples.push(await openOnce(world, measured));
  }
  return median(samples);
}

type Made = { readonly folder: string; readonly sessionId: string };

async function copyOf(world: World, name: string): Promise<Made> {
  const from = String(world.settings[name]);
  const folder = join(world.folder, name);
  await cp(from, folder, { recursive: true });
  return { folder, sessionId: await readFile(join(from, "session"), "utf8") };
}

async function openOnce({ url }: World, { folder, sessionId }: Made): Promise<Numbers> {
  const startedAt = performance.now();
  const runtime = await runtimeFor(url, folder, DEFAULTS, { script: "text/2/4096", look: lookAt });
  const opened = performance.now();
  const session = await runtime.session(sessionId);
  const { head } = await session.state();
  const state = performance.now();
  const run = await session.send(INPUT);
  const accepted = performance.now();
  let claimed = 0;
  let first = 0;
  for await (const { event } of run.events()) {
    if (event.type === "run.started") claimed = performance.now();
    else if (event.type === "text.delta") first ||= performance.now();
  }
  await runtime.close();
  return {
    runtime: opened - startedAt,
    state: state - opened,
    accepted: accepted - state,
    claimed: claimed - accepted,
    open: claimed - opened,
    first: first - opened,
    head,
  };
}

function median(samples: readonly Numbers[]): Numbers {
  const names = Object.keys(samples[0] ?? {});
  const middle = (name: string): number => {
    const sorted = samples.map((sample) => sample[name] ?? Number.NaN).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  };
  return Object.fromEntries(names.map((name) => [name, middle(name)]));
}
