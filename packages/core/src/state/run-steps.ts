/** What the steps of a run do to it, and what was set aside for models and may be lost. */

import type { FactOf, Limits } from "../words/event.ts";
import { flowStep } from "../words/keys.ts";
import { addUsage } from "../words/message.ts";
import type { RunState } from "./session-state.ts";

/** Tokens and money only. */
export function sumOfLost(lost: Limits, more: Limits | undefined): Limits {
  if (more === undefined) return lost;
  const sum = (kind: "tokens" | "microUsd"): number => (lost[kind] ?? 0) + (more[kind] ?? 0);
  return { tokens: sum("tokens"), microUsd: sum("microUsd") };
}

/** What a crash left open may have been paid for: it counts in full. */
export function withLostReservation(run: RunState): RunState {
  const steps = Object.values(run.stepReserved).reduce(sumOfLost, run.lost);
  const kept = { ...run, stepReserved: {}, lost: steps };
  const reserved = run.turn?.reason === undefined ? run.turn?.reserved : undefined;
  if (run.turn === undefined || reserved === undefined) return kept;
  const { reserved: _counted, ...turn } = run.turn;
  return { ...kept, turn, lost: sumOfLost(steps, reserved) };
}

export function startedStep(run: RunState, { name, attemptId, reserved }: FactOf<"step.started">): RunState {
  const started = { ...run, stepIntents: { ...run.stepIntents, [name]: attemptId } };
  return reserved === undefined ? started : { ...started, stepReserved: { ...run.stepReserved, [name]: reserved } };
}

export function finishedStep(run: RunState, { name, value, failed, usage, lost }: FactOf<"step.finished">): RunState {
  const { [name]: settled, ...stepReserved } = run.stepReserved;
  return {
    ...run,
    steps: { ...run.steps, [name]: value },
    ...(failed !== undefined && { stepFailures: { ...run.stepFailures, [name]: failed } }),
    ...(settled !== undefined && { stepReserved }),
    ...(usage !== undefined && { usage: addUsage(run.usage, usage) }),
    ...(lost !== undefined && { lost: sumOfLost(run.lost, lost) }),
  };
}

/** Whether a flow of the call has begun a step. */
export function hasSteps({ steps, stepIntents }: RunState, callId: string): boolean {
  const names = [...Object.keys(steps), ...Object.keys(stepIntents)];
  return names.some((name) => name.startsWith(flowStep(callId)));
}

/** Whether a step of the call's flow has an intent and no end. */
export function hasOpenStep({ steps, stepIntents }: RunState, callId: string): boolean {
  return Object.keys(stepIntents).some((name) => name.startsWith(flowStep(callId)) && steps[name] === undefined);
}
