/** A model that is a program: its answers are the calls that the program makes, then what it returns. */

import {
  CapstanError,
  hashJson,
  type Json,
  type Model,
  type ModelEvent,
  type ModelRequest,
  NO_USAGE,
  type Part,
  sha256,
  text,
} from "@capstan/core";
import { CODE_LIMITS as LIMITS } from "./limits.ts";
import { Program, type ProgramCall, type ProgramOptions, type ProgramState, type RunningProgram } from "./program.ts";
import { programHistory, type Round } from "./program-history.ts";
import { WaitingPrograms } from "./waiting-programs.ts";

const MODEL_ID = "capstan/program";

export type ProgramRunner = {
  /** How long a program waits for results. With 0 every step runs it again from its top. */
  readonly idleMs: number;
  readonly start: (options: ProgramOptions) => RunningProgram;
};
export const PROCESSES: ProgramRunner = { idleMs: LIMITS.idleMs, start: (options) => new Program(options) };

/** Free of charge. After a restart the program runs again from its top, and finished calls answer from the conversation. */
export function programModel({ idleMs, start }: ProgramRunner): Model {
  const waiting = new WaitingPrograms(idleMs);
  return {
    id: MODEL_ID,
    capabilities: {},
    price: () => ({ input: 0, output: 0 }),
    async *stream(request) {
      yield [{ type: "start", model: MODEL_ID }];
      yield toEvents(await answerOf(request, waiting, start));
    },
  };
}

async function answerOf(
  request: ModelRequest,
  waiting: WaitingPrograms,
  start: ProgramRunner["start"],
): Promise<readonly Part[]> {
  const { sessionId, signal, tools } = request;
  const { code, rounds, answer } = programHistory(request.messages);
  if (answer !== undefined) return [text(answer)]; // somebody said something after its end
  if (code.length > LIMITS.codeCharacters)
    throw new CapstanError("tool-failed", `A program has at most ${LIMITS.codeCharacters} characters`);
  const seed = seedOf(`${sessionId}\n${code}`);
  const made = rounds.map(({ calls }) => calls);
  const kept = waiting.take(placeOf(seed, made));
  const program = kept ?? start({ code, tools: tools.map(({ name }) => name), seed });
  let state: ProgramState | undefined;
  try {
    const results = rounds.at(-1)?.results ?? [];
    state = kept === undefined ? await replay(program, rounds, signal) : await program.next(results, signal);
    return state.type === "calls" ? state.calls.map(toPart) : [text(endOf(state))];
  } finally {
    if (state?.type === "calls") waiting.keep(placeOf(seed, [...made, state.calls]), program);
    else program.close();
  }
}

/** From the top, with the results of all calls so far. Throws `flow-diverged` when it makes other calls than it made before. */
async function replay(program: RunningProgram, rounds: readonly Round[], signal: AbortSignal): Promise<ProgramState> {
  let state = await program.next([], signal);
  for (const { calls, results } of rounds) {
    if (state.type !== "calls" || hashJson(state.calls as Json) !== hashJson(calls as Json))
      throw new CapstanError(
        "flow-diverged",
        `The program makes other calls now than ${calls.map(({ name }) => name).join(", ")}, which it made before a restart`,
      );
    state = await program.next(results, signal);
  }
  return state;
}

/** Where a program stands: two of the same place are the same. */
function placeOf(seed: number, made: readonly (readonly ProgramCall[])[]): string {
  return `${seed}/${hashJson(made as Json)}`;
}

function seedOf(what: string): number {
  return Number.parseInt(sha256(what).slice(0, 12), 16);
}

/** The program's own failure is the failure of its run. */
function endOf(state: Exclude<ProgramState, { readonly type: "calls" }>): string {
  const { console } = state;
  if (state.type === "value") return JSON.stringify({ result: state.value, ...(console.length > 0 && { console }) });
  const lines = console.length === 0 ? "" : `\nConsole:\n${console.join("\n")}`;
  throw new CapstanError("tool-failed", `${state.error}${lines}`);
}

function toPart({ name, input }: ProgramCall): Part {
  return { type: "tool-call", callId: "", name, input, by: "capstan" };
}

function toEvents(parts: readonly Part[]): readonly ModelEvent[] {
  const events = parts.flatMap((part, index): ModelEvent[] => [
    {
      type: "block-start",
      index,
      block: part.type === "tool-call" ? { type: "tool-input", name: part.name } : { type: "text" },
    },
    {
      type: "block-delta",
      index,
      delta: part.type === "tool-call" ? JSON.stringify(part.input) : part.type === "text" ? part.text : "",
    },
    { type: "block-end", index, part },
  ]);
  const reason = parts.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  return [...events, { type: "finish", reason, usage: NO_USAGE }];
}
