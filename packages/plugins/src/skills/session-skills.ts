/** The skills of one session from outside: which are active and why, and to keep one active or not. */

import type { Session } from "@capstan/core";
import { type ActiveSkill, METADATA_KEY, nextOwn, NONE_ACTIVE } from "./active-skills.ts";

export type SessionSkills = {
  /** In the order in which they became active, as the log says now. */
  active(): Promise<readonly ActiveSkill[]>;
  /** From the next input on, in every run, until `deactivate`. A name that no skill has is ignored. */
  activate(name: string): Promise<void>;
  deactivate(name: string): Promise<void>;
};

/** What is kept active stands in the session's metadata, under `skills`: any door can change it. */
export function skillsOf(session: Pick<Session<unknown>, "events" | "state" | "update">): SessionSkills {
  const keep = async (change: (names: readonly string[]) => readonly string[]): Promise<void> => {
    const { metadata } = await session.state();
    const kept = metadata[METADATA_KEY];
    const names = Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : [];
    await session.update({ metadata: { [METADATA_KEY]: change(names) } });
  };
  return {
    async active() {
      const { head } = await session.state();
      let own = NONE_ACTIVE;
      for await (const { event } of session.events({ live: false })) {
        if ("key" in event) own = nextOwn(own, event);
        if (event.seq >= head) break;
      }
      return own.active.map(({ by: _by, seq: _seq, isForgotten: _forgotten, ...skill }) => skill);
    },
    activate: (name) => keep((names) => [...names.filter((one) => one !== name), name]),
    deactivate: (name) => keep((names) => names.filter((one) => one !== name)),
  };
}
