/**
 * PGlite behind a socket, as a server of which all connections share one session. What one asks for up to its Sync is
 * done in one piece, and a transaction of one keeps the others waiting.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { PGlite } from "@electric-sql/pglite";

const SSL_REQUEST = 80_877_103;
const SYNC = 0x53;
const QUERY = 0x51;
const TERMINATE = 0x58;
const READY = 0x5a;
const NOTICE = 0x41;
const IDLE = 0x49;

type Task = { readonly socket: Socket; readonly bytes: Uint8Array };

export class PgliteSocket {
  readonly #db: PGlite;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #queue: Task[] = [];
  /** Whose transaction is open. */
  #holder: Socket | undefined;
  #running: Promise<void> | undefined;

  constructor(db: PGlite) {
    this.#db = db;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** Answers with the port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.#server.unref(); // whoever asks it something keeps the process alive
    return (this.#server.address() as AddressInfo).port; // of a TCP server
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#running;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.unref();
    let rest: Buffer = Buffer.alloc(0);
    let started = false;
    socket.on("error", () => undefined);
    socket.on("close", () => this.#ended(socket));
    socket.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      if (!started && rest.length >= 8 && rest.readInt32BE(4) === SSL_REQUEST) {
        rest = rest.subarray(8);
        socket.write("N");
      }
      if (!started && rest.length >= 8 && rest.length >= rest.readInt32BE(0)) {
        started = true;
        const length = rest.readInt32BE(0);
        this.#ask(socket, rest.subarray(0, length));
        rest = rest.subarray(length);
      }
      if (started) rest = this.#take(socket, rest);
    });
  }

  /** Hands over whole pieces; answers with what is left. */
  #take(socket: Socket, bytes: Buffer): Buffer {
    let done = 0;
    for (let at = 0; at + 5 <= bytes.length;) {
      const type = bytes[at];
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      if (type === TERMINATE) socket.end();
      if (type === SYNC || type === QUERY) {
        this.#ask(socket, bytes.subarray(done, end));
        done = end;
      }
      at = end;
    }
    return bytes.subarray(done);
  }

  #ask(socket: Socket, bytes: Uint8Array): void {
    this.#queue.push({ socket, bytes });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // `#running` is set before it is unset below
    for (;;) {
      const index = this.#queue.findIndex(({ socket }) => this.#holder === undefined || this.#holder === socket);
      const [task] = index === -1 ? [] : this.#queue.splice(index, 1);
      if (task === undefined) break;
      await this.#perform(task).catch(() => task.socket.destroy());
    }
    this.#running = undefined;
  }

  async #perform({ socket, bytes }: Task): Promise<void> {
    const answer = Buffer.from(await this.#db.execProtocolRaw(bytes));
    const own: Buffer[] = [];
    for (let at = 0; at < answer.length;) {
      const end = at + 1 + answer.readInt32BE(at + 1);
      const message = answer.subarray(at, end);
      if (message[0] === NOTICE) for (const other of this.#sockets) other.write(message);
      else own.push(message);
      if (message[0] === READY) this.#holder = message[5] === IDLE ? undefined : socket;
      at = end;
    }
    if (!socket.destroyed) socket.write(Buffer.concat(own));
    else if (this.#holder === socket) await this.#rollback();
  }

  #ended(socket: Socket): void {
    this.#sockets.delete(socket);
    if (this.#holder === socket && this.#running === undefined)
      this.#running = this.#rollback().then(() => this.#run());
  }

  async #rollback(): Promise<void> {
    this.#holder = undefined;
    await this.#db.exec("ROLLBACK");
  }
}
