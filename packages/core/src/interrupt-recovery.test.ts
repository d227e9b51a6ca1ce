import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./ports/agent.ts";
import { textOf } from "./words/message.ts";
import type { Model } from "./ports/model.ts";
import { plugin } from "./ports/plugin.ts";
import type { Runtime } from "./session/runtime.ts";
import type { RuntimeOptions } from "./session/runtime-options.ts";
import type { Store } from "./ports/store.ts";
import { type ScriptedModel, scriptedModel } from "./testing/scripted-model.ts";
import { ofType, soon, until } from "./testing/waiting.ts";
import { World } from "./testing/world.ts";
import { flowTool, tool } from "./ports/tool.ts";

const never: Promise<never> = new Promise(() => undefined);
const nothing = z.object({});

class GuideWorld extends World {
  start(model: Model, options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    return this.open({ agents: [agent({ name: "guide", model, instructions: "x" })], work: "all", ...options });
  }

  async ends(): Promise<readonly (readonly [string | undefined, string])[]> {
    return ofType(await this.log(), "run.finished").map(({ runId, reason }) => [runId, reason]);
  }
}

describe("after a crash", () => {
  it("EDGE-05 LOOP-13 an input that was to interrupt still does, and runs next", async () => {
    const world = new GuideWorld();
    const asked = Promise.withResolvers<void>();
    const deaf: Model = {
      id: "test/deaf",
      capabilities: {},
      async *stream() {
        yield [{ type: "start", model: "test/deaf" }];
        asked.resolve();
        await never; // hears no signal, so that its run is still there when the process dies
      },
    };
    const first = await world.start(deaf);
    const session = await first.session({ agent: "guide", key: "k" });
    const one = await session.send("one");
    await soon(asked.promise);
    await session.send("queued");
    const urgent = await session.send("urgent", { ifBusy: "interrupt" });
    await until(async () => ofType(await world.log(), "input.accepted").length === 3);
    await world.kill();
    expect(await world.ends()).toEqual([]);
    const second = await world.start(
      scriptedModel([{ text: "Again", hold: never }, { text: "Next." }, { text: "Last." }]),
    );
    await until(async () => (await world.ends()).length === 3);
    const ends = await world.ends();
    expect(ends[0]).toEqual([one.id, "interrupted"]);
    expect(ends.map(([runId]) => runId).indexOf(urgent.id)).toBe(2);
    expect(ends.slice(1).map(([, reason]) => reason)).toEqual(["end-turn", "end-turn"]);
    await world.close(second);
  });

  it("EDGE-05 an interrupt that names another run changes nothing", async () => {
    const world = new GuideWorld();
    const model = scriptedModel([{ text: "One." }, { text: "Two", hold: never }]);
    const first = await world.start(model);
    const session = await first.session({ agent: "guide", key: "k" });
    const one = await session.send("one");
    await soon(one.text());
    const two = await session.send("two");
    await until(() => model.requests.length === 2);
    await world.kill();
    const door = await world.start(model, { work: "none" });
    const outside = await door.session<string>(session.id);
    await soon(outside.interrupt(one.id));
    await soon(outside.interrupt("run_unheard_of"));
    const second = await world.start(scriptedModel([{ text: "One." }, { text: "Two." }]));
    await until(async () => (await world.ends()).length === 2);
    expect(await world.ends()).toEqual([
      [one.id, "end-turn"],
      [two.id, "end-turn"],
    ]);
    expect(await world.store.mail(session.id)).toEqual([]);
    await world.close(door, second);
  });

  it("EDGE-01 EDGE-05 a flow whose step was in doubt when the interrupt came has an unknown outcome", async () => {
    const world = new GuideWorld();
    const pushed: string[] = [];
    const push = flowTool({
      name: "push",
      description: "Pushes.",
      input: nothing,
      flow: (_input, { step }) => step("push", () => (pushed.push("push"), never)),
    });
    const model = () => scriptedModel([{ calls: [{ name: "push", input: {} }] }, { text: "Ok." }]);
    const plugins = [plugin({ name: "pushing", tools: [push] })];
    const open = () =>
      world.open({
        agents: [agent({ name: "guide", model: model(), instructions: "x" })],
        plugins,
        work: "all",
        permission: { mode: "ask" },
      });
    const first = await open();
    const run = await first.send("guide", "Go");
    await until(() => pushed.length === 1);
    await world.kill();
    const second = await open();
    const session = await second.session<string>(run.session.id);
    await until(async () => ofType(await world.log(), "request.opened").length === 1);
    await soon(session.interrupt());
    expect(ofType(await world.log(), "tool.finished")).toMatchObject([
      { status: "unknown", output: { isError: true } },
    ]);
    expect(await world.ends()).toEqual([[run.id, "interrupted"]]);
    expect(pushed).toEqual(["push"]);
    await world.close(second);
  });
});

