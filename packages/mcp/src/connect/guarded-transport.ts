/** Any transport of the SDK with the bounds of `message-guard.ts` on what comes in. */

import { type Clock, messageOf } from "@capstan/core";
import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { checkDepth, floodGate, isMessage, ServerFault } from "./message-guard.ts";

/** The same transport. A server that breaks the bounds is closed; `fault` says why. */
export class GuardedTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly hasPerRequestStream: boolean;
  readonly #inner: Transport;
  readonly #gate: (message: JSONRPCMessage) => void;
  #fault: string | undefined;

  constructor(inner: Transport, clock: Clock) {
    this.#inner = inner;
    this.#gate = floodGate(clock);
    this.hasPerRequestStream = inner.hasPerRequestStream ?? false;
  }

  get fault(): string | undefined {
    return this.#fault;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message, extra) => {
      try {
        checkDepth(message);
        if (!isMessage(message)) return;
        this.#gate(message);
      } catch (error) {
        this.#fault = messageOf(error);
        this.onerror?.(new ServerFault(this.#fault));
        void this.close();
        return;
      }
      this.onmessage?.(message, extra);
    };
    return this.#inner.start();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.#inner.send(message, options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions);
  }
}
