/** Every session of the caller, asked for again while somebody looks. */

import type { OpenRequest, SessionSummary } from "@capstan/core";
import { type Connection, DoorError, messageOf } from "../api/connection.ts";

const EVERY_MS = 2_500;
const PAGE = 500;
const MOST = 5_000;

export type SessionList = {
  readonly loaded: boolean;
  readonly sessions: readonly SessionSummary[];
  /** Older ones are not here yet. */
  readonly more: boolean;
  readonly requests: readonly OpenRequest[];
  readonly problem?: string;
};

export class SessionListFeed {
  readonly #connection: Connection;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #list: SessionList = { loaded: false, sessions: [], more: false, requests: [] };
  #wanted = PAGE;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking = false;
  #text = "";

  constructor(connection: Connection) {
    this.#connection = connection;
    document.addEventListener("visibilitychange", this.#seen);
    void this.refresh();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly snapshot = (): SessionList => this.#list;

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#seen);
  }

  more(): void {
    this.#wanted = Math.min(this.#wanted + PAGE, MOST);
    void this.refresh();
  }

  async refresh(): Promise<void> {
    if (this.#asking || this.#stop.signal.aborted) return;
    this.#asking = true;
    clearTimeout(this.#timer);
    try {
      const sessions = await this.#ask();
      const text = JSON.stringify(sessions);
      if (text !== this.#text || this.#list.problem !== undefined) {
        this.#text = text;
        const requests = sessions.flatMap(({ openRequests }) => openRequests);
        const more = sessions.length >= this.#wanted && this.#wanted < MOST;
        this.#set({ loaded: true, sessions, more, requests });
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#set({ ...this.#list, loaded: true, problem: messageOf(error) });
      if (error instanceof DoorError && error.status === 401) return;
    } finally {
      this.#asking = false;
    }
    if (!document.hidden && !this.#stop.signal.aborted) this.#timer = setTimeout(() => void this.refresh(), EVERY_MS);
  }

  async #ask(): Promise<readonly SessionSummary[]> {
    const { signal } = this.#stop;
    const all: SessionSummary[] = [];
    while (all.length < this.#wanted) {
      const before = all.at(-1)?.sessionId;
      const page = `sessions?limit=${PAGE}${before === undefined ? "" : `&before=${encodeURIComponent(before)}`}`;
      const { sessions } = await this.#connection.ask<{ sessions: readonly SessionSummary[] }>(page, { signal });
      all.push(...sessions);
      if (sessions.length < PAGE) break;
    }
    return all;
  }

  readonly #seen = (): void => {
    if (!document.hidden) void this.refresh();
  };

  #set(list: SessionList): void {
    this.#list = list;
    for (const listener of this.#listeners) listener();
  }
}