describe("a steer that is withdrawn", () => {
  const opened = async (model: ScriptedModel, plugins: RuntimeOptions["plugins"] = []) => {
    const world = new GuideWorld();
    const runtime = await world.start(model, { plugins });
    const session = await runtime.session({ agent: "guide", key: "k" });
    return { world, session };
  };
  const heard = (model: ScriptedModel): string =>
    model.requests.flatMap(({ messages }) => messages.map(({ parts }) => textOf(parts))).join("\n");

  it("LOOP-14 before its turn never reaches the model", async () => {
    const gate = Promise.withResolvers<void>();
    const model = scriptedModel([{ text: "One.", hold: gate.promise }, { text: "Two." }]);
    const { world, session } = await opened(model);
    const run = await session.send("Go");
    await until(() => model.requests.length === 1);
    const steer = await session.send("the secret plan", { ifBusy: "steer" });
    await soon(session.withdraw(steer.inputId));
    gate.resolve();
    expect(await soon(run.text())).toBe("One.");
    await soon((await session.send("More")).text());
    expect(heard(model)).not.toContain("secret plan");
    await world.close();
  });

  it("LOOP-14 while an input hook looks at it never reaches the model", async () => {
    const looking = Promise.withResolvers<void>();
    const looked = Promise.withResolvers<void>();
    const slow = plugin({
      name: "slow",
      async input(message, _context, next) {
        if (textOf(message.parts).includes("secret")) {
          looking.resolve();
          await looked.promise;
        }
        return next(message);
      },
    });
    const gate = Promise.withResolvers<void>();
    const model = scriptedModel([{ text: "One.", hold: gate.promise }, { text: "Two." }]);
    const { world, session } = await opened(model, [slow]);
    const run = await session.send("Go");
    await until(() => model.requests.length === 1);
    const steer = await session.send("the secret plan", { ifBusy: "steer" });
    gate.resolve();
    await soon(looking.promise);
    await soon(session.withdraw(steer.inputId));
    await until(async () => ofType(await world.log(), "input.withdrawn").length === 1);
    looked.resolve();
    expect(await soon(run.text())).toBe("One.");
    expect(heard(model)).not.toContain("secret plan");
    await world.close();
  });
});

describe("an effect", () => {
  it("EDGE-05 G11 LOOP-10 does not begin once an interrupt was accepted while its intent went to the disk", async () => {
    for (const kind of ["tool", "step"] as const) {
      const world = new GuideWorld();
      const syncing = Promise.withResolvers<void>();
      const synced = Promise.withResolvers<void>();
      const intent = kind === "tool" ? "tool.started" : "step.started";
      const append: Store["append"] = async (write, options) => {
        const stored = await world.store.append(write, options);
        if (write.facts.some(({ type }) => type === intent)) {
          syncing.resolve();
          await synced.promise;
        }
        return stored;
      };
      const done: string[] = [];
      const act =
        kind === "tool"
          ? tool({ name: "act", description: "Acts.", input: nothing, execute: () => void done.push("act") })
          : flowTool({
              name: "act",
              description: "Acts.",
              input: nothing,
              flow: (_input, { step }) => step("act", () => void done.push("act")),
            });
      const model = scriptedModel([{ calls: [{ name: "act", input: {} }] }, { text: "Ok." }]);
      const guide = agent({ name: "guide", model, instructions: "x", tools: [act] });
      const runtime = await world.open({ agents: [guide] }, { ...world.store, append });
      const run = await runtime.send("guide", "Go");
      await soon(syncing.promise);
      const interrupted = run.session.interrupt();
      await world.clock.advance(0);
      synced.resolve();
      await world.clock.advance(1_000);
      await soon(interrupted);
      expect(done).toEqual([]);
      expect(await world.ends()).toEqual([[run.id, "interrupted"]]);
      expect(ofType(await world.log(), "tool.finished")).toHaveLength(1);
      await world.close();
    }
  });
});
