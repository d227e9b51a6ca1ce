/**
 * MCP over the pipes of a child process: one JSON text a line. The child is the head of a process group of its own, marked,
 * and at the end nothing of it is left, whatever it started.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { type Clock, messageOf } from "@capstan/core";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { McpTransport } from "../config/server-config.ts";
import { MCP_LIMITS } from "../limits.ts";
import { childEnvironment } from "./child-environment.ts";
import { lineReader } from "./line-reader.ts";
import { floodGate, parseMessage, ServerFault } from "./message-guard.ts";
import { endProcesses, type ProcessMark, processMark } from "./process-mark.ts";
import { NotSent } from "./send-failure.ts";

type StdioServer = Extract<McpTransport, { readonly type: "stdio" }>;

export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #server: StdioServer;
  readonly #clock: Clock;
  readonly #mark: ProcessMark | undefined = processMark();
  #child: ChildProcess | undefined;
  #said = "";
  #fault: string | undefined;
  #ended = false;
  #exited = false;
  #closing: Promise<void> | undefined;

  constructor(server: StdioServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** With `stderr` this tells the SDK that silence before the handshake means an older server. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The end of what the server wrote to its error output. */
  get stderr(): string {
    return this.#said.trim();
  }

  /** Why the connection was ended from this side; undefined when it was not. */
  get fault(): string | undefined {
    return this.#fault;
  }

  start(): Promise<void> {
    const { command, args, env, strictEnv, cwd } = this.#server;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        env: { ...childEnvironment(process.env, env, strictEnv), ...this.#mark?.env },
        detached: true,
        windowsHide: true,
        stdio: ["pipe", "pipe", "pipe"],
      });
      this.#child = child;
      child.once("spawn", () => resolve());
      child.once("error", (error) => {
        reject(error);
        this.#end();
      });
      child.once("exit", () => this.#drain(child));
      this.#listen(child);
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const input = this.#child?.stdin;
    if (
      this.#exited ||
      this.#ended ||
      this.#closing !== undefined ||
      input === null ||
      input === undefined ||
      !input.writable
    ) {
      return Promise.reject(new NotSent("the server has ended"));
    }
    if (input.writableLength > MCP_LIMITS.unsentBytes) {
      return Promise.reject(new NotSent("the server does not read what it is sent"));
    }
    input.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #listen(child: ChildProcess): void {
    const { stdin, stdout, stderr } = child;
    for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => undefined); // the end of the process tells it
    stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#said = (this.#said + chunk).slice(-MCP_LIMITS.stderrChars);
    });
    const gate = floodGate(this.#clock);
    let garbage = 0;
    const take = (line: string): void => {
      if (line.trim() === "") return;
      const message = parseMessage(line);
      if (message === undefined) {
        garbage += 1;
        if (garbage > MCP_LIMITS.garbageLines) throw new ServerFault("what it writes is not MCP");
        return;
      }
      gate(message);
      this.#give(message);
    };
    const lines = lineReader(MCP_LIMITS.messageBytes, take);
    stdout?.on("data", (chunk: Uint8Array) => {
      if (this.#closing !== undefined) return;
      try {
        lines(chunk);
      } catch (error) {
        this.#fault = messageOf(error);
        this.onerror?.(new ServerFault(this.#fault));
        void this.close();
      }
    });
    stdout?.on("end", () => void this.close()); // a server that says nothing more is none
  }

  #give(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(messageOf(error)));
    }
  }

  /** What a program said before it ended still counts; what it started may hold its pipes open. */
  #drain(child: ChildProcess): void {
    this.#exited = true;
    const cancel = this.#clock.after(MCP_LIMITS.drainMs, () => this.#end());
    child.once("close", () => {
      cancel();
      this.#end();
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    void this.close(); // what it started goes with it
    this.onclose?.();
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return this.#end();
    child.stdin?.end();
    await this.#left(child);
    await endProcesses(child.pid, this.#mark, this.#clock);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    child.unref();
    this.#end();
  }

  /** Resolves when the process has ended, at the latest after `MCP_LIMITS.closeMs`; at once when it was at fault. */
  #left(child: ChildProcess): Promise<void> {
    if (this.#fault !== undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.after(MCP_LIMITS.closeMs, () => resolve());
      child.once("exit", () => {
        cancel();
        resolve();
      });
    });
  }
}
