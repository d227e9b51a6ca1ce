import { agent, type Envelope, systemClock, type Clock } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import fc from "fast-check";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { SERVER_LIMITS } from "./server-limits.ts";
import { streamResponse } from "./http/stream-response.ts";
import { framesIn, testServer, type TestServer } from "./testing-server.ts";

type World = AsyncDisposable & { readonly runtime: TestRuntime; readonly server: TestServer };

async function world(
  replies: readonly ScriptedReply[],
  options: { readonly clock?: Clock; readonly onError?: (error: unknown) => void } = {},
): Promise<World> {
  const runtime = await testRuntime({
    agents: [agent({ name: "guide", model: scriptedModel(replies), instructions: "x" })],
  });
  const server = await testServer({ runtime, ...options });
  return {
    runtime,
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await runtime.close();
    },
  };
}

/** A clock whose timers of this length fire at once. */
function hasty(ms: number): Clock {
  return {
    ...systemClock,
    after: (given, fire, options) => systemClock.after(given === ms ? 0 : given, fire, options),
  };
}

function raw(
  url: string,
  bytes: string | Uint8Array,
  { keep = false } = {},
): Promise<{ readonly text: string; readonly socket: Socket }> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(bytes));
    let text = "";
    socket.on("data", (piece) => {
      text += piece.toString("latin1");
      if (keep) resolve({ text, socket });
    });
    socket.on("error", () => resolve({ text, socket }));
    socket.on("close", () => resolve({ text, socket }));
  });
}

async function alive({ server }: World): Promise<void> {
  expect((await server.ask("/sessions")).status).toBe(200);
}

describe("streamResponse", () => {
  const options = { headers: {}, clock: systemClock };

  it("reads no further ahead than its reader, and is left when the reader goes", async () => {
    let made = 0;
    let left = false;
    async function* source(): AsyncGenerator<string> {
      try {
        for (;;) yield `${++made} ${"x".repeat(1_000)}\n`;
      } finally {
        left = true;
      }
    }
    let ended = 0;
    const response = streamResponse(source(), { ...options, ended: () => void ended++ });
    await new Promise((resolve) => setTimeout(resolve, 20)); // whatever it makes, it makes by then
    const ahead = made;
    expect(ahead * 1_000).toBeLessThan((SERVER_LIMITS.streamBytes + SERVER_LIMITS.writeChars) * 2);
    const reader = response.body?.getReader();
    let read = 0;
    while (read < 1_000_000) read += (await reader?.read())?.value?.length ?? Infinity;
    expect(made).toBeGreaterThan(900);
    await reader?.cancel();
    expect([ended, left]).toEqual([1, true]);
  });

  it("lets a reader go that takes nothing, and says that it is alive while the source is silent", async () => {
    async function* endless(): AsyncGenerator<string> {
      for (;;) yield "x".repeat(10_000);
    }
    const gone = Promise.withResolvers<void>();
    const stalled = streamResponse(endless(), {
      headers: {},
      clock: hasty(SERVER_LIMITS.stallMs),
      ended: gone.resolve,
    });
    await gone.promise;
    await expect(stalled.text()).rejects.toThrow("stood still");
    async function* silent(): AsyncGenerator<string> {
      await new Promise(() => undefined);
      yield "";
    }
    const response = streamResponse(silent(), {
      headers: {},
      clock: hasty(SERVER_LIMITS.keepAliveMs),
      ended: () => undefined,
    });
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(": keep-alive\n\n");
    await reader?.cancel();
  });
});

