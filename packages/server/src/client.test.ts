import {
  agent,
  type Agent,
  CapstanError,
  cursorOf,
  type Envelope,
  isLive,
  type Json,
  jsonSchema,
  type Runtime,
  tool,
} from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createProxy, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { remoteRuntime } from "./client.ts";
import { testServer, type TestServer } from "./testing-server.ts";

const anything = jsonSchema<Json>({ type: "object" });
const pay = tool({ name: "pay", description: "Pays.", input: anything, permission: "ask", execute: () => "paid" });

type World = AsyncDisposable & {
  readonly runtime: TestRuntime;
  readonly server: TestServer;
  readonly remote: Runtime;
  readonly guide: Agent<string>;
};

async function world(replies: readonly ScriptedReply[], token = "trusted"): Promise<World> {
  const helper = agent({
    name: "helper",
    description: "Helps.",
    model: scriptedModel([{ text: "Helped." }]),
    instructions: "Help.",
  });
  const guide = agent({
    name: "guide",
    model: scriptedModel(replies),
    instructions: "Be brief.",
    tools: [pay, helper],
  });
  const runtime = await testRuntime({ agents: [guide, helper], permission: { mode: "ask" } });
  const server = await testServer({ runtime });
  const remote = remoteRuntime(server.url, { token });
  return {
    runtime,
    server,
    remote,
    guide,
    async [Symbol.asyncDispose]() {
      await remote.close();
      await server[Symbol.asyncDispose]();
      await runtime.close();
    },
  };
}

async function* none(): AsyncGenerator<Envelope> {}

async function all(events: AsyncIterable<Envelope>): Promise<readonly Envelope[]> {
  const found: Envelope[] = [];
  for await (const envelope of events) found.push(envelope);
  return found;
}

/** A way to the server that can be cut. */
async function cuttable(
  port: number,
): Promise<
  AsyncDisposable & { readonly url: string; cut(): void; readonly connections: () => number; cutAfter: number }
> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const state = { cutAfter: Infinity };
  const proxy = createProxy((near) => {
    connections += 1;
    const far = connect(port, "127.0.0.1");
    let passed = 0;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (piece: Buffer) => {
      near.write(piece.subarray(0, Math.max(0, state.cutAfter - passed)));
      passed += piece.length;
      if (passed > state.cutAfter) near.end();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  });
}

