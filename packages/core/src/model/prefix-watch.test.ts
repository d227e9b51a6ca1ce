import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { isLive } from "../words/event.ts";
import type { Hold } from "../hold/hold.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import type { Message } from "../words/message.ts";
import type { Model, ModelRequest } from "../ports/model.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { watchPrefix } from "./prefix-watch.ts";
import { openRuntime } from "../session/runtime.ts";
import type { Run } from "../session/session.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";

const look = tool({ name: "look", description: "Looks.", input: z.object({}), rerun: "safe", execute: () => "seen" });

const { signal } = new AbortController();

type Notice = readonly [code: string, title: string, detail?: string];

/** Two inputs, the first with a call; what was told of the prefix. */
async function told(...plugins: readonly Plugin[]): Promise<readonly Notice[]> {
  const model = scriptedModel([{ calls: [{ name: "look", input: {} }] }, { text: "One." }, { text: "Two." }]);
  const guide = agent({ name: "guide", model, instructions: "x", tools: [look], plugins });
  await using runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session({ agent: "guide" });
  const notices = [...(await noticesOf(await session.send("Go"))), ...(await noticesOf(await session.send("More")))];
  expect(model.requests).toHaveLength(3);
  return notices;
}

async function noticesOf(run: Run<unknown>): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  for await (const { event } of run.events()) {
    if (!isLive(event) || event.type !== "notice" || !event.code.startsWith("prefix")) continue;
    notices.push(event.detail === undefined ? [event.code, event.title] : [event.code, event.title, event.detail]);
  }
  expect((await run.result()).reason).toBe("end-turn");
  return notices;
}

function changing(name: string, change: (request: ModelRequest) => ModelRequest): Plugin {
  return plugin({ name, model: (request, _context, next) => next(change(request)) });
}

describe("the watch over the cache prefix", () => {
  it("EDGE-07 says nothing while requests go on from one another, also through hooks that change what stays the same", async () => {
    const sameEachTime = changing("shout", (request) => ({ ...request, system: `${request.system}!` }));
    const copies = changing("copy", (request) => ({
      ...request,
      messages: structuredClone(request.messages),
      tools: structuredClone(request.tools),
    }));
    const tail = plugin({ name: "tail", prepare: () => ({ tail: [{ type: "text", text: "It is noon." }] }) });
    expect(await told()).toEqual([]);
    expect(await told(sameEachTime, copies, tail)).toEqual([]);
  });

  it("EDGE-07 names the message and the plugin whose model hook broke it, among others that did not", async () => {
    const short = changing("short", (request) => {
      const { messages } = request;
      return messages.length < 4 ? request : { ...request, messages: messages.slice(2) };
    });
    const idle = (name: string): Plugin => changing(name, (request) => ({ ...request }));
    expect(await told(idle("before"), short, idle("after"))).toEqual([
      ["prefix-broken", "The cached prompt prefix ends before message 0: the model hook of plugin short changed it"],
    ]);
  });

  it("EDGE-07 names system text and tools", async () => {
    let calls = 0;
    const clock = changing("clock", (request) => ({ ...request, system: `It is ${calls++}.` }));
    const title = (segment: string, name: string): readonly [string, string] => [
      "prefix-broken",
      `The cached prompt prefix ends before ${segment}: the model hook of plugin ${name} changed it`,
    ];
    expect(await told(clock)).toEqual([title("the system text", "clock"), title("the system text", "clock")]);
    const fewer = changing("fewer", (request) => (request.messages.length < 4 ? request : { ...request, tools: [] }));
    expect(await told(fewer)).toEqual([title("the tools", "fewer")]);
  });

  it("EDGE-07 tells once what a prepare hook broke, with its cause and what changed", async () => {
    const extra = { name: "extra", description: "More.", inputSchema: { type: "object" } };
    const skill = plugin({
      name: "skill",
      prepare: ({ messages }) =>
        messages.length < 3 ? undefined : { system: "Rhyme.", tools: [extra], breaksPrefix: "a skill was loaded" },
    });
    expect(await told(skill)).toEqual([
      [
        "prefix-changed",
        "The cached prompt prefix is rebuilt: a skill was loaded",
        "the instructions changed and tools were added (extra)",
      ],
    ]);
  });

  it("EDGE-07 MODEL-07 tells that another model caches for itself", async () => {
    const models: Readonly<Record<string, Model>> = {
      "a/one": scriptedModel([], { id: "a/one" }),
      "b/two": scriptedModel([], { id: "b/two" }),
    };
    const guide = agent({ name: "guide", model: "a/one", instructions: "x" });
    const resolveModel = (name: string): Promise<Model> => Promise.resolve(models[name] ?? scriptedModel([]));
    const [clock, ids] = [fakeClock(), fixedIds()];
    const engine = storeEngine(memoryStore(), { clock, ids });
    await using runtime = await openRuntime({ agents: [guide], engine, host: { clock, ids, resolveModel } });
    const session = await runtime.session({ agent: "guide" });
    await (await session.send("One")).text();
    await session.update({ model: "b/two" });
    expect(await noticesOf(await session.send("Two"))).toEqual([
      ["prefix-changed", "Another model caches for itself: a/one gave way to b/two"],
    ]);
    expect(await noticesOf(await session.send("Three"))).toEqual([]);
  });

  it("EDGE-07 names a compaction, and a conversation that got shorter without one", () => {
    const notices: string[] = [];
    const hold = {
      state: { compactedThrough: 0 },
      notice: (_severity: string, code: string, title: string) => notices.push(`${code}: ${title}`),
    } as unknown as Hold & { state: { compactedThrough: number } }; // what the watch reads of a hold
    const messages = ["a", "b", "c"].map((id): Message => ({ id, role: "user", parts: [{ type: "text", text: id }] }));
    const ask = (): void =>
      watchPrefix(
        hold,
        {
          system: "x",
          tools: [],
          messages,
          settings: {},
          cache: [],
          sessionId: "s",
          signal,
          blob: () => Promise.reject(),
        },
        { model: "a/one", prefixHash: "p" },
      );
    ask();
    messages.splice(0, 2);
    hold.state.compactedThrough = 2;
    ask();
    ask();
    messages.pop();
    ask();
    expect(notices).toEqual([
      "prefix-broken: The cached prompt prefix ends before message 0: the conversation was compacted",
      "prefix-broken: The cached prompt prefix ends before message 0: what was said before was changed",
    ]);
  });
});
