/** Which skills are active in a session, by what, and until when: folded from its facts. */

import type { Fact } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import type { ActivationVia, DeactivationReason } from "./skill-hooks.ts";

export const PLUGIN_NAME = "skills";
/** Names that a session keeps active, as texts in this member of its metadata. */
export const METADATA_KEY = "skills";

export type ActiveSkill = {
  readonly name: string;
  readonly via: Exclude<ActivationVia, "resume">;
  readonly at: number;
  readonly runId: string;
  /** It stays after the run, until the session's metadata does not name it any more. */
  readonly lasting: boolean;
  /** Rules: only what they mean may be called. As the skill said when it became active. */
  readonly allowedTools?: readonly string[];
};
type Kept = ActiveSkill & {
  /** The call or input that made it active, and the fact that says so. */
  readonly by: string;
  readonly seq: number;
  /** Its instructions are no longer in the conversation. */
  readonly isForgotten: boolean;
};
export type Own = {
  readonly active: readonly Kept[];
  /** Names of skills whose instructions the newest input brought along; that input. */
  readonly input: { readonly id: string; readonly names: readonly string[] };
  /** Another process took the run up, and the hooks of code have not heard of it. */
  readonly isResumed: boolean;
};
export type Activation = Pick<ActiveSkill, "name" | "via" | "lasting" | "allowedTools">;
/** What one hook changed, in one fact: what is half done after a crash would be done otherwise. */
export type Recorded =
  | {
      readonly type: "changed";
      readonly by: string;
      readonly ofInput: boolean;
      readonly activated: readonly Activation[];
      readonly deactivated: readonly { readonly name: string; readonly reason: DeactivationReason }[];
    }
  | { readonly type: "resumed" };

export const NONE_ACTIVE: Own = { active: [], input: { id: "", names: [] }, isResumed: false };

export function nextOwn(own: Own, fact: Fact): Own {
  switch (fact.type) {
    case "data":
      return isReset(fact) ? NONE_ACTIVE : changed(own, fact);
    case "run.finished":
      return own.active.length === 0 && !own.isResumed
        ? own
        : { ...own, active: own.active.filter(({ lasting }) => lasting), isResumed: false };
    case "run.resumed":
      return own.active.length === 0 ? own : { ...own, isResumed: true };
    case "context.compacted":
      return {
        ...own,
        active: own.active.map((skill) => ({
          ...skill,
          isForgotten: skill.isForgotten || skill.seq <= fact.throughSeq,
        })),
      };
    default:
      return own;
  }
}

/** The conversation began anew: what skills said in it is gone. */
export function isReset(fact: Fact): boolean {
  return recorded<{ readonly type: string }>(fact, "commands")?.type === "reset";
}

function changed(own: Own, fact: Fact): Own {
  const data = recorded<Recorded>(fact, PLUGIN_NAME);
  if (data === undefined) return own;
  if (data.type === "resumed") return { ...own, isResumed: false };
  const { by, ofInput, activated, deactivated } = data;
  const gone = new Set([...activated, ...deactivated].map(({ name }) => name));
  const at = { at: fact.at, runId: fact.runId ?? "", by, seq: fact.seq, isForgotten: false };
  return {
    ...own,
    active: [...own.active.filter(({ name }) => !gone.has(name)), ...activated.map((skill) => ({ ...skill, ...at }))],
    ...(ofInput && { input: { id: by, names: activated.map(({ name }) => name) } }),
  };
}
