/**
 * The names of steps, of timers, and of what a call waits for: made and read here only. They stand in logs and stores,
 * so that another spelling would not find again what was begun before a restart.
 */

/** The step whose value is the text of an agent's `instructions` function, which runs once a session. */
export const INSTRUCTIONS_STEP = "instructions";

export function instructionsStep(agent: string): string {
  return `${INSTRUCTIONS_STEP}/${agent}`;
}

export function modelStep(runId: string, turn: number, attempt: number): string {
  return `${runId}/turn/${turn}/${attempt}`;
}

/** One attempt at the effect of a call. */
export function effectStep(callId: string, attempt: number): string {
  return `${callScope(callId)}/perform/${attempt}`;
}

/** The result of a call before its hooks had their last word. */
export function rawStep(callId: string): string {
  return `${callScope(callId)}/raw`;
}

/** A step of a call's flow. Without a name: what the names of all its steps begin with. */
export function flowStep(callId: string, name = ""): string {
  return `${callScope(callId)}/step/${name}`;
}

/** The end of a step that sleeps. */
export function sleptStep(step: string): string {
  return `${step}/slept`;
}

export function isSleptStep(name: string): boolean {
  return name.endsWith("/slept");
}

/** Whether the step is one of this call, of its hooks or of its flow. */
export function isStepOf(callId: string, step: string): boolean {
  return step.startsWith(`${callScope(callId)}/`);
}

/** Keeping the rule that came with an answer. */
export function rememberStep(requestId: string): string {
  return `request/${requestId}/remember`;
}

/** What the names of a hook's steps begin with. `at`: its call, whose id names the run, or its place in the run. */
export function hookScope(runId: string, at: { readonly callId: string } | string): string {
  return typeof at === "string" ? `${runId}/${at}` : callScope(at.callId);
}

function callScope(callId: string): string {
  return `call/${callId}`;
}

/** A timer to set, or, without a time, to cancel. */
export type TimerSetting = { readonly name: string; readonly at: number | undefined };

export function deadlineTimer(runId: string): string {
  return `deadline/${runId}`;
}

export function expiryTimer(requestId: string): string {
  return `expiry/${requestId}`;
}

/** Also what a call waits for that sleeps. */
export function sleepTimer(step: string): string {
  return `sleep/${step}`;
}

/** The timer that tells the parent of a finished run again, should this process end before it could. */
export function noticeTimer(runId: string): string {
  return `notify/${runId}`;
}

/** What a call waits for that started a sub-agent. */
export function taskWait(taskId: string): string {
  return `task/${taskId}`;
}

/** A timer, or what a call waits for, as it was named above. Of a bare id, as requests have, the kind is the id. */
export function readName(name: string): { readonly kind: string; readonly subject: string } {
  const [kind = "", ...rest] = name.split("/");
  return { kind, subject: rest.join("/") };
}
