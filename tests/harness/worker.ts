/** A process of the kill harness: a runtime on the local store that works until it is killed, frozen or told to end. */

import { createInterface } from "node:readline";
import { openRuntime, type Runtime, type Store, storeEngine, systemClock, systemIds, toProblem } from "@capstan/core";
import { die, failingStore, type FailPoint } from "./fail-point.ts";
import { openStore } from "./open-store.ts";
import { outside } from "./outside.ts";
import { random } from "./random.ts";
import { AGENT, scene } from "./scene.ts";

export type WorkerOptions = {
  readonly folder: string;
  readonly durability: "full" | "relaxed";
  readonly seed: number;
  readonly paceMs: number;
  readonly lies?: boolean;
  readonly work?: "all" | "none";
  readonly failAt?: FailPoint;
  /** Dies right after an effect that cannot be undone and is new in the ledger, before the result. */
  readonly diesAfterEffect?: boolean;
};
/** What the parent writes, one JSON line each. */
export type Command =
  | { readonly type: "go" }
  | { readonly type: "send"; readonly key: string; readonly idempotencyKey: string; readonly text: string }
  | { readonly type: "interrupt"; readonly key: string };
/** What the parent reads. */
export type Said =
  | { readonly type: "loaded" | "up" }
  | { readonly type: "sent"; readonly idempotencyKey: string; readonly inputId: string; readonly runId: string }
  | { readonly type: "failed"; readonly command: Command; readonly code: string }
  /** The store did not take a write. */
  | { readonly type: "refused"; readonly code: string };

const options = JSON.parse(process.argv[2] ?? "") as WorkerOptions; // written by worker-process.ts
const { folder, durability, seed, paceMs, lies = false } = options;
let runtime: Promise<Runtime> | undefined;

for await (const line of listening()) {
  const command = JSON.parse(line) as Command; // written by worker-process.ts
  if (command.type === "go") runtime = open().then((opened) => (say({ type: "up" }), opened));
  else perform(command).catch((error: unknown) => say({ type: "failed", command, code: toProblem(error).code }));
}
await (await runtime)?.close();

/** Says that it listens once it does. */
function listening(): AsyncIterable<string> {
  const lines = createInterface({ input: process.stdin });
  say({ type: "loaded" });
  return lines;
}

async function open(): Promise<Runtime> {
  const store = await openStore(folder, durability);
  const ids = systemIds(() => systemClock.now());
  const engine = storeEngine(failingStore(telling(store), options.failAt), { clock: systemClock, ids });
  const world = outside(folder, () => systemClock.now());
  const isNew = (id: string): boolean => world.lines().filter((line) => line.id === id).length === 1;
  const struck = options.diesAfterEffect === true ? { struck: (id: string) => (isNew(id) ? die() : undefined) } : {};
  const agents = [scene({ outside: world, random: random(seed), paceMs, lies, ...struck })];
  return openRuntime({ agents, engine, work: options.work ?? "all" });
}

function telling(store: Store): Store {
  return {
    ...store,
    append: (write, how) =>
      store.append(write, how).catch((error: unknown) => {
        say({ type: "refused", code: toProblem(error).code });
        throw error;
      }),
  };
}

async function perform(command: Exclude<Command, { type: "go" }>): Promise<void> {
  if (runtime === undefined) throw new Error("say go first");
  const session = await (await runtime).session({ agent: AGENT, key: command.key });
  if (command.type === "interrupt") return session.interrupt();
  const { idempotencyKey, text } = command;
  const { inputId, id: runId } = await session.send(text, { idempotencyKey });
  say({ type: "sent", idempotencyKey, inputId, runId });
}

function say(said: Said): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
