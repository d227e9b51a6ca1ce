/** Tells other processes of changes and hears of theirs: NOTIFY where it arrives, and looking now and then in any case. */

import { type Clock, LIMITS } from "@capstan/core";
import type { Connect, Connection } from "./connection.ts";

export interface Notices {
  /** Returns the end of it. */
  add(changed: () => void): () => void;
  /** This process changed something. Never awaited: who does not hear of it looks. */
  tell(): void;
  close(): Promise<void>;
}

export type NoticesOptions = {
  readonly connect: Connect;
  readonly clock: Clock;
  /** A name without quotes. */
  readonly schema: string;
  /** Tells this object from others: what it says is no news to itself. */
  readonly self: string;
  /** Runs one statement. */
  readonly run: (sql: string, ...values: readonly string[]) => Promise<void>;
};

/** How often a process looks where no notices arrive: behind some poolers, or while the connection is made anew. */
const LOOK_MS = 100;
const NOTIFY = "SELECT pg_notify($1, $2)";

type State = {
  readonly options: NoticesOptions;
  readonly channel: string;
  readonly callbacks: Set<() => void>;
  listener: Connection | undefined;
  connecting: Promise<void> | undefined;
  /** What this object told itself came back. */
  hears: boolean;
  cancelLook: (() => void) | undefined;
  /** Told lately: what changes meanwhile is told when the time is over. */
  cancelTell: (() => void) | undefined;
  telling: Promise<void> | undefined;
  untold: boolean;
  closed: boolean;
};

export function notices(options: NoticesOptions): Notices {
  const state: State = {
    options,
    channel: `capstan_${options.schema}`.slice(0, 63),
    callbacks: new Set(),
    listener: undefined,
    connecting: undefined,
    hears: false,
    cancelLook: undefined,
    cancelTell: undefined,
    telling: undefined,
    untold: false,
    closed: false,
  };
  return {
    add(changed) {
      const own = (): void => changed(); // the same function may watch twice
      state.callbacks.add(own);
      watch(state);
      return () => {
        if (state.callbacks.delete(own) && state.callbacks.size === 0) state.cancelLook?.();
        if (state.callbacks.size === 0) state.cancelLook = undefined;
      };
    },
    tell() {
      state.untold = true;
      say(state);
    },
    async close() {
      state.closed = true;
      state.cancelLook?.();
      state.cancelTell?.();
      await state.telling;
      await state.connecting;
      await state.listener?.close();
    },
  };
}

function watch(state: State): void {
  if (state.closed || state.callbacks.size === 0) return;
  if (state.listener === undefined) state.connecting ??= listen(state);
  const { clock } = state.options;
  const look = (): void => {
    state.cancelLook = undefined;
    for (const changed of state.callbacks) changed();
    watch(state);
  };
  state.cancelLook ??= clock.after(state.hears ? LIMITS.beatMs : LOOK_MS, look, { background: true });
}

/** A failure is tried again at the next look. */
async function listen(state: State): Promise<void> {
  const { connect, self } = state.options;
  try {
    const listener = await connect();
    state.listener = listener;
    listener.onBroken(() => {
      state.hears = false;
      state.listener = undefined;
      lookSoon(state);
    });
    listener.onNotice((said) => heard(state, said));
    await listener.exec(`LISTEN "${state.channel}"`);
    await listener.run(NOTIFY, state.channel, `hello ${self}`);
  } catch {
    // the next call of the store tells its caller what is wrong
  }
  state.connecting = undefined;
  if (state.closed) await state.listener?.close();
}

function heard(state: State, said: string): void {
  const { self } = state.options;
  if (said === `hello ${self}`) state.hears = true;
  if (said.endsWith(self) || said.startsWith("hello ")) return;
  for (const changed of state.callbacks) changed();
}

function lookSoon(state: State): void {
  state.cancelLook?.();
  state.cancelLook = undefined;
  watch(state);
}

/** At once, and then no more often than others would look at a file. */
function say(state: State): void {
  const { clock, run, self } = state.options;
  if (!state.untold || state.closed || state.telling !== undefined || state.cancelTell !== undefined) return;
  state.untold = false;
  const done = (): void => {
    state.telling = undefined;
    if (state.closed) return;
    const again = (): void => {
      state.cancelTell = undefined;
      say(state);
    };
    state.cancelTell = clock.after(LIMITS.pollMs, again, { background: true });
  };
  state.telling = run(NOTIFY, state.channel, self).then(done, done);
}
