import Anthropic from "@anthropic-ai/sdk";
import { agent, type Agent, type Envelope, type Json, jsonSchema, tool } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { framesIn, testServer, type TestServer } from "./testing-server.ts";

const anything = jsonSchema<Json>({ type: "object" });
const pay = tool({ name: "pay", description: "Pays.", input: anything, permission: "ask", execute: () => "paid" });

type World = AsyncDisposable & {
  readonly runtime: TestRuntime;
  readonly server: TestServer;
  readonly guide: Agent<string>;
};

async function world(replies: readonly ScriptedReply[], options: { readonly basePath?: string } = {}): Promise<World> {
  const guide = agent({ name: "guide", model: scriptedModel(replies), instructions: "Be brief.", tools: [pay] });
  const runtime = await testRuntime({ agents: [guide], permission: { mode: "ask" } });
  const server = await testServer({ runtime, ...options });
  return {
    runtime,
    server,
    guide,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await runtime.close();
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- looked into by the tests
async function body(response: Response, status = 200): Promise<any> {
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.anything()]);
  return text === "" ? undefined : JSON.parse(text);
}

async function code(response: Response): Promise<readonly unknown[]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

describe("httpHandler: sessions", () => {
  it("STREAM-05 makes, lists, reads, changes, forks and removes sessions", async () => {
    await using w = await world([{ text: "Hello." }], { basePath: "/api/agents" });
    const { ask } = w.server;
    const made = await body(await ask("/sessions", { json: { agent: "guide", key: "k1", title: "One" } }), 201);
    expect(made).toMatchObject({ agent: "guide", key: "k1" });
    expect(await body(await ask("/sessions", { json: { agent: "guide", key: "k1" } }), 201)).toEqual(made);
    const path = `/sessions/${made.id}`;
    const sent = await body(await ask(`${path}/send`, { json: { input: "Hi" } }), 202);
    const result = await body(await ask(`${path}/runs/${sent.runId}?waitMs=20000`));
    expect(result).toMatchObject({ status: "finished", reason: "end-turn", text: "Hello.", runId: sent.runId });
    const { messages } = await body(await ask(`${path}/messages`));
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant"]);
    expect((await body(await ask(`${path}/messages?limit=1`))).messages).toEqual(messages.slice(1));
    expect((await ask(path, { method: "PATCH", json: { title: "Two" } })).status).toBe(204);
    expect((await body(await ask(path))).state).toMatchObject({ title: "Two", status: "idle" });
    const fork = await body(await ask(`${path}/fork`, { json: {} }), 201);
    expect(
      (await body(await ask("/sessions"))).sessions.map(({ sessionId }: { sessionId: string }) => sessionId),
    ).toEqual([fork.id, made.id]);
    expect((await ask(path, { method: "DELETE" })).status).toBe(204);
    expect(await code(await ask(path))).toEqual([404, "session-not-found"]);
    expect(await body(await ask(`/sessions/${fork.id}/idle?waitMs=100`))).toEqual({ running: false, idle: true });
  });

  it("gives the same run for the same Idempotency-Key, and refuses another body under it", async () => {
    await using w = await world([{ text: "Hello." }]);
    const headers = { "idempotency-key": "once" };
    const send = (input: string): Promise<Response> =>
      w.server.ask("/send", { json: { agent: "guide", input }, headers });
    const first = await body(await send("Hi"), 202);
    expect(await body(await send("Hi"), 202)).toEqual(first);
    expect(await code(await send("Other"))).toEqual([409, "idempotency-conflict"]);
    const create = (): Promise<Response> => w.server.ask("/sessions", { json: { agent: "guide" }, headers });
    expect(await body(await create(), 201)).toEqual(await body(await create(), 201));
  });

  it("refuses another opening under an Idempotency-Key, by itself and with an input", async () => {
    await using w = await world([{ text: "Hello." }]);
    const headers = { "idempotency-key": "once" };
    const opening = { agent: "guide", title: "One", metadata: { order: 7 } };
    for (const [path, more, status] of [
      ["/sessions", {}, 201],
      ["/send", { input: "Hi" }, 202],
    ] as const) {
      const open = (given: object): Promise<Response> =>
        w.server.ask(path, { json: { ...opening, ...more, ...given }, headers });
      const first = await body(await open({}), status);
      for (const other of [{ title: "Two" }, { metadata: { order: 8 } }, { metadata: undefined }])
        expect(await code(await open(other))).toEqual([409, "idempotency-conflict"]);
      expect(await body(await open({}), status)).toEqual(first);
    }
    expect(await w.runtime.sessions()).toHaveLength(2);
  });

  it("sends nothing when the events of the answer cannot be given", async () => {
    await using w = await world([{ text: "Hello." }]);
    const { id } = await body(await w.server.ask("/sessions", { json: { agent: "guide" } }), 201);
    const ask = (query: string, headers: Record<string, string> = {}): Promise<Response> =>
      w.server.ask(`/sessions/${id}/send${query}`, {
        json: { input: "Hi" },
        headers: { accept: "text/event-stream", ...headers },
      });
    expect(await code(await ask("?format=xml"))).toEqual([400, "input-invalid"]);
    expect(await code(await ask("", { "last-event-id": "first" }))).toEqual([400, "cursor-invalid"]);
    expect(await code(await ask("?after=end"))).toEqual([400, "cursor-invalid"]);
    expect(await body(await w.server.ask(`/sessions/${id}/messages`))).toEqual({ messages: [] });
  });

  it("gives no messages where none are asked for", async () => {
    await using w = await world([{ text: "Hello." }]);
    const { sessionId } = await body(await w.server.ask("/send", { json: { agent: "guide", input: "Hi" } }), 202);
    await body(await w.server.ask(`/sessions/${sessionId}/runs/latest?waitMs=20000`));
    const messages = async (limit: number): Promise<number> =>
      (await body(await w.server.ask(`/sessions/${sessionId}/messages?limit=${limit}`))).messages.length;
    expect([await messages(0), await messages(1), await messages(9)]).toEqual([0, 1, 2]);
  });

  it("lists open requests, takes an answer once, and goes on", async () => {
    await using w = await world([{ calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "Done." }]);
    const { ask } = w.server;
    const sent = await body(await ask("/send", { json: { agent: "guide", input: "Pay" } }), 202);
    const path = `/sessions/${sent.sessionId}`;
    const waiting = await body(await ask(`${path}/runs/latest?waitMs=20000`));
    expect(waiting.status).toBe("waiting");
    const [request] = (await body(await ask("/requests"))).requests;
    expect(request).toMatchObject({ requestId: waiting.requests[0].requestId, body: { tool: "pay" } });
    const answer = { requestId: request.requestId, answer: { type: "permission", allow: true } };
    expect(await code(await ask(`${path}/respond`, { json: { ...answer, answer: { type: "question" } } }))).toEqual([
      400,
      "request-invalid",
    ]);
    expect(
      await code(
        await ask(`${path}/respond`, { json: { ...answer, answer: { ...answer.answer, remember: "global" } } }),
      ),
    ).toEqual([403, "permission-denied"]);
    expect((await ask(`${path}/respond`, { json: answer })).status).toBe(204);
    expect(await code(await ask(`${path}/respond`, { json: answer }))).toEqual([409, "request-closed"]);
    expect((await body(await ask(`${path}/runs/${sent.runId}?waitMs=20000`))).text).toBe("Done.");
  });

  it("describes itself as OpenAPI", async () => {
    await using w = await world([], { basePath: "/v1" });
    const described = await body(await w.server.ask("/openapi.json"));
    expect(described.openapi).toBe("3.1.0");
    expect(
      described.paths["/v1/sessions/{id}/send"].post.requestBody.content["application/json"].schema.properties.input,
    ).toBeDefined();
    expect(Object.keys(described.paths).length).toBeGreaterThan(15);
  });
});

