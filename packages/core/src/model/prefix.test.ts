import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { type FactOf, isLive, type LiveBody } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { scriptedModel, type ScriptedModel } from "../testing/scripted-model.ts";
import { tool } from "../ports/tool.ts";
import { ofType, soon } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ say: z.string() }),
  rerun: "safe",
  execute: ({ say }) => say,
});

const other = tool({ name: "other", description: "Another.", input: z.object({}) });

class PrefixWorld extends World {
  readonly model: ScriptedModel = scriptedModel([{ calls: [{ name: "echo", input: { say: "a" } }] }]);

  start(definition: Partial<AgentDefinition> = {}, options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    const guide = agent({ name: "guide", model: this.model, instructions: "Short.", tools: [echo], ...definition });
    return this.open({ agents: [guide], ...options });
  }

  /** One input to the one session, in a process of its own. */
  async say(
    definition: Partial<AgentDefinition> = {},
    sending: { readonly instructions?: string; readonly tools?: readonly string[] } = {},
  ): Promise<readonly LiveBody[]> {
    const runtime = await this.start(definition);
    const session = await runtime.session({ agent: "guide", key: "one", metadata: { name: "Ada" } });
    const live: LiveBody[] = [];
    const run = await session.send("Go", sending);
    for await (const { event } of run.events()) if (isLive(event)) live.push(event);
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn" });
    await soon(runtime.close());
    return live;
  }

  async sets(): Promise<readonly FactOf<"prefix.set">[]> {
    return ofType(await this.store.read("ses_1", { after: 0, limit: 10_000 }), "prefix.set");
  }
}

