/** Tells the hooks of code what becomes of skills: recorded where something depends on it, seen in the events where nothing does. */

import { type Envelope, type HookContext, messageOf } from "@capstan/core";
import { isReset, nextOwn, NONE_ACTIVE, type Own, type Recorded } from "./active-skills.ts";
import type { SkillSet } from "./load-skills.ts";
import type { SkillMatcher } from "./match-skills.ts";
import type { ActivationVia, DeactivationReason } from "./skill-hooks.ts";
import type { Skill } from "./skill.ts";

/** What one plugin works with. */
export type World = {
  readonly set: SkillSet;
  readonly byName: ReadonlyMap<string, Skill>;
  readonly maxActive: number;
  readonly match: SkillMatcher;
};

/** Asks the hook of code, once. Returns why the skill cannot become active. */
export async function told(
  world: World,
  skill: Skill,
  via: ActivationVia,
  context: HookContext<Own>,
): Promise<string | undefined> {
  const { activate, onFailure = "fail" } = world.set.hooks;
  if (activate === undefined) return undefined;
  const { sessionId, runId, signal } = context;
  try {
    await context.step(`${via}/${skill.name}`, async () => activate(skill, { via, sessionId, runId, signal }));
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (onFailure === "fail") return messageOf(error);
    context.notice(`The activate hook of skill ${skill.name} failed`, messageOf(error));
    return undefined;
  }
}

export async function deactivation(
  world: World,
  name: string,
  reason: DeactivationReason,
  context: HookContext<Own>,
): Promise<void> {
  const skill = world.byName.get(name);
  const { deactivate } = world.set.hooks;
  if (skill === undefined || deactivate === undefined) return;
  const { sessionId } = context;
  try {
    await context.step(`deactivate/${name}`, async () => deactivate(skill, { reason, sessionId }));
  } catch (error) {
    context.signal.throwIfAborted();
    context.notice(`The deactivate hook of skill ${name} failed`, messageOf(error));
  }
}

/** In the process that took the run up, the hook of code hears again of what is active. */
export async function tellResumed(world: World, context: HookContext<Own>): Promise<void> {
  for (const { name } of context.own.active) {
    const skill = world.byName.get(name);
    if (skill === undefined) {
      context.notice(`The skill ${name} is active, but it is not here any more`);
      continue;
    }
    const problem = await told(world, skill, "resume", context);
    if (problem !== undefined) context.notice(`The activate hook of skill ${name} failed`, problem);
  }
  await context.record({ type: "resumed" } satisfies Recorded);
}

/** What ends with a run is told as its end is seen: nothing of the run waits for it. */
export function tellEnds({ byName, set: { hooks } }: World): (event: Envelope) => Promise<void> {
  const bySession = new Map<string, Own>();
  return async ({ sessionId, event }: Envelope) => {
    if (!("key" in event)) return;
    const before = bySession.get(sessionId) ?? NONE_ACTIVE;
    const after = nextOwn(before, event);
    if (after.active.length === 0) bySession.delete(sessionId);
    else bySession.set(sessionId, after);
    if (event.type !== "run.finished" && !isReset(event)) return;
    const reason = event.type === "run.finished" ? "run-end" : "reset";
    for (const { name } of before.active) {
      const skill = byName.get(name);
      if (skill !== undefined && !after.active.some((one) => one.name === name))
        await hooks.deactivate?.(skill, { reason, sessionId });
    }
  };
}
