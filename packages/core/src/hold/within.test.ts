import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentDefinition, agent } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import type { Metadata } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { openRuntime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import type { Schema } from "../words/schema.ts";
import type { SendOptions } from "../session/session.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel, type ScriptedTurn } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { type ToolDefinition, tool } from "../ports/tool.ts";
import type { Workspace } from "../ports/workspace.ts";

const hanging = new Promise<never>(() => undefined);
const CALLS: readonly ScriptedTurn[] = [{ calls: [{ name: "act", input: {} }] }, { text: "Ok." }];

/** Takes a value when `ready`, and until then does not answer. */
function slowSchema(reached: () => void): Schema {
  return {
    "~standard": {
      version: 1,
      vendor: "slow",
      validate: () => (reached(), hanging),
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  };
}

type Case = {
  readonly turns?: readonly ScriptedTurn[];
  readonly act?: Partial<ToolDefinition<unknown>>;
  readonly agent?: Partial<AgentDefinition<unknown>>;
  readonly runtime?: Partial<RuntimeOptions>;
  readonly send?: SendOptions;
};

/** Code of others that is given no signal, and never ends. */
const CASES: { readonly [what: string]: (reached: () => void) => Case } = {
  "resolves a model": (reached) => ({
    send: { model: "a/b" },
    runtime: { host: { resolveModel: () => (reached(), hanging) } },
  }),
  "knows a price": (reached) => ({
    send: { limits: { microUsd: 1_000_000 } },
    agent: { model: { ...scriptedModel([]), price: () => (reached(), hanging) } },
  }),
  "checks arguments": (reached) => ({ turns: CALLS, act: { input: slowSchema(reached) } }),
  "checks a result": (reached) => ({ turns: CALLS, act: { output: slowSchema(reached), execute: () => ({}) } }),
  "checks the output of a run": (reached) => ({ turns: [{ text: "{}" }], agent: { output: slowSchema(reached) } }),
  "keeps a rule": (reached) => ({
    turns: CALLS,
    act: { permission: "ask" },
    runtime: {
      permission: { mode: "ask" },
      onRequest: () => Promise.resolve({ type: "permission", allow: true, remember: "global" }),
      remember: () => (reached(), hanging),
    },
  }),
};

async function started(make: (reached: () => void) => Case) {
  const world = new World();
  let reached = false;
  const parts = make(() => (reached = true));
  const definition = { name: "act", description: "Acts.", permission: "allow", execute: () => "done" } as const;
  const act = tool({ ...definition, input: z.object({}), ...parts.act });
  const guide = agent({
    name: "guide",
    model: scriptedModel(parts.turns ?? []),
    instructions: "x",
    tools: [act],
    ...parts.agent,
  });
  const { clock, ids } = world;
  const runtime = await openRuntime({
    agents: [guide],
    engine: storeEngine(world.store, { clock, ids }),
    ...parts.runtime,
    host: { clock, ids, ...parts.runtime?.host },
  });
  const session = await runtime.session<string>({ agent: "guide" });
  const run = await session.send("Go", parts.send);
  await until(() => reached);
  const closed = async (): Promise<void> => {
    const closing = runtime.close({ graceMs: 0 });
    await world.clock.advance(1_000);
    await soon(closing);
  };
  return { world, session, run, closed };
}

describe("code of others that hangs while it", () => {
  for (const [what, make] of Object.entries(CASES)) {
    it(`LOOP-10 EDGE-05 G11 ${what} does not hold up an interrupt`, async () => {
      const { world, session, closed } = await started(make);
      await soon(session.interrupt());
      expect(ofType(await world.log(), "run.finished")).toMatchObject([{ reason: "interrupted" }]);
      await closed();
    });

    it(`LOOP-12 G11 ${what} does not hold up the end of the process`, async () => {
      const { closed } = await started(make);
      await closed();
    });
  }

  it("G11 resolves a model ends its run with timeout, in the end", async () => {
    const { world, run, closed } = await started(CASES["resolves a model"] ?? (() => ({})));
    await world.clock.advance(LIMITS.foreignMs);
    expect(await soon(run.result())).toMatchObject({ reason: "error", error: { code: "timeout" } });
    await closed();
  });

  it("G3 G11 checks a result leaves no doubt that the call was made", async () => {
    const { world, session, closed } = await started(CASES["checks a result"] ?? (() => ({})));
    await soon(session.interrupt());
    expect(ofType(await world.log(), "tool.finished")).toMatchObject([
      { status: "error", output: { content: [{ text: expect.stringContaining("act has ended") }] } },
    ]);
    await closed();
  });
});

describe("a run whose workspace is gone", () => {
  it("EDGE-05 G11 can be interrupted", async () => {
    const world = new World();
    let gone = false;
    const local = (root: string): Promise<Workspace> =>
      gone
        ? Promise.reject(new CapstanError("workspace-missing", "it is gone"))
        : Promise.resolve({ root, kind: "local", confinement: "none", close: () => Promise.resolve() } as never);
    let working = false;
    const act = tool({
      name: "act",
      description: "Acts.",
      input: z.object({}),
      permission: "allow",
      execute: () => ((working = true), hanging),
    });
    const guide = agent({ name: "guide", model: scriptedModel(CALLS), instructions: "x", tools: [act] });
    const options = { agents: [guide], work: "all", workspaces: { local } } as const;
    const metadata: Metadata = {};
    const first = await world.open(options);
    const { id } = (await first.send("guide", "Go", { workspace: "/work", metadata })).session;
    await until(() => working);
    await world.kill();
    gone = true;
    const second = await world.open(options);
    const session = await second.session(id);
    await soon(session.interrupt());
    expect(ofType(await world.log(id), "run.finished")).toMatchObject([{ reason: "interrupted" }]);
    await world.close();
  });
});
