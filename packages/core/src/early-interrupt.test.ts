import { expect, it } from "vitest";
import { agent } from "./ports/agent.ts";
import { scriptedModel } from "./testing/scripted-model.ts";
import { ofType, soon, until } from "./testing/waiting.ts";
import { World } from "./testing/world.ts";

const never: Promise<never> = new Promise(() => undefined);

it.each([
  ["through the handle that sent it", false],
  ["through another one", true],
])("EDGE-05 LOOP-08 an interrupt right behind a send ends what was sent, %s", async (_how, other) => {
  const world = new World();
  const model = scriptedModel([{ text: "Hello", hold: never }]);
  const guide = agent({ name: "guide", model, instructions: "x" });
  const runtime = await world.open({ agents: [guide], work: "all" });
  const session = await runtime.session<string>((await runtime.session({ agent: "guide", key: "k" })).id);
  const run = await session.send("one");
  const door = other ? await runtime.session<string>(session.id) : session;
  await soon(door.interrupt());
  expect((await soon(run.result())).reason).toBe("interrupted");
  await soon(session.waitForIdle());
  const log = await world.log(session.id);
  expect(ofType(log, "run.finished").every(({ reason }) => reason === "interrupted")).toBe(true);
  const next = await session.send("two");
  await until(() => model.requests.length > 0 && model.requests.at(-1)?.messages.at(-1)?.id === next.inputId);
  await world.close();
});

it("EDGE-05 an interrupt that names no run takes back what nobody has begun, and leaves what waits behind it", async () => {
  const world = new World();
  const guide = agent({ name: "guide", model: scriptedModel([{ text: "Two." }]), instructions: "x" });
  const door = await world.open({ agents: [guide], work: "none" });
  const session = await door.session({ agent: "guide", key: "k" });
  const one = await session.send("one");
  const two = await session.send("two");
  await soon(session.interrupt());
  await world.open({ agents: [guide], work: "all" });
  expect((await soon(two.result())).text).toBe("Two.");
  expect((await soon(one.result())).reason).toBe("interrupted");
  expect(ofType(await world.log(session.id), "run.started").map(({ runId }) => runId)).toEqual([two.id]);
  await soon(session.interrupt());
  expect((await world.log(session.id)).at(-1)?.type).toBe("run.finished");
  await world.close();
});

it("LOOP-14 a steer that the run has no turn left to answer starts a run of its own", async () => {
  const world = new World();
  const said = Promise.withResolvers<void>();
  const model = scriptedModel([{ text: "One.", hold: said.promise }, { text: "Two." }]);
  const guide = agent({ name: "guide", model, instructions: "x", limits: { turns: 1 } });
  const session = await (await world.open({ agents: [guide], work: "all" })).session({ agent: "guide", key: "k" });
  const run = await session.send("one");
  await until(() => model.requests.length === 1);
  const steer = await session.send("two", { ifBusy: "steer" });
  said.resolve();
  const results = [await soon(run.result()), await soon(steer.result())];
  expect(results.map(({ reason, text }) => [reason, text])).toEqual([
    ["end-turn", "One."],
    ["end-turn", "Two."],
  ]);
  await world.close();
});
