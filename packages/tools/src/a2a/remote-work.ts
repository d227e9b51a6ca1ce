/** One message to a remote agent and the work that it begins: taken up, followed to where it stops, read, cancelled. */

import { type FlowContext, sleep, systemClock } from "@capstan/core";
import { RemoteFailure } from "./http.ts";
import { A2A_LIMITS as LIMITS } from "./limits.ts";
import { textOfParts } from "./remote-output.ts";
import type { OutgoingMessage, RemoteClient } from "./rpc.ts";
import { isSettled, type RemoteEvent, type RemotePart, type RemoteTask, type TaskId, type TaskState } from "./wire.ts";

/** What became of a message: a task, or an answer that needed none. `null`: nobody knows. */
export type Begun =
  | { readonly type: "task"; readonly task: TaskId }
  | { readonly type: "message"; readonly parts: readonly RemotePart[] }
  | null;

export class RemoteWork {
  readonly #client: RemoteClient;
  readonly #streaming: boolean;
  readonly #context: Pick<FlowContext, "signal" | "progress">;
  /** Opened by the message: what this process heard of the task from its beginning on. */
  #live: AsyncGenerator<RemoteEvent> | undefined;
  /** As it was seen when it had settled. */
  #seen: RemoteTask | undefined;

  constructor(client: RemoteClient, streaming: boolean, context: Pick<FlowContext, "signal" | "progress">) {
    this.#client = client;
    this.#streaming = streaming;
    this.#context = context;
  }

  async begin(message: OutgoingMessage): Promise<Begun> {
    try {
      const event = await this.#first(message);
      if (event.type === "message") return { type: "message", parts: event.parts };
      if (event.type === "task" && isSettled(event.task.state)) this.#seen = event.task;
      const { id, contextId } = event.task;
      return { type: "task", task: { id, ...(contextId !== undefined && { contextId }) } };
    } catch (error) {
      if (!(error instanceof RemoteFailure) || !error.again) throw error;
      throw new RemoteFailure(`${error.message}. Whether it took the task up is not known.`, { cause: error });
    }
  }

  async #first(message: OutgoingMessage): Promise<RemoteEvent> {
    const { signal } = this.#context;
    if (!this.#streaming) return this.#client.send(message, signal);
    const live = this.#client.stream(message, signal);
    const first = await live.next();
    if (first.done === true) throw new RemoteFailure("The stream ended before an answer", { again: true });
    if (first.value.type === "message") await live.return(undefined);
    else this.#live = live;
    return first.value;
  }

  /** Resolves when the task does not go on by itself. */
  async settled(taskId: string): Promise<{ readonly state: TaskState; readonly said: string }> {
    await this.#follow(taskId);
    const { state, said } = this.#seen ?? (await this.#poll(taskId));
    return { state, said: textOfParts(said).slice(0, LIMITS.saidCharacters).toWellFormed() };
  }

  /** The task as it is now that it has settled. */
  async result(taskId: string): Promise<RemoteTask> {
    return this.#seen ?? this.#client.get(taskId, this.#context.signal);
  }

  /** Asks the other side to stop, and does not wait long for its answer. */
  async cancel(taskId: string): Promise<void> {
    const asked = this.#client.cancel(taskId, new AbortController().signal).catch(() => undefined); // it may be over
    await Promise.race([asked, sleep(systemClock, LIMITS.cancelMs)]);
  }

  /** Shows what comes. Streams break: what the task comes to is asked for afterwards. */
  async #follow(taskId: string): Promise<void> {
    const { signal } = this.#context;
    if (this.#seen !== undefined || !this.#streaming) return;
    try {
      for await (const event of this.#live ?? this.#client.subscribe(taskId, signal)) {
        this.#show(event);
        const state = event.type === "task" ? event.task.state : event.type === "status" ? event.state : undefined;
        if (state !== undefined && isSettled(state)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RemoteFailure)) throw error;
    }
  }

  #show(event: RemoteEvent): void {
    const { progress } = this.#context;
    if (event.type === "artifact") {
      const chunk = textOfParts(event.parts);
      if (chunk !== "") progress({ chunk });
    } else if (event.type === "status") {
      const message = textOfParts(event.said).slice(0, LIMITS.saidCharacters).toWellFormed();
      progress({ message: message === "" ? event.state : message });
    }
  }

  async #poll(taskId: string): Promise<RemoteTask> {
    const { signal } = this.#context;
    let failures = 0;
    for (let waitMs: number = LIMITS.pollMinMs; ; waitMs = Math.min(waitMs * 2, LIMITS.pollMaxMs)) {
      try {
        const task = await this.#client.get(taskId, signal);
        if (isSettled(task.state)) return (this.#seen = task);
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        failures += 1;
        if (!(error instanceof RemoteFailure) || !error.again || failures >= LIMITS.pollFailures) throw error;
      }
      await sleep(systemClock, waitMs, signal);
    }
  }
}