describe("httpHandler: events", () => {
  it("goes on behind any cursor without a gap or a repeat, by Last-Event-ID and by `after`", async () => {
    await using w = await world([{ text: "Hello there, you.", deltas: 6 }]);
    const { ask } = w.server;
    const sent = await body(await ask("/send", { json: { agent: "guide", input: "Hi" } }), 202);
    const path = `/sessions/${sent.sessionId}`;
    await body(await ask(`${path}/runs/latest?waitMs=20000`));
    const read = async (init: {
      readonly query?: string;
      readonly headers?: Record<string, string>;
    }): Promise<readonly unknown[]> => {
      const response = await ask(`${path}/events?live=0${init.query ?? ""}`, { headers: init.headers ?? {} });
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      expect(response.headers.get("cache-control")).toContain("no-transform");
      const ids: unknown[] = [];
      for await (const { id, data } of framesIn(response)) {
        ids.push(id);
        if ((data as Envelope).event.type === "run.finished") break;
      }
      return ids;
    };
    const all = await read({});
    expect(all[0]).toBe("1");
    for (const [at, cursor] of all.slice(0, -1).entries()) {
      expect(await read({ query: `&after=${String(cursor)}` })).toEqual(all.slice(at + 1));
      expect(await read({ headers: { "last-event-id": String(cursor) } })).toEqual(all.slice(at + 1));
    }
    for (const wrong of ["9999", "-1", "x", "1e3", "41.17.3"])
      expect(await code(await ask(`${path}/events?after=${wrong}`))).toEqual([400, "cursor-invalid"]);
  });

  it("STREAM-03 speaks Anthropic's events, readable by the raw iterator of its SDK", async () => {
    await using w = await world([{ reasoning: "Hm.", text: "Hello." }]);
    const client = new Anthropic({
      apiKey: "ann",
      baseURL: w.server.url,
      maxRetries: 0,
      fetch: (_url, init) =>
        w.server.ask("/send?format=anthropic", {
          json: { agent: "guide", input: "Hi" },
          headers: { accept: "text/event-stream" },
          signal: init?.signal ?? null,
        }),
    });
    const stream = await client.messages.create({
      model: "any",
      max_tokens: 9,
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    let text = "";
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    }
    expect(text).toBe("Hello.");
    expect(types.at(0)).toBe("agent_start");
    expect(types.at(-1)).toBe("agent_stop");
    expect(types).toContain("message_stop");
  });

  it("writes lines of JSON too", async () => {
    await using w = await world([{ text: "Hello." }]);
    const response = await w.server.ask("/send?format=ndjson", {
      json: { agent: "guide", input: "Hi" },
      headers: { accept: "text/event-stream" },
    });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await response.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toEqual({ type: "end" });
    expect(lines.at(-2).event.type).toBe("run.finished");
  });

  it("does not end a run whose reader goes away", async () => {
    const hold = Promise.withResolvers<void>();
    await using w = await world([{ text: "Hello there.", hold: hold.promise }]);
    const leaving = new AbortController();
    const response = await w.server.ask("/send", {
      json: { agent: "guide", input: "Hi" },
      headers: { accept: "text/event-stream" },
      signal: leaving.signal,
    });
    let sessionId = "";
    await expect(async () => {
      for await (const { data } of framesIn(response)) {
        sessionId = (data as Envelope).sessionId;
        if ((data as Envelope).event.type === "text.delta") leaving.abort();
      }
    }).rejects.toThrow();
    hold.resolve();
    expect(await body(await w.server.ask(`/sessions/${sessionId}/runs/latest?waitMs=20000`))).toMatchObject({
      reason: "end-turn",
      text: "Hello there.",
    });
  });

  it("keeps what plugins record and what agents are told to itself", async () => {
    await using w = await world([{ text: "Hello." }]);
    const sent = await body(await w.server.ask("/send", { json: { agent: "guide", input: "Hi" } }), 202);
    await body(await w.server.ask(`/sessions/${sent.sessionId}/runs/latest?waitMs=20000`));
    expect((await body(await w.server.ask(`/sessions/${sent.sessionId}`))).state.instructions).toEqual({});
  });
});

describe("httpHandler: who may do what", () => {
  it("does nothing for nobody, on the loopback too", async () => {
    await using w = await world([]);
    for (const path of ["/sessions", "/openapi.json", "/nowhere", "/chat/guide/x/stream"])
      expect(await code(await w.server.ask(path, { token: "" }))).toEqual([401, "permission-denied"]);
    expect(await code(await w.server.ask("/sessions", { token: "", json: { agent: "guide" } }))).toEqual([
      401,
      "permission-denied",
    ]);
    expect(await w.runtime.sessions()).toEqual([]);
  });

  it("shows of another tenant's session what it shows of an unknown one", async () => {
    await using w = await world([{ text: "Hello." }]);
    const { ask } = w.server;
    const { id } = await body(await ask("/sessions", { json: { agent: "guide", key: "chat" }, token: "ann" }), 201);
    const unknown = `ses_${"0".repeat(id.length - 4)}`;
    for (const [path, init] of [
      ["", {}],
      ["/events", {}],
      ["/messages", {}],
      ["/runs/latest", {}],
      ["/idle", {}],
      ["/send", { json: { input: "Hi" } }],
      ["/fork", { json: {} }],
      ["/interrupt", { json: {} }],
      ["/respond", { json: { requestId: "r", answer: { type: "permission", allow: true } } }],
      ["", { method: "DELETE" }],
      ["", { method: "PATCH", json: { title: "x" } }],
    ] as const) {
      const [theirs, none] = await Promise.all([
        ask(`/sessions/${id}${path}`, { ...init, token: "bob" }),
        ask(`/sessions/${unknown}${path}`, { ...init, token: "bob" }),
      ]);
      expect([theirs.status, (await theirs.text()).replaceAll(id, "?")]).toEqual([
        none.status,
        (await none.text()).replaceAll(unknown, "?"),
      ]);
      expect(theirs.status).toBe(404);
    }
    for (const list of ["/sessions", "/requests"]) {
      const behind = async (before: string): Promise<readonly unknown[]> => {
        const response = await ask(`${list}?before=${before}`, { token: "bob" });
        return [response.status, (await response.text()).replaceAll(before, "?")];
      };
      expect(await behind(id)).toEqual(await behind(unknown));
    }
    expect((await body(await ask("/sessions", { token: "bob" }))).sessions).toEqual([]);
    expect((await ask("/chat/guide/chat/stream", { token: "bob" })).status).toBe(204);
    expect((await body(await ask("/sessions", { token: "ann" }))).sessions.length).toBe(1);
    expect((await body(await ask("/sessions", { token: "trusted" }))).sessions.length).toBe(1);
    const other = await body(await ask("/sessions", { json: { agent: "guide", key: "chat" }, token: "bob" }), 201);
    expect(other.id).not.toBe(id);
  });

  it("G13 takes regular expressions from trusted callers only", async () => {
    await using w = await world([{ text: '{"list":["x"]}' }]);
    const items = { type: "string", pattern: "^(x+)+$" };
    const outputSchema = { type: "object", properties: { list: { type: "array", items } } };
    const json = { agent: "guide", input: "Hi", outputSchema };
    expect(await code(await w.server.ask("/send", { json }))).toEqual([403, "permission-denied"]);
    expect(await w.runtime.sessions()).toEqual([]);
    await body(await w.server.ask("/send", { json, token: "trusted" }), 202);
    const named = { type: "object", properties: { pattern: { type: "string" } } }; // a member of this name is none
    await body(await w.server.ask("/send", { json: { ...json, outputSchema: named } }), 202);
  });

  it("keeps somebody whose id is the name of a tenant out of it", async () => {
    await using w = await world([]);
    await body(await w.server.ask("/sessions", { json: { agent: "guide" }, token: "ann@acme" }), 201);
    await body(await w.server.ask("/sessions", { json: { agent: "guide" }, token: "acme" }), 201);
    const seen = async (token: string): Promise<number> =>
      (await body(await w.server.ask("/sessions", { token }))).sessions.length;
    expect([await seen("bob@acme"), await seen("acme"), await seen("trusted")]).toEqual([1, 1, 2]);
  });

  it("takes what the operator decides from trusted callers only", async () => {
    await using w = await world([{ text: "Hello." }]);
    const { ask } = w.server;
    for (const extra of [{ mode: "bypass" }, { workspace: "/" }, { messages: [] }])
      expect(await code(await ask("/sessions", { json: { agent: "guide", ...extra } }))).toEqual([
        403,
        "permission-denied",
      ]);
    for (const extra of [
      { mode: "bypass" },
      { model: "x/y" },
      { limits: { turns: 9 } },
      { instructions: "x" },
      { tools: [] },
      { settings: {} },
      { plugins: [] },
    ])
      expect(await code(await ask("/send", { json: { agent: "guide", input: "Hi", ...extra } }))).toEqual([
        403,
        "permission-denied",
      ]);
    await body(
      await ask("/send", { json: { agent: "guide", input: "Hi", limits: { turns: 9 } }, token: "trusted" }),
      202,
    );
  });

  it("answers to its own names only, and speaks to pages of allowed origins only", async () => {
    const runtime = await testRuntime({
      agents: [agent({ name: "guide", model: scriptedModel([]), instructions: "x" })],
    });
    await using server = await testServer({
      runtime,
      hosts: ["agents.example.com"],
      origins: ["https://app.example.com"],
    });
    const raw = (headers: readonly string[], method = "GET"): Promise<string> =>
      new Promise((resolve, reject) => {
        const { port } = new URL(server.url);
        const socket = connect(Number(port), "127.0.0.1", () =>
          socket.write(
            `${method} /sessions HTTP/1.1\r\n${headers.join("\r\n")}\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n`,
          ),
        );
        let text = "";
        socket.on("data", (piece) => (text += String(piece)));
        socket.on("end", () => resolve(text));
        socket.on("error", reject);
      });
    expect(await raw(["Host: 127.0.0.1"])).toContain("200 OK");
    expect(await raw(["Host: LOCALHOST:80"])).toContain("200 OK");
    expect(await raw(["Host: agents.example.com:8443"])).toContain("200 OK");
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "agents.example.com.evil.example",
    ])
      expect(await raw([`Host: ${host}`])).toContain("403 Forbidden");
    expect(await raw(["Host: localhost", "Origin: http://localhost"])).toContain("200 OK");
    const allowed = await raw(["Host: localhost", "Origin: https://app.example.com"]);
    expect(allowed).toContain("200 OK");
    expect(allowed.toLowerCase()).toContain("access-control-allow-origin: https://app.example.com");
    for (const origin of [
      "https://evil.example",
      "null",
      "https://app.example.com.evil.example",
      "http://localhost:9",
    ]) {
      const refused = await raw(["Host: localhost", `Origin: ${origin}`]);
      expect(refused).toContain("403 Forbidden");
      expect(refused.toLowerCase()).not.toContain("access-control-allow-origin");
    }
    expect(await raw(["Host: localhost", "Sec-Fetch-Site: cross-site"])).toContain("403 Forbidden");
    expect(await raw(["Host: localhost", "Origin: https://app.example.com"], "OPTIONS")).toContain("204 No Content");
    expect(await raw(["Host: localhost", "Origin: https://evil.example"], "OPTIONS")).toContain("403 Forbidden");
    await runtime.close();
  });

  it("refuses bodies that are too deep, too long, no JSON, of another type or with unknown members", async () => {
    await using w = await world([]);
    const post = (text: string, type = "application/json"): Promise<Response> =>
      w.server.ask("/sessions", { method: "POST", body: text, headers: { "content-type": type } });
    const deep = `{"agent":"guide","metadata":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    for (const text of [deep, "{", "[]", "null", '"x"', '{"agent":1}', '{"agent":"guide","wrong":1}', "\u0000", "{}"])
      expect(await code(await post(text))).toEqual([400, "input-invalid"]);
    expect(await code(await post('{"agent":"guide"}', "text/plain"))).toEqual([400, "input-invalid"]);
    expect(await code(await post('{"agent":"nobody"}'))).toEqual([404, "agent-unknown"]);
    const bytes = await w.server.ask("/sessions", {
      method: "POST",
      body: new Uint8Array([0x7b, 0xff, 0x7d]),
      headers: { "content-type": "application/json" },
    });
    expect(await code(bytes)).toEqual([400, "input-invalid"]);
    expect(await code(await w.server.ask("/send", { json: { agent: "guide", input: "x".repeat(9_000_000) } }))).toEqual(
      [413, "input-too-large"],
    );
    expect(await w.runtime.sessions()).toEqual([]);
    await body(await post('{"agent":"guide","metadata":{"__proto__":{"x":1}}}'), 201);
  });

  it("cuts its streams when it closes, refuses what comes, and cancels nothing", async () => {
    const hold = Promise.withResolvers<void>();
    await using w = await world([{ text: "Hello.", hold: hold.promise }]);
    const sent = await body(await w.server.ask("/send", { json: { agent: "guide", input: "Hi" } }), 202);
    const response = await w.server.ask(`/sessions/${sent.sessionId}/events`);
    const frames: unknown[] = [];
    for await (const { data, event } of framesIn(response)) {
      frames.push(event);
      if ((data as Envelope).event?.type === "text.delta") w.server.handle.close();
    }
    expect(frames).not.toContain("end");
    const refused = await w.server.ask("/sessions");
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await code(refused)).toEqual([503, "closed"]);
    hold.resolve();
    expect(await (await (await w.runtime.session(sent.sessionId)).run())?.text()).toBe("Hello.");
  });
});
