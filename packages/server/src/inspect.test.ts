import {
  agent,
  jsonSchema,
  type Json,
  memoryStore,
  openRuntime,
  storeEngine,
  systemClock,
  systemIds,
  tool,
} from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { testServer, type TestServer } from "./testing-server.ts";

const PICTURE = Buffer.alloc(40_000, 7);
const look = tool({
  name: "look",
  description: "Looks.",
  input: jsonSchema<Json>({ type: "object" }),
  rerun: "safe",
  execute: () => ({
    content: [{ type: "file", mediaType: "image/png", data: { type: "base64", base64: PICTURE.toString("base64") } }],
  }),
});

type World = AsyncDisposable & { readonly server: TestServer; readonly sessionId: string };

/** A session of the caller `ann` in which a tool gave a picture. */
async function world(): Promise<World> {
  const engine = storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) });
  const model = scriptedModel([{ calls: [{ name: "look", input: {} }] }, { text: "Seen." }]);
  const guide = agent({ name: "guide", model, instructions: "Be brief.", tools: [look] });
  const runtime = await openRuntime({ agents: [guide], engine, work: "all", permission: { mode: "never-ask" } });
  const server = await testServer({ runtime, agents: ["guide"], blob: (hash) => engine.blob(hash) });
  const { sessionId, runId } = await json(await server.ask("/send", { json: { agent: "guide", input: "Look" } }));
  await server.ask(`/sessions/${sessionId}/runs/${runId}?waitMs=20000`);
  return {
    server,
    sessionId,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await runtime.close();
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- looked into by the tests
const json = async (response: Response): Promise<any> => response.json();

/** Facts of the session, as its events give them. */
async function seqOf(w: World, type: string, nth: number): Promise<number> {
  const { state } = await json(await w.server.ask(`/sessions/${w.sessionId}`));
  const response = await w.server.ask(`/sessions/${w.sessionId}/events?live=0&format=ndjson`);
  const found: number[] = [];
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(piece);
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    const events = lines
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line).event as { seq: number; type: string });
    found.push(...events.filter((event) => event.type === type).map(({ seq }) => seq));
    if (events.some(({ seq }) => seq >= state.head)) break;
  }
  return found[nth] ?? -1;
}

describe("inspect routes", () => {
  it("WEB-02 tell a trusted caller what the model was asked in a turn, and nobody else", async () => {
    await using w = await world();
    const [first, second] = [await seqOf(w, "turn.started", 0), await seqOf(w, "turn.started", 1)];
    const path = (seq: number | string): string => `/sessions/${w.sessionId}/turns/${seq}/request`;
    const request = await json(await w.server.ask(path(first), { token: "trusted" }));
    expect(request).toMatchObject({ model: "scripted/model", system: "Be brief.", tools: [{ name: "look" }] });
    expect(request.messages.map(({ role }: { role: string }) => role)).toEqual(["user"]);
    const later = await json(await w.server.ask(path(second), { token: "trusted" }));
    expect(later.messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
    expect((await w.server.ask(path(first))).status).toBe(403);
    for (const seq of [first + 1, 1_000, 0, "x"])
      expect([seq, (await w.server.ask(path(seq), { token: "trusted" })).status]).toEqual([seq, 400]);
  });

  it("WEB-02 give the bytes that a session names, never those of another one or the system text to strangers", async () => {
    await using w = await world();
    const { messages } = await json(await w.server.ask(`/sessions/${w.sessionId}/messages`));
    const hash: string = messages[2].parts[0].output.content[0].data.hash;
    const file = await w.server.ask(`/sessions/${w.sessionId}/blobs/${hash}`);
    expect(file.status).toBe(200);
    expect(Buffer.from(await file.arrayBuffer()).equals(PICTURE)).toBe(true);
    expect(file.headers.get("content-disposition")).toBe("attachment");
    expect(file.headers.get("content-type")).toBe("application/octet-stream");
    const other = await json(await w.server.ask("/sessions", { json: { agent: "guide" } }));
    expect((await w.server.ask(`/sessions/${other.id}/blobs/${hash}`)).status).toBe(404);
    expect((await w.server.ask(`/sessions/${w.sessionId}/blobs/${hash}`, { token: "bob" })).status).toBe(404);
    const turn = `/sessions/${w.sessionId}/turns/${await seqOf(w, "turn.started", 0)}/request`;
    const { prefixHash } = await json(await w.server.ask(turn, { token: "trusted" }));
    expect((await w.server.ask(`/sessions/${w.sessionId}/blobs/${prefixHash}`)).status).toBe(404);
    expect((await w.server.ask(`/sessions/${w.sessionId}/blobs/..%2f..%2fx`)).status).toBe(400);
  });

  it("WEB-01 name the agents that are offered, and serve pages to whoever has no token yet", async () => {
    await using w = await world();
    expect(await json(await w.server.ask("/agents"))).toEqual({ agents: ["guide"] });
    const pages = (request: Request): Promise<Response | undefined> =>
      Promise.resolve(request.url.endsWith("/page") ? new Response("hello") : undefined);
    const engine = storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) });
    const runtime = await openRuntime({ agents: [], engine, work: "none" });
    await using server = await testServer({ runtime, pages });
    expect(await (await server.ask("/page", { token: "" })).text()).toBe("hello");
    expect((await server.ask("/sessions", { token: "" })).status).toBe(401);
    expect((await server.ask("/page", { token: "", headers: { origin: "https://evil.example" } })).status).toBe(403);
    await runtime.close();
  });
});
