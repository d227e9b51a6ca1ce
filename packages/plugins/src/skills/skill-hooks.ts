/** What code may do at the four moments of a skill: found, told of, made active, active no more. */

import type { Skill } from "./skill.ts";

/** `match`: its words stood in the input. `resume`: it was active when another process took the run up. */
export type ActivationVia = "model" | "match" | "explicit" | "resume";
export type DeactivationReason = "run-end" | "explicit" | "reset";
export type ActivationPlace = { readonly sessionId: string; readonly runId: string; readonly signal: AbortSignal };

export type SkillHooks = {
  /** Once, when they are loaded: leave out, change, add. */
  readonly resolve?: (skills: readonly Skill[]) => Promise<readonly Skill[] | void> | readonly Skill[] | void;
  /** Once, before the model is told of them: returns another text. */
  readonly catalog?: (text: string, skills: readonly Skill[]) => Promise<string | void> | string | void;
  /** Before a skill becomes active, recorded: a crash does not call it again. What it throws refuses the activation. */
  readonly activate?: (skill: Skill, how: { readonly via: ActivationVia } & ActivationPlace) => Promise<void> | void;
  /** After it, at most once. What it throws changes nothing. */
  readonly deactivate?: (
    skill: Skill,
    how: { readonly reason: DeactivationReason; readonly sessionId: string },
  ) => Promise<void> | void;
  /** Default `fail`. `ignore`: a hook that throws is told in a notice, and things go on as without it. */
  readonly onFailure?: "fail" | "ignore";
};
