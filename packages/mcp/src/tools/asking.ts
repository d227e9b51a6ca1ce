/** Brings what a server of the older revisions asks in the middle of a call to the session that made the call. */

import type { Elicitation, ElicitationAnswer } from "../connect/answer-requests.ts";

type Caller = { readonly sessionId: string; ask(question: Elicitation): Promise<ElicitationAnswer> };

/** Calls under way, by server. */
export class AskingBoard {
  readonly #callers = new Map<string, Set<Caller>>();

  enter(server: string, caller: Caller): () => void {
    const callers = this.#callers.get(server) ?? new Set();
    this.#callers.set(server, callers.add(caller));
    return () => callers.delete(caller);
  }

  /** Such a request does not say which call it belongs to: with calls of two sessions under way, nobody is asked. */
  async ask(server: string, question: Elicitation): Promise<ElicitationAnswer> {
    const callers = [...(this.#callers.get(server) ?? [])];
    const [first] = callers;
    if (first === undefined || callers.some(({ sessionId }) => sessionId !== first.sessionId))
      return { action: "cancel" };
    return first.ask(question);
  }
}

type Waiting = { readonly question: Elicitation; readonly answer: (answer: ElicitationAnswer) => void };

/** Questions that arrive while a step runs, handed to the flow around it one at a time. */
export class Questions {
  readonly #waiting: Waiting[] = [];
  #wake: () => void = () => undefined;

  ask(question: Elicitation): Promise<ElicitationAnswer> {
    return new Promise((resolve) => {
      this.#waiting.push({ question, answer: resolve });
      this.#wake();
    });
  }

  /** Resolves with the work's value; meanwhile every question goes through `put`, which nobody waits for once the work has ended. */
  async during<T>(work: Promise<T>, put: (question: Elicitation) => Promise<ElicitationAnswer>): Promise<T> {
    let done = false;
    const ended = work.then(
      () => (done = true),
      () => (done = true),
    );
    for (;;) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (this.#waiting.length === 0) await Promise.race([ended, woken]);
      if (done) break;
      const next = this.#waiting.shift();
      if (next === undefined) continue;
      const asked = put(next.question).then(next.answer, () => next.answer({ action: "cancel" }));
      await Promise.race([ended, asked]);
    }
    for (const { answer } of this.#waiting.splice(0)) answer({ action: "cancel" });
    return work;
  }
}
