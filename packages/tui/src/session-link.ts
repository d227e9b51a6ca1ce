/** One session as the terminal sees it: follows its events, and asks for its state when a fact may have changed that. */

import {
  type Answer,
  cursorOf,
  type Envelope,
  type FactBody,
  isLive,
  messageOf,
  type OpenRequest,
  type Runtime,
  type Session,
  type SessionView,
} from "@capstan/core";
import { TERMINAL_LIMITS } from "./limits.ts";
import { Transcript } from "./transcript/transcript.ts";

export type ShownRequest = {
  readonly request: OpenRequest;
  /** The agent that asks, when it is a sub-agent. */
  readonly asker: string | undefined;
};

/** After these the state that is shown is read again. */
const CHANGES_STATE: ReadonlySet<string> = new Set<FactBody["type"]>([
  "session.created",
  "session.updated",
  "input.accepted",
  "input.withdrawn",
  "run.started",
  "run.resumed",
  "run.suspended",
  "run.finished",
  "turn.finished",
  "message.added",
  "request.opened",
  "request.resolved",
  "task.started",
  "context.compacted",
]);

export type SessionLinkOptions = {
  readonly runtime: Runtime;
  readonly session: Session<unknown>;
  readonly onChange: () => void;
};

export class SessionLink {
  readonly transcript: Transcript = new Transcript();
  readonly session: Session<unknown>;
  state: SessionView | undefined;
  readonly #runtime: Runtime;
  readonly #onChange: () => void;
  readonly #stop = new AbortController();
  #children = new Map<string, ShownRequest>();
  #answered = new Set<string>();
  #reading: Promise<void> | undefined;
  #isStale = false;

  private constructor({ runtime, session, onChange }: SessionLinkOptions) {
    this.#runtime = runtime;
    this.session = session;
    this.#onChange = onChange;
  }

  /** Resolves when the state is known; the conversation follows. Throws `session-not-found`. */
  static async open(options: SessionLinkOptions): Promise<SessionLink> {
    const link = new SessionLink(options);
    link.state = await link.session.state();
    await link.#requestsBelow(link.state, 0);
    void link.#follow(Math.max(0, link.state.head - TERMINAL_LIMITS.openedFacts));
    return link;
  }

  get isRunning(): boolean {
    return this.state?.run !== undefined;
  }

  /** Oldest first, those of sub-agents with them. */
  get requests(): readonly ShownRequest[] {
    const own = Object.values(this.state?.requests ?? {}).map((request) => ({ request, asker: undefined }));
    const open = [...own, ...this.#children.values()].filter(({ request }) => !this.#answered.has(request.requestId));
    return open.toSorted((a, b) => a.request.openedAt - b.request.openedAt);
  }

  /** Rejects for an answer that is not taken. */
  async respond({ sessionId, requestId }: OpenRequest, answer: Answer): Promise<void> {
    try {
      const session = sessionId === this.session.id ? this.session : await this.#runtime.session(sessionId);
      await session.respond(requestId, answer);
      this.#children.delete(requestId);
      this.#answered.add(requestId); // the state may still tell of it for a moment
    } finally {
      void this.refresh();
    }
  }

  /** Reads the state again; several asks at once are one. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** Leaves the session; what runs goes on. */
  close(): void {
    this.#stop.abort();
  }

  async #read(): Promise<void> {
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false;
      try {
        this.state = await this.session.state();
        for (const id of this.#answered) if (this.state.requests[id] === undefined) this.#answered.delete(id);
      } catch (error) {
        this.transcript.note("state", "error", messageOf(error));
      }
      this.#onChange();
    }
  }

  async #follow(after: number): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const envelope of this.session.events({ after: String(after), children: true, signal })) {
        if (signal.aborted) return;
        this.transcript.apply(envelope);
        if (envelope.parent !== undefined) this.#childRequest(envelope);
        else if (!isLive(envelope.event) && CHANGES_STATE.has(envelope.event.type) && this.#isNew(envelope))
          void this.refresh();
        this.#onChange();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.transcript.note("follow", "error", messageOf(error));
      this.#onChange();
    }
  }

  /** The facts that the state has in it already change nothing. */
  #isNew({ event }: Envelope): boolean {
    return Number(cursorOf(event)) > (this.state?.head ?? 0);
  }

  #childRequest({ sessionId, agent, event }: Envelope): void {
    if (isLive(event)) return;
    if (event.type === "request.opened") {
      const { requestId, request: body, expiresAt, at } = event;
      const request = { requestId, sessionId, runId: event.runId ?? "", body, openedAt: at, expiresAt };
      this.#children.set(requestId, { request, asker: agent });
    } else if (event.type === "request.resolved") this.#children.delete(event.requestId);
    else if (event.type === "run.finished")
      for (const [id, { request }] of this.#children) if (request.sessionId === sessionId) this.#children.delete(id);
  }

  /** What sub-agents had asked before anybody looked. */
  async #requestsBelow(state: SessionView, depth: number): Promise<void> {
    if (depth >= TERMINAL_LIMITS.taskDepth) return;
    for (const { childSessionId } of Object.values(state.tasks)) {
      try {
        const child = await (await this.#runtime.session(childSessionId)).state();
        for (const request of Object.values(child.requests))
          this.#children.set(request.requestId, { request, asker: child.agent });
        await this.#requestsBelow(child, depth + 1);
      } catch {
        continue; // one that was removed asks nothing
      }
    }
  }
}
