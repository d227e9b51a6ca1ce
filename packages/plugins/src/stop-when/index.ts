/** Ends a run before the model would: when conditions of the author hold, such as a number of turns or a tool that was called. */

import { CapstanError, type Fact, NO_USAGE, type Plugin, plugin, textOf, type ToolStatus } from "@capstan/core";

/** What a run has done so far. */
export type RunSoFar = {
  /** Finished model calls. */
  readonly turns: number;
  /** Ended tool calls, oldest first. */
  readonly calls: readonly { readonly tool: string; readonly status: ToolStatus }[];
  /** What the model said last. */
  readonly text: string;
};
/** Decides from what it is given alone: after a crash it is asked again. */
export type StopCondition = (run: RunSoFar) => boolean;

/** So many model calls were made. Unlike `limits.turns` the run then ends as if the model were done. */
export function turnsReached(count: number): StopCondition {
  if (!Number.isSafeInteger(count) || count < 1)
    throw new CapstanError("plugin-invalid", "turnsReached takes a whole number from 1 on");
  return ({ turns }) => turns >= count;
}

/** A call of this tool has succeeded. */
export function toolCalled(name: string): StopCondition {
  return ({ calls }) => calls.some(({ tool, status }) => tool === name && status === "ok");
}

export function allOf(...conditions: readonly StopCondition[]): StopCondition {
  return (run) => conditions.every((holds) => holds(run));
}

const START: RunSoFar = { turns: 0, calls: [], text: "" };

/**
 * Looked at before each model call but the first: when one of the conditions holds the model is not asked again, which costs
 * nothing, and the run ends with `end-turn`. Calls that the model has made are finished first.
 */
export function stopWhen(...conditions: readonly StopCondition[]): Plugin {
  return plugin<RunSoFar>({
    name: "stop-when",
    fold: { start: START, next: soFar },
    async *model(request, { own }, next) {
      if (own.turns === 0 || !conditions.some((holds) => holds(own))) return yield* next(request);
      yield [{ type: "notice", code: "stopped-early", title: "A stop condition of the agent is met" }];
      yield [
        { type: "start", model: "none" },
        { type: "finish", reason: "stop", usage: NO_USAGE },
      ];
    },
  });
}

function soFar(run: RunSoFar, fact: Fact): RunSoFar {
  switch (fact.type) {
    case "run.started":
      return START;
    case "turn.finished":
      return { ...run, turns: run.turns + 1 };
    case "tool.finished":
      return { ...run, calls: [...run.calls, { tool: fact.name, status: fact.status }] };
    case "message.added":
      return fact.message.role === "assistant" ? { ...run, text: textOf(fact.message.parts) } : run;
    default:
      return run;
  }
}
