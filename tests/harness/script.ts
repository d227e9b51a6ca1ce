/** What a user's script looks like: one agent, one input under a key, its text. Run again, it goes on where it was killed. */

import { type Answer, type OpenRequest, openRuntime, storeEngine, systemClock, systemIds } from "@capstan/core";
import { sqliteStore } from "@capstan/engines/sqlite";
import { die, failingStore, type FailPoint } from "./fail-point.ts";
import { outside } from "./outside.ts";
import { random } from "./random.ts";
import { planText, scene, type ToolName } from "./scene.ts";

export type ScriptOptions = {
  readonly folder: string;
  readonly turns: readonly (readonly ToolName[])[];
  readonly failAt?: FailPoint;
  readonly diesAfterEffect?: boolean;
  /** Ends before it sends: only loads the code. */
  readonly idle?: boolean;
};

const {
  folder,
  turns,
  failAt,
  diesAfterEffect = false,
  idle = false,
} = JSON.parse(process.argv[2] ?? "") as ScriptOptions; // written by the test
const world = outside(folder, () => systemClock.now());
const agent = scene({ outside: world, random: random(1), paceMs: 0, ...(diesAfterEffect && { struck: die }) });
const store = await sqliteStore({ path: `${folder}/store.db` });
const engine = storeEngine(failingStore(store, failAt), {
  clock: systemClock,
  ids: systemIds(() => systemClock.now()),
});
await using runtime = await openRuntime({ agents: [agent], engine, onRequest: answer });
if (!idle) {
  const run = await runtime.send(agent, planText({ plan: "job", turns }), { key: "job", idempotencyKey: "once" });
  process.stdout.write(await run.text());
}

/** Says yes; about a doubt it says what the ledger says. */
async function answer({ body }: OpenRequest): Promise<Answer> {
  if (body.type !== "doubt") return { type: "permission", allow: true };
  const id = body.tool.startsWith("call/") ? body.tool : body.callId;
  const happened = world.lines().some((line) => line.id === id && line.what === "effect");
  return { type: "doubt", outcome: happened ? "it-happened" : "run-again" };
}
