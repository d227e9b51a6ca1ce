import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { fetchTransport } from "./fetch-transport.ts";
import { nodeTransport, type Transport, type TransportRequest } from "./transport.ts";

type Running = AsyncDisposable & { readonly url: string; readonly server: Server };

async function serve(listener: RequestListener): Promise<Running> {
  const server = createHttpServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function post(url: string, more: Partial<TransportRequest> = {}): TransportRequest {
  return {
    url,
    headers: { "content-type": "text/plain" },
    body: "hello",
    signal: new AbortController().signal,
    ...more,
  };
}

async function text(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    response.writeHead(418, { "X-Kind": "echo" });
    response.end(`${request.method} ${request.headers["content-type"]} ${Buffer.concat(chunks).toString()}`);
  });
};

const transports: readonly (readonly [string, Transport])[] = [
  ["nodeTransport", nodeTransport],
  ["fetchTransport", fetchTransport()],
];

for (const [name, transport] of transports) {
  describe(name, () => {
    it("posts a body of segments and answers with status, headers and bytes", async () => {
      await using running = await serve(echo);
      const { status, headers, chunks } = await transport(post(running.url, { body: ["häl", "lo"] }));
      expect({ status, kind: headers["x-kind"], text: await text(chunks) }).toEqual({
        status: 418,
        kind: "echo",
        text: "POST text/plain hällo",
      });
    });

    it("G25 tells a connection that cannot be made", async () => {
      const running = await serve(echo);
      const { url } = running;
      await running[Symbol.asyncDispose]();
      await expect(transport(post(url))).rejects.toMatchObject({ code: "model-network", retryable: true });
    });

    it("G25 tells a connection that breaks inside the body, after what had come", async () => {
      await using running = await serve((_request, response) => {
        response.write("half", () => response.destroy());
      });
      const { chunks } = await transport(post(running.url));
      const seen: string[] = [];
      const reading = (async () => {
        for await (const chunk of chunks) seen.push(Buffer.from(chunk).toString());
      })();
      await expect(reading).rejects.toMatchObject({ code: "model-network", retryable: true });
      expect(seen.join("")).toBe("half");
    });

    it("tells silence before the head and inside the body", async () => {
      await using silent = await serve(() => {});
      const refusal = { code: "model-timeout", retryable: true };
      await expect(transport(post(silent.url, { idleTimeoutMs: 50 }))).rejects.toMatchObject(refusal);
      await using stalling = await serve((_request, response) => void response.write("half"));
      const { chunks } = await transport(post(stalling.url, { idleTimeoutMs: 50 }));
      await expect(text(chunks)).rejects.toMatchObject(refusal);
    });

    it("does not follow a redirect", async () => {
      await using running = await serve((_request, response) => {
        response.writeHead(307, { location: "http://127.0.0.1:1/" });
        response.end();
      });
      const { status } = await transport(post(running.url));
      expect([307, 0]).toContain(status);
    });

    for (const when of ["before the head", "inside the body"]) {
      it(`closes the connection and throws the reason when aborted ${when}`, async () => {
        const closed = Promise.withResolvers<void>();
        const arrived = Promise.withResolvers<void>();
        await using running = await serve((request, response) => {
          request.socket.on("close", () => closed.resolve());
          if (when === "inside the body") response.write("half");
          else arrived.resolve();
        });
        const controller = new AbortController();
        const reason = new Error("stop");
        const reading = (async () => {
          const { chunks } = await transport(post(running.url, { signal: controller.signal }));
          for await (const _chunk of chunks) arrived.resolve();
        })();
        await arrived.promise;
        controller.abort(reason);
        await expect(reading).rejects.toBe(reason);
        await closed.promise;
      });
    }

    it("closes the connection when the reader stops early", async () => {
      const closed = Promise.withResolvers<void>();
      await using running = await serve((request, response) => {
        request.socket.on("close", () => closed.resolve());
        response.write("half");
      });
      const { chunks } = await transport(post(running.url));
      for await (const _chunk of chunks) break;
      await closed.promise;
    });

    it("throws at once when it is aborted already", async () => {
      const reason = new Error("stop");
      await expect(transport(post("http://127.0.0.1:1/", { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    });
  });
}

describe("nodeTransport", () => {
  it("uses one connection for one request after the other", async () => {
    const sockets = new Set<Socket>();
    await using running = await serve((request, response) => {
      sockets.add(request.socket);
      echo(request, response);
    });
    for (let turn = 0; turn < 3; turn++) await text((await nodeTransport(post(running.url))).chunks);
    expect(sockets.size).toBe(1);
  });

  it("sends again on a fresh connection when a kept one was dead and nothing was answered", async () => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const requests: number[] = [];
    let connections = 0;
    const server = createTcpServer((socket) => {
      const connection = connections++;
      let seen = 0;
      socket.on("error", () => {});
      socket.on("data", () => {
        requests.push(connection);
        // The first connection answers once, then dies on its second request.
        if (connection === 0 && seen++ > 0) socket.resetAndDestroy();
        else socket.write(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await text((await nodeTransport(post(url, { body: "" }))).chunks)).toBe("ok");
    expect(await text((await nodeTransport(post(url, { body: "" }))).chunks)).toBe("ok");
    expect(requests).toEqual([0, 0, 1]);
    server.close();
  });

  it("does not send again when a fresh connection dies", async () => {
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections++;
      socket.on("error", () => {});
      socket.on("data", () => socket.resetAndDestroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?key=secret`;
    const error: unknown = await nodeTransport(post(url)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "model-network" });
    expect(String(error)).not.toContain("secret");
    expect(connections).toBe(1);
    server.close();
  });

  it("holds the provider back while its reader is slow, and loses nothing", async () => {
    const total = 24 * 1024 * 1024;
    await using running = await serve((_request, response) => void response.end(Buffer.alloc(total, 97)));
    const { chunks } = await nodeTransport(post(running.url, { idleTimeoutMs: 2_000 }));
    let bytes = 0;
    let largest = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      largest = Math.max(largest, chunk.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(bytes).toBe(total);
    expect(largest).toBeLessThan(4 * 1024 * 1024);
  });
});
