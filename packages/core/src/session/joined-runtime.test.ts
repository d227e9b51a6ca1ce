import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { openRuntime } from "./runtime.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { soon } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { tool } from "../ports/tool.ts";

describe("a runtime that joins an open engine", () => {
  it("SEC-01 EDGE-15 has its secrets kept out of the log too", async () => {
    const world = new World();
    const host = { clock: world.clock, ids: world.ids };
    const engine = storeEngine(world.store, host);
    const guide = agent({
      name: "guide",
      model: scriptedModel([{ text: "I know hunter2hunter2." }]),
      instructions: "x",
    });
    const first = await openRuntime({ agents: [guide], engine, host });
    const second = await openRuntime({ agents: [guide], engine, host, secrets: ["hunter2hunter2"] });
    await soon((await second.send("guide", "It is hunter2hunter2")).text());
    expect(JSON.stringify(await world.log())).not.toContain("hunter2hunter2");
    for (const runtime of [first, second]) {
      const closed = runtime.close({ graceMs: 0 });
      await world.clock.advance(1_000);
      await soon(closed);
    }
  });

  it.each([
    ["permission", { permission: { ask: ["danger"] } }],
    ["plugins", { plugins: [{ name: "guard" }] }],
    ["workspaces", { workspaces: { local: () => Promise.reject(new Error("none")) } }],
    ["work", { work: "none" }],
    ["onRequest", { onRequest: () => Promise.resolve(undefined) }],
    ["remember", { remember: () => Promise.resolve() }],
  ] as const)("LOOP-01 is refused with a %s of its own: it would not hold for the others", async (option, own) => {
    const world = new World();
    const host = { clock: world.clock, ids: world.ids };
    const engine = storeEngine(world.store, host);
    const danger = tool({ name: "danger", description: "x", input: z.object({}), execute: () => "done" });
    const model = scriptedModel([{ text: "Hello." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [danger] });
    const permission = { deny: ["danger"] };
    const first = await openRuntime({ agents: [guide], engine, host, permission });
    const joining = openRuntime({ agents: [guide], engine, host, ...own });
    await expect(joining).rejects.toMatchObject({ code: "config-invalid", message: expect.stringContaining(option) });
    const second = await openRuntime({ agents: [guide], engine, host, permission: { ...permission } });
    expect(await soon((await second.send("guide", "Hi")).text())).toBe("Hello.");
    for (const runtime of [first, second]) {
      const closed = runtime.close({ graceMs: 0 });
      await world.clock.advance(1_000);
      await soon(closed);
    }
  });
});