describe("the cache prefix", () => {
  it("EDGE-07 COST-09 is set once for many runs in many processes, with the same bytes in every request", async () => {
    const world = new PrefixWorld();
    await world.say();
    await world.say();
    await world.say();
    const sets = await world.sets();
    expect(sets).toEqual([expect.objectContaining({ cause: "session started" })]);
    const bytes = await world.store.blob(sets[0]?.blob ?? "");
    expect(JSON.parse(Buffer.from(bytes ?? []).toString())).toEqual({
      system: "Short.",
      tools: [{ name: "echo", description: "Says it again.", inputSchema: echo.inputSchema }],
    });
    const { requests } = world.model;
    expect(requests).toHaveLength(4);
    for (const { system, tools } of requests) {
      expect(system).toBe("Short.");
      expect(tools).toBe(requests[0]?.tools);
    }
    const started = ofType(await world.store.read("ses_1", { after: 0, limit: 10_000 }), "turn.started");
    expect(new Set(started.map(({ prefixHash }) => prefixHash))).toEqual(new Set([sets[0]?.hash]));
  });

  it("EDGE-07 COST-09 each request goes on from the one before, byte for byte, also in the next process", async () => {
    const world = new PrefixWorld();
    await world.say();
    await world.say();
    await world.say();
    const texts = world.model.requests.map(({ messages }) => messages.map((message) => JSON.stringify(message)));
    for (const [index, text] of texts.entries()) {
      if (index > 0) expect(text.slice(0, texts[index - 1]?.length)).toEqual(texts[index - 1]);
    }
  });

  const changes: readonly [string, Partial<AgentDefinition>, string][] = [
    ["instructions", { instructions: "Long." }, "the instructions changed"],
    ["the list of tools", { tools: [] }, "tools were removed (echo)"],
    [
      "two tools",
      { tools: [other, tool({ name: "third", description: "New.", input: z.object({}) })] },
      "tools were added (other, third) and tools were removed (echo)",
    ],
    ["an added tool", { tools: [echo, other] }, "tools were added (other)"],
    [
      "a tool",
      { tools: [tool({ name: "echo", description: "Another.", input: z.object({}) })] },
      "tools were redefined (echo)",
    ],
    ["both", { instructions: "Long.", tools: [] }, "the instructions changed and tools were removed (echo)"],
  ];
  for (const [what, definition, cause] of changes) {
    it(`EDGE-07 DUR-12 a change of ${what} sets it again at the next run, with its cause and a notice`, async () => {
      const world = new PrefixWorld();
      await world.say();
      const live = await world.say(definition);
      expect((await world.sets()).map((set) => set.cause)).toEqual(["session started", cause]);
      expect(live.flatMap((event) => (event.type === "notice" ? [event.code, event.title] : []))).toEqual([
        "prefix-changed",
        `The cached prompt prefix is rebuilt: ${cause}`,
      ]);
    });
  }

  it("EDGE-07 DUR-12 a run that goes on elsewhere keeps the bytes it started with", async () => {
    const world = new PrefixWorld();
    const first = await world.start({}, { permission: { mode: "ask", ask: ["echo"] } });
    const session = await first.session({ agent: "guide", key: "one" });
    const run = await session.send("Go");
    const [request] = (await soon(run.result())).requests;
    await soon(first.close({ graceMs: 0 }));
    const second = await world.start({ instructions: "Other." }, { work: "all" });
    const again = await second.session<string>(session.id);
    await soon(again.respond(request?.requestId ?? "", { type: "permission", allow: true }));
    await soon((await again.run())?.text() ?? Promise.reject(new Error("no run")));
    expect(world.model.requests.map(({ system }) => system)).toEqual(["Short.", "Short."]);
    await soon((await again.send("Next")).text());
    expect(world.model.requests.at(-1)?.system).toBe("Other.");
    await soon(second.close());
  });

  it("EDGE-07 instructions that are a function run once a session", async () => {
    const world = new PrefixWorld();
    let rendered = 0;
    const instructions: AgentDefinition["instructions"] = ({ id, key, metadata }) =>
      `${id} ${key} ${JSON.stringify(metadata["name"])} ${++rendered}`;
    await world.say({ instructions });
    await world.say({ instructions });
    expect(rendered).toBe(1);
    expect(new Set(world.model.requests.map(({ system }) => system))).toEqual(new Set(['ses_1 one "Ada" 1']));
  });

  it("LOOP-21 instructions of one send are for that run only", async () => {
    const world = new PrefixWorld();
    await world.say();
    await world.say({}, { instructions: "Rhyme." });
    await world.say();
    expect(world.model.requests.map(({ system }) => system)).toEqual(["Short.", "Short.", "Rhyme.", "Short."]);
  });

  it("LOOP-21 instructions of one send are for that run only, also where the agent's are a function", async () => {
    for (const order of [
      [undefined, "Rhyme.", undefined],
      ["Rhyme.", undefined],
    ]) {
      const world = new PrefixWorld();
      const instructions = (): string => "Made.";
      for (const override of order)
        await world.say({ instructions }, override === undefined ? {} : { instructions: override });
      expect(world.model.requests.at(-1)?.system).toBe("Made.");
    }
  });

  it("LOOP-29 instructions that cannot be rendered end the run, not the session", async () => {
    const world = new PrefixWorld();
    let broken = true;
    const runtime = await world.start({
      instructions: () => {
        if (broken) throw new Error("no template");
        return "Fixed.";
      },
    });
    const session = await runtime.session({ agent: "guide" });
    const run = await session.send("Go");
    expect(await soon(run.result())).toMatchObject({ reason: "error", error: { message: "no template" } });
    broken = false;
    expect(await soon((await session.send("Again")).result())).toMatchObject({ reason: "end-turn" });
    await soon(runtime.close());
  });

  it("LOOP-29 instructions that give no text, or none in time, end the run with agent-invalid, not the session", async () => {
    const world = new PrefixWorld();
    const made: unknown[] = [42, new Promise(() => undefined), "Fixed."];
    const runtime = await world.start({ instructions: () => made.shift() as string });
    const session = await runtime.session({ agent: "guide" });
    for (const problem of [/are not a text/, /took too long/]) {
      const run = await session.send("Go");
      await world.clock.advance(LIMITS.hookTimeoutMs + LIMITS.interruptGraceMs);
      expect(await soon(run.result())).toMatchObject({
        reason: "error",
        error: { code: "agent-invalid", message: expect.stringMatching(problem) },
      });
    }
    expect(await soon((await session.send("Again")).result())).toMatchObject({ reason: "end-turn" });
    expect(new Set(world.model.requests.map(({ system }) => system))).toEqual(new Set(["Fixed."]));
    await soon(runtime.close());
  });

  it("COST-01 plans breakpoints for models that take them", async () => {
    const world = new PrefixWorld();
    const marked: ScriptedModel = scriptedModel([{ text: "One" }], { capabilities: { cacheMarkers: true } });
    const runtime = await world.start({ model: marked });
    const session = await runtime.session({ agent: "guide" });
    await soon((await session.send("a")).text());
    await soon((await session.send("b")).text());
    expect(marked.requests.map(({ cache }) => cache)).toEqual([
      [-1, 0],
      [-1, 0, 2],
    ]);
    await soon(runtime.close());
  });
});
