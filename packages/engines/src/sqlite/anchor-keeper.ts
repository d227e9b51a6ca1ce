/** Decides when heads are anchored: at the end of a run, at close, and some seconds after anything else. */

import type { Clock } from "@capstan/core";
import { anchorKey, writeAnchors, type Anchor } from "./anchor.ts";

/** A head waits at most this long for its anchor. */
const DIRTY_MS = 5_000;

export interface AnchorKeeper {
  /** A commit put the session's head here. `synced`: on disk already. `finished`: with the end of a run. */
  wrote(anchor: Anchor, state: { readonly synced: boolean; readonly finished: boolean }): void;
  /** To be awaited before the session is removed, else it would look lost. */
  removing(anchor: Anchor): Promise<void>;
  /** Anchors what is left. */
  close(): Promise<void>;
}

export type AnchorKeeperOptions = {
  readonly path: string;
  readonly clock: Clock;
  /** Resolves when all commits so far are on disk: an anchor must never be ahead of the database. */
  readonly barrier: () => Promise<void>;
};

type State = {
  readonly options: AnchorKeeperOptions;
  /** On disk, not yet anchored. */
  readonly synced: Map<string, Anchor>;
  /** Perhaps not on disk yet. */
  readonly written: Map<string, Anchor>;
  saving: Promise<void> | undefined;
  cancel: (() => void) | undefined;
  closed: boolean;
};

export function anchorKeeper(options: AnchorKeeperOptions): AnchorKeeper {
  const state: State = {
    options,
    synced: new Map(),
    written: new Map(),
    saving: undefined,
    cancel: undefined,
    closed: false,
  };
  return {
    wrote(anchor, { synced, finished }) {
      const key = anchorKey(anchor);
      if (synced) state.written.delete(key);
      (synced ? state.synced : state.written).set(key, anchor);
      if (synced && finished) begin(state, save);
      else arm(state);
    },
    async removing(anchor) {
      await state.saving;
      state.written.delete(anchorKey(anchor));
      state.synced.delete(anchorKey(anchor));
      await writeAnchors(options.path, [{ ...anchor, head: 0 }]);
    },
    async close() {
      await state.saving;
      await settle(state);
      state.closed = true;
      state.cancel?.();
      state.cancel = undefined;
    },
  };
}

function arm(state: State): void {
  if (state.closed) return;
  state.cancel ??= state.options.clock.after(
    DIRTY_MS,
    () => {
      state.cancel = undefined;
      begin(state, settle);
    },
    { background: true },
  );
}

/** One at a time; `saving` is unset when the work is over, also when it was over at once. What came meanwhile is not forgotten. */
function begin(state: State, work: (state: State) => Promise<void>): void {
  state.saving ??= work(state).finally(() => {
    state.saving = undefined;
    if (state.written.size + state.synced.size > 0) arm(state);
  });
}

/** Never rejects: a failure is tried again with the next anchor. */
async function settle(state: State): Promise<void> {
  const written = new Map(state.written);
  if (written.size > 0) {
    try {
      await state.options.barrier();
    } catch {
      return arm(state); // the write that comes next tells the caller
    }
    for (const [key, anchor] of written) {
      if (state.written.get(key) === anchor) state.written.delete(key);
      if ((state.synced.get(key)?.head ?? 0) < anchor.head) state.synced.set(key, anchor);
    }
  }
  await save(state);
}

/** One file write at a time; heads that come meanwhile share the next one. Never rejects. */
async function save(state: State): Promise<void> {
  try {
    while (state.synced.size > 0) {
      const anchors = new Map(state.synced);
      await writeAnchors(state.options.path, anchors.values());
      for (const [key, anchor] of anchors) if (state.synced.get(key) === anchor) state.synced.delete(key);
    }
  } catch {
    arm(state); // weaker proof, not lost data
  }
}
