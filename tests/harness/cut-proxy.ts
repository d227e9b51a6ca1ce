/** A way to a server that can be cut: before an answer comes back, or altogether. */

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export type CutProxy = {
  readonly port: number;
  /** The next request that holds this text reaches the server; its answer does not come back, and the connection ends. */
  cutAfter(text: string): void;
  /** No connection, and no new one, until it is mended. */
  down(): void;
  mend(): void;
  /** Connections that were made. */
  readonly made: number;
  close(): Promise<void>;
};

export async function cutProxy(serverPort: number): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  let wanted: string | undefined;
  let isDown = false;
  let made = 0;
  const server = createServer((client) => {
    made += 1;
    if (isDown) return client.destroy();
    const behind = connect(serverPort, "127.0.0.1");
    let cut = false;
    const end = (): void => {
      client.destroy();
      behind.destroy();
    };
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on("error", end);
      socket.on("close", () => (sockets.delete(socket), end()));
    }
    client.on("data", (bytes: Buffer) => {
      if (wanted !== undefined && bytes.includes(wanted)) [cut, wanted] = [true, undefined];
      behind.write(bytes);
    });
    behind.on("data", (bytes: Buffer) => (cut ? end() : client.write(bytes)));
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port, // of a TCP server
    cutAfter: (text) => void (wanted = text),
    down() {
      isDown = true;
      dropAll();
    },
    mend: () => void (isDown = false),
    get made() {
      return made;
    },
    async close() {
      dropAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