describe("httpHandler under faults", () => {
  it("keeps others going beside readers that stand still", async () => {
    const text = "word ".repeat(400_000);
    await using w = await world([{ text, deltas: 4_000 }]);
    const body = JSON.stringify({ agent: "guide", input: "Go" });
    const request = `POST /send HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const stalled = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { socket } = await raw(w.server.url, request, { keep: true });
        return socket.pause();
      }),
    );
    let said = "";
    for await (const { data } of framesIn(
      await w.server.ask("/send", { json: { agent: "guide", input: "Go" }, headers: { accept: "text/event-stream" } }),
    )) {
      const { event } = data as Envelope;
      if (event?.type === "text.delta") said = said.slice(0, event.offset) + event.delta;
      if (event?.type === "message.added" && event.message.role === "assistant") {
        const [part] = event.message.parts;
        expect(part?.type === "text" && part.text.startsWith(said)).toBe(true);
      }
      if (event?.type === "run.finished") break;
    }
    for (const socket of stalled) socket.destroy();
    await alive(w);
  });

  it("survives what is no HTTP, half a request, a slow one, and bytes at random", async () => {
    const errors: unknown[] = [];
    await using w = await world([{ text: "Hello." }], { onError: (error) => void errors.push(error) });
    const { url } = w.server;
    for (const bytes of [
      "hello\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET /sessions HTTP/1.1\r\n\r\n", // without Host
      `GET /sessions HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
      "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
      "GET /sessions/%zz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n",
      "GET /sessions/%2e%2e%2f HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n",
      "GET http://evil.example/sessions HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
      "GET //evil.example/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ]) {
      const { text } = await raw(url, bytes);
      expect(text).toMatch(/^(HTTP\/1\.1 (4\d\d|505) |$)/);
    }
    const half = connect(Number(new URL(url).port), "127.0.0.1", () =>
      half.write(
        "POST /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
      ),
    );
    half.on("error", () => undefined);
    await alive(w);
    half.destroy();
    expect(errors).toEqual([]); // who leaves is no failure of the server
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (noise) => {
        const { socket } = await Promise.race([
          raw(url, noise),
          raw(url, Buffer.concat([noise, Buffer.from("\r\n\r\n\r\n\r\n")])),
        ]);
        socket.destroy();
      }),
      { numRuns: 30 },
    );
    await alive(w);
  });

  it("gives up on a body that does not come, and on an authorize that does not answer", async () => {
    await using slow = await world([], { clock: hasty(SERVER_LIMITS.bodyMs) });
    const { text } = await raw(
      slow.server.url,
      "POST /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{",
    );
    expect(text).toContain("504 Gateway Timeout");
    const runtime = await testRuntime({
      agents: [agent({ name: "guide", model: scriptedModel([]), instructions: "x" })],
    });
    await using silent = await testServer({
      runtime,
      clock: hasty(SERVER_LIMITS.authorizeMs),
      authorize: () => new Promise(() => undefined),
    });
    expect((await silent.ask("/sessions")).status).toBe(504);
    await runtime.close();
  });

  it("does nothing when authorize throws or gives something that is no caller, and tells no client why", async () => {
    const runtime = await testRuntime({
      agents: [agent({ name: "guide", model: scriptedModel([]), instructions: "x" })],
    });
    const errors: unknown[] = [];
    const given: unknown[] = [undefined, {}, { id: "" }, { id: 7 }, "ann", true];
    for (const caller of given) {
      await using server = await testServer({ runtime, authorize: () => caller as never });
      expect((await server.ask("/sessions")).status).toBe(401);
    }
    await using server = await testServer({
      runtime,
      onError: (error) => void errors.push(error),
      authorize: () => {
        throw new Error("password of the database is 1234");
      },
    });
    const response = await server.ask("/sessions");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("1234");
    expect(errors).toHaveLength(1);
    await runtime.close();
  });

  it("G12 takes bodies up to a sum of all that are worked on, and gives the room back", async () => {
    await using w = await world([]);
    const piece = new Uint8Array(SERVER_LIMITS.bodyBytes / 2).fill(0x20);
    const sending: ReadableStreamDefaultController<Uint8Array>[] = [];
    const post = (): Promise<Response> => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(piece);
          sending.push(controller);
        },
      });
      const headers = { host: "localhost", authorization: "Bearer ann", "content-type": "application/json" };
      const init = { method: "POST", body, headers, duplex: "half" } as const;
      return w.server.handle(new Request("http://localhost/sessions", init));
    };
    const open = Array.from({ length: SERVER_LIMITS.bodiesBytes / piece.length }, post);
    const refused = await post();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    for (const controller of sending.slice(0, open.length)) controller.error(new Error("it broke off"));
    expect((await Promise.all(open)).map(({ status }) => status)).toEqual(open.map(() => 400));
    const small = await w.server.ask("/sessions", { json: { agent: "guide" } });
    expect(small.status).toBe(201);
  });

  it("does nothing for a tenant that is none, and tells the operator", async () => {
    const runtime = await testRuntime({
      agents: [agent({ name: "guide", model: scriptedModel([]), instructions: "x" })],
    });
    for (const tenant of [7, "", {}, "caller/ann"]) {
      const errors: unknown[] = [];
      const authorize = (): never => ({ id: "ann", tenant }) as never;
      await using server = await testServer({ runtime, authorize, onError: (error) => void errors.push(error) });
      expect((await server.ask("/sessions")).status).toBe(500);
      expect(errors).toHaveLength(1);
    }
    await runtime.close();
  });

  it("answers no request whose line names another host than its header", async () => {
    await using w = await world([]);
    const { host } = new URL(w.server.url);
    const ask = async (target: string): Promise<string | undefined> => {
      const head = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ann\r\nConnection: close\r\n\r\n`;
      return (await raw(w.server.url, head)).text.split(" ")[1];
    };
    expect(await ask(`http://${host}/sessions`)).toBe("200");
    for (const target of ["http://evil.example/sessions", "http://127.0.0.1:1/sessions", "ftp://x/sessions", "*"])
      expect([target, await ask(target)]).toEqual([target, "400"]);
    await alive(w);
  });

  it("tells the result of a run that is over at once, however slowly it is read", async () => {
    const clock: Clock = {
      ...systemClock,
      after(ms, fire, options) {
        if (ms > 0) return systemClock.after(ms, fire, options);
        queueMicrotask(fire); // a moment that is over before anything is read
        return () => undefined;
      },
    };
    const hold = Promise.withResolvers<void>();
    await using w = await world([{ text: "Hello." }, { text: "Wait.", hold: hold.promise }], { clock });
    const { sessionId } = (await (await w.server.ask("/send", { json: { agent: "guide", input: "Hi" } })).json()) as {
      sessionId: string;
    };
    const path = `/sessions/${sessionId}/runs/latest`;
    expect((await w.server.ask(`${path}?waitMs=20000`)).status).toBe(200);
    const response = await w.server.ask(path);
    expect([response.status, await response.json()]).toMatchObject([200, { status: "finished", text: "Hello." }]);
    await w.server.ask(`/sessions/${sessionId}/send`, { json: { input: "More" } });
    expect((await w.server.ask(path)).status).toBe(202);
    hold.resolve();
  });

  it("refuses streams beyond its limit with a hint to come back, and gives places back", async () => {
    const hold = new Promise<never>(() => undefined);
    await using w = await world([{ text: "Hello.", hold }]);
    const { id } = (await (await w.server.ask("/sessions", { json: { agent: "guide" } })).json()) as { id: string };
    const open: AbortController[] = [];
    const stream = async (): Promise<Response> => {
      const leaving = new AbortController();
      open.push(leaving);
      return w.server.handle(
        new Request(`http://localhost/sessions/${id}/events?after=end`, {
          headers: { host: "localhost", authorization: "Bearer ann" },
          signal: leaving.signal,
        }),
      );
    };
    const responses: Response[] = [];
    for (let count = 0; count < SERVER_LIMITS.streamsOfCaller; count++) responses.push(await stream());
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    const refused = await stream();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    // what would be answered by a stream is not said either: whoever is told to come back says it again
    const json = { input: "Hi" };
    const sent = await w.server.ask(`/sessions/${id}/send`, { json, headers: { accept: "text/event-stream" } });
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] };
    const chat = await w.server.ask("/chat/guide", { json: { id: "c1", messages: [message] } });
    expect([sent.status, chat.status]).toEqual([429, 429]);
    expect(await (await w.runtime.session(id)).messages()).toEqual([]);
    expect(await w.runtime.sessions()).toHaveLength(1);
    await responses[0]?.body?.cancel();
    expect((await stream()).status).toBe(200);
    await Promise.all(responses.slice(1).flatMap(({ body }) => (body === null ? [] : [body.cancel()])));
  });
});