describe("remoteRuntime", () => {
  it("STREAM-05 does what a runtime does, from elsewhere", async () => {
    await using w = await world([{ text: "Hello.", deltas: 3 }, { text: "Fine." }]);
    const session = await w.remote.session({ agent: w.guide, key: "k1", title: "One", metadata: { a: 1 } });
    const run = await session.send("Hi");
    const texts: string[] = [];
    for await (const { text } of run.deltas()) texts.push(text);
    expect(texts.join("")).toBe("Hello.");
    expect(await run.text()).toBe("Hello.");
    expect(await run.output()).toBe("Hello.");
    const local = await w.runtime.session(session.id);
    const { inputId: _inputId, ...result } = { inputId: "", ...(await (await local.run())?.result()) };
    expect(await run.result()).toEqual(result);
    expect(await session.messages()).toEqual(await local.messages());
    await session.update({ title: "Two" });
    const { title, metadata, status } = await session.state();
    expect({ title, metadata, status }).toEqual({ title: "Two", metadata: { a: 1 }, status: "idle" });
    expect(await all(run.events())).toMatchObject(
      (await all((await local.run())?.events() ?? none())).filter(({ event }) => !isLive(event)),
    );
    expect((await session.run())?.id).toBe(run.id);
    expect((await session.run(run.id))?.inputId).toBe(run.inputId);
    expect(await session.run("run_nowhere")).toBeUndefined();
    expect(await session.isRunning()).toBe(false);
    await session.waitForIdle();
    const fork = await session.fork({ keepKey: true });
    expect((await w.remote.session({ agent: "guide", key: "k1" })).id).toBe(fork.id);
    expect((await w.remote.sessions()).map(({ sessionId }) => sessionId)).toEqual([fork.id, session.id]);
    expect((await w.remote.sessions({ limit: 1 })).length).toBe(1);
    await session.remove();
    await expect(w.remote.session(session.id)).rejects.toMatchObject({ code: "session-not-found" });
    expect(await (await fork.send("How are you?")).text()).toBe("Fine.");
  });

  it("waits for people, takes their answers, interrupts and withdraws", async () => {
    const hold = new Promise<never>(() => undefined);
    await using w = await world([
      { calls: [{ name: "pay", input: { cents: 5 } }] },
      { text: "Done." },
      { text: "Long", hold },
    ]);
    const run = await w.remote.send("guide", "Pay");
    const waiting = await run.result();
    expect(waiting.status).toBe("waiting");
    expect(await w.remote.requests()).toEqual(waiting.requests);
    const [request] = waiting.requests;
    await expect(run.text()).rejects.toMatchObject({ code: "run-waiting" });
    await run.session.respond(request?.requestId ?? "", { type: "permission", allow: true });
    expect(await run.text()).toBe("Done.");
    await expect(
      run.session.respond(request?.requestId ?? "", { type: "permission", allow: true }),
    ).rejects.toMatchObject({ code: "request-closed" });
    const second = await run.session.send("Go on");
    const third = await run.session.send("And this");
    await run.session.withdraw(third.inputId);
    for await (const { event } of second.events()) if (event.type === "text.delta") break;
    await run.session.interrupt();
    expect((await second.result()).reason).toBe("interrupted");
    expect((await third.result()).reason).toBe("interrupted");
  });

  it("takes a schema along, and gives typed errors", async () => {
    await using w = await world([{ text: '{"city":"Oslo"}' }, { text: "no JSON" }, { text: "no JSON" }]);
    const output = jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    });
    const run = await w.remote.send("guide", "Where?", { output });
    expect(await run.output()).toEqual({ city: "Oslo" });
    await expect(w.remote.send("nobody", "Hi")).rejects.toMatchObject({ code: "agent-unknown" });
    await expect(w.remote.send("guide", " ")).rejects.toMatchObject({ code: "input-invalid" });
    const wrong = remoteRuntime(w.server.url, { token: "" });
    await expect(wrong.sessions()).rejects.toMatchObject({ code: "permission-denied", status: 401 });
    for (const url of ["ftp://x", "nowhere", "http://user:secret@127.0.0.1"])
      expect(() => remoteRuntime(url)).toThrow(CapstanError);
    await w.remote.close();
    await expect(w.remote.sessions()).rejects.toMatchObject({ code: "closed" });
  });

  it("gives the same run for the same idempotency key", async () => {
    await using w = await world([{ text: "Hello." }]);
    const first = await w.remote.send("guide", "Hi", { idempotencyKey: "once" });
    const again = await w.remote.send("guide", "Hi", { idempotencyKey: "once" });
    expect([again.id, again.session.id]).toEqual([first.id, first.session.id]);
    const session = await w.remote.session(first.session.id);
    const [a, b] = await Promise.all([
      session.send("Go", { idempotencyKey: "x" }),
      session.send("Go", { idempotencyKey: "x" }),
    ]);
    expect(a.id).toBe(b.id);
    await expect(session.send("Other", { idempotencyKey: "x" })).rejects.toMatchObject({
      code: "idempotency-conflict",
    });
  });

  it("goes on from its cursor through every cut, without loss and without repeats", async () => {
    const text = "word ".repeat(60);
    await using w = await world([
      { reasoning: "Let me see.", text, deltas: 40, calls: [{ name: "helper", input: { task: "Help" } }] },
      { text: "Over." },
    ]);
    await using way = await cuttable(Number(new URL(w.server.url).port));
    way.cutAfter = 2_000; // a few events
    const remote = remoteRuntime(way.url, { token: "trusted" });
    const local = await w.runtime.session({ agent: w.guide });
    const session = await remote.session(local.id);
    const seen: Envelope[] = [];
    const reading = (async () => {
      for await (const envelope of session.events({ after: "0" })) {
        seen.push(envelope);
        if (envelope.event.type === "run.finished") break;
      }
    })();
    const run = await local.send("Go");
    const tree = all(run.events({ children: true }));
    await reading;
    expect(way.connections()).toBeGreaterThan(2);
    const facts = seen.flatMap(({ event }) => (isLive(event) ? [] : [event.seq]));
    expect(facts).toEqual(facts.map((_seq, index) => index + 1));
    // a whole run with its sub-agents, too
    const far = await session.run(run.id);
    const own = await all(far?.events({ live: false }) ?? none());
    expect(own.map(({ event }) => event.type).slice(-1)).toEqual(["run.finished"]);
    way.cutAfter = 50_000;
    const events = await all(far?.events({ children: true, live: false }) ?? none());
    const names = (envelopes: readonly Envelope[]): readonly string[] =>
      envelopes
        .flatMap(({ sessionId, event }) => (isLive(event) ? [] : [`${sessionId} ${cursorOf(event)}`]))
        .toSorted();
    const shown = names((await tree).filter(({ event }) => !event.type.startsWith("step.")));
    expect(names(events).filter((name) => !shown.includes(name))).toEqual([]);
    expect(new Set(names(events)).size).toBe(events.length);
    expect(events.some(({ parent }) => parent !== undefined)).toBe(true);
    await remote.close();
  });

  it("tells each piece of a text once when the connection is cut in the middle of it", async () => {
    const pieces = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    await using w = await world([{ text: "One two three four five six", deltas: 6, hold: pieces[0].promise }]);
    await using way = await cuttable(Number(new URL(w.server.url).port));
    const remote = remoteRuntime(way.url, { token: "trusted" });
    const run = await remote.send("guide", "Go");
    let said = "";
    let cuts = 0;
    for await (const { event } of run.events()) {
      if (event.type !== "text.delta") continue;
      expect(event.offset).toBe(said.length);
      said += event.delta;
      if (cuts++ > 0) continue;
      way.cut();
      pieces[0].resolve();
    }
    expect(cuts).toBeGreaterThan(0);
    expect((await run.result()).text).toBe("One two three four five six");
    await remote.close();
  });

  it("says that a server is not there, and that something else answers", async () => {
    const other = await new Promise<Server>((resolve) => {
      const server = createServer((_request, response) => void response.writeHead(502).end("<html>Bad gateway</html>"));
      server.listen(0, "127.0.0.1", () => resolve(server));
    });
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const quick = {
      clock: {
        ...(await import("@capstan/core")).systemClock,
        after: (_ms: number, fire: () => void) => {
          const timer = setImmediate(fire);
          return () => clearImmediate(timer);
        },
      },
    };
    await expect(remoteRuntime(url, quick).sessions()).rejects.toMatchObject({ code: "server-unreachable" });
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    await expect(remoteRuntime(url, quick).send("guide", "Hi")).rejects.toMatchObject({
      code: "server-unreachable",
      retryable: true,
    });
  });
});
