/** One session as the page knows it: the newest facts and all that come, older ones on demand, and what is live. */

import type { Event, Fact, Live, SessionView } from "@capstan/core";
import { type Connection, messageOf } from "../api/connection.ts";
import { factsBetween, follow, type Link } from "../api/follow.ts";
import type { Item } from "./item.ts";
import { LiveBlocks } from "./live-blocks.ts";
import { type Overview, overviewOf, withFact, withoutRun } from "./overview.ts";
import { type Bucket, Transcript } from "./transcript.ts";

/** Facts that are there at once, and that a look further up brings. */
const TAIL = 500;
const PAGE = 1_000;
/** Live events and notices that are kept. */
const MOST_LIVE = 2_000;
const MOST_NOTICES = 50;
const PROGRESS_CHARS = 20_000;
/** Changes of so long are drawn together. */
const FRAME_MS = 40;

export type Notice = Extract<Live, { type: "notice" }>;
export type Feed = {
  readonly link: Link;
  readonly problem?: string;
  readonly overview?: Overview;
  readonly buckets: readonly Bucket[];
  readonly live: readonly Item[];
  readonly notices: readonly Notice[];
  /** `seq` after which facts are here. */
  readonly after: number;
  readonly loadingEarlier: boolean;
  /** All that stood in the log when the page came has been read. */
  readonly caughtUp: boolean;
  readonly facts: readonly Fact[];
  readonly liveEvents: readonly Live[];
};

const EMPTY: Feed = {
  link: "connecting",
  buckets: [],
  live: [],
  notices: [],
  after: 0,
  loadingEarlier: false,
  caughtUp: false,
  facts: [],
  liveEvents: [],
};

export class SessionFeed {
  readonly sessionId: string;
  readonly #connection: Connection;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  #transcript = new Transcript();
  readonly #blocks = new LiveBlocks();
  #facts: Fact[] = [];
  #live: Live[] = [];
  #until = 0;
  #feed: Feed = EMPTY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: Connection, sessionId: string) {
    this.#connection = connection;
    this.sessionId = sessionId;
    void this.#run();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly snapshot = (): Feed => this.#feed;

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  /** Facts before those that are here. */
  async loadEarlier(count: number = PAGE): Promise<void> {
    const { after: before, loadingEarlier } = this.#feed;
    if (before === 0 || loadingEarlier) return;
    const after = Math.max(0, before - count);
    this.#set({ loadingEarlier: true });
    try {
      const { sessionId } = this;
      const asked = { sessionId, after, before: before + 1, signal: this.#stop.signal };
      const older = (await factsBetween(this.#connection, asked)) as readonly Fact[]; // without live events
      this.#facts = [...older, ...this.#facts];
      this.#transcript = new Transcript();
      for (const fact of this.#facts) this.#transcript.apply(fact);
      this.#set({ after, loadingEarlier: false, ...this.#drawn() });
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#set({ loadingEarlier: false, problem: messageOf(error) });
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const path = `sessions/${encodeURIComponent(this.sessionId)}`;
    try {
      const { state } = await this.#connection.ask<{ state: SessionView }>(path, { signal });
      const overview = overviewOf(state);
      const after = Math.max(0, overview.head - TAIL);
      this.#until = overview.head;
      this.#set({ overview, after });
      await follow({
        connection: this.#connection,
        sessionId: this.sessionId,
        after: String(after),
        signal,
        link: (link, why) => this.#linked(link, why),
        events: (events) => this.#take(events),
      });
    } catch (error) {
      if (!signal.aborted) this.#set({ link: "ended", problem: messageOf(error) });
    }
  }

  #linked(link: Link, why?: string): void {
    if (link !== this.#feed.link) this.#set({ link, ...(why !== undefined && { problem: why }) });
  }

  #take(events: readonly Event[]): void {
    let { overview } = this.#feed;
    const last = this.#facts.at(-1)?.seq ?? this.#feed.after;
    let newest = last;
    for (const event of events) {
      if ("eph" in event) {
        this.#takeLive(event);
        continue;
      }
      if (event.seq <= newest) continue; // it was here before the connection was cut
      newest = event.seq;
      this.#facts.push(event);
      this.#transcript.apply(event);
      this.#blocks.apply(event);
      overview = overview && withFact(overview, event);
      if (event.type === "run.finished") overview = overview && withoutRun(overview);
    }
    if (overview !== this.#feed.overview) this.#feed = { ...this.#feed, ...(overview && { overview }) };
    this.#draw();
  }

  #takeLive(event: Live): void {
    const known = this.#live.at(-1);
    if (known !== undefined && (event.seq < known.seq || (event.seq === known.seq && event.eph <= known.eph))) {
      // the same again after a cut: deltas say where they begin, the rest was seen
      if (!event.type.endsWith(".delta") && event.type !== "block.started" && event.type !== "turn.reset") return;
    }
    this.#live.push(event);
    if (this.#live.length > MOST_LIVE * 2) this.#live = this.#live.slice(-MOST_LIVE);
    this.#blocks.apply(event);
    if (event.type === "tool.progress") this.#progress(event);
    if (event.type === "usage.updated" && this.#feed.overview !== undefined) {
      const { contextSize, contextTokens } = event;
      this.#feed = { ...this.#feed, overview: { ...this.#feed.overview, contextSize, contextTokens } };
    }
    if (event.type === "notice")
      this.#feed = { ...this.#feed, notices: [...this.#feed.notices, event].slice(-MOST_NOTICES) };
  }

  #progress({ callId, chunk, message }: Extract<Live, { type: "tool.progress" }>): void {
    const said = chunk ?? (message === undefined ? "" : `${message}\n`);
    if (said !== "") this.#transcript.progress(callId, (before) => (before + said).slice(-PROGRESS_CHARS));
  }

  #drawn(): Pick<Feed, "buckets" | "live" | "facts" | "liveEvents"> {
    return {
      buckets: this.#transcript.buckets(),
      live: this.#blocks.items(),
      facts: [...this.#facts],
      liveEvents: [...this.#live],
    };
  }

  /** Soon, with what comes until then. */
  #draw(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const newest = this.#facts.at(-1)?.seq ?? 0;
      this.#set({ ...this.#drawn(), caughtUp: this.#feed.caughtUp || newest >= this.#until });
    }, FRAME_MS);
  }

  #set(change: Partial<Feed>): void {
    this.#feed = { ...this.#feed, ...change };
    for (const listener of this.#listeners) listener();
  }
}
