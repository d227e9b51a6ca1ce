/** The effect itself: a tool's own code under its deadline and the interrupt, and its probe after a crash. */

import { CapstanError, messageOf } from "./errors.ts";
import type { Hold, Stop } from "./hold.ts";
import { LIMITS } from "./limits.ts";
import { type ToolCallPart, textOutput } from "./message.ts";
import type { CallEnd } from "./run-call.ts";
import type { Probe, Tool, ToolContext, ToolProgress, ToolResult } from "./tool.ts";
import { toOutput } from "./tool-output.ts";
import type { Workspace } from "./workspace.ts";

export type Granted = { readonly attempt: number; readonly idempotencyKey: string; readonly checked: unknown };

/** Runs the tool to an end that can be recorded. Throws a `CapstanError` of the tool, which ends the run. */
export async function performTool(hold: Hold, tool: Tool, part: ToolCallPart, granted: Granted): Promise<CallEnd> {
  const { body } = tool;
  if (body.type !== "execute") throw new Error(`${tool.name} has no body to perform`);
  const stop = hold.stop({ halts: tool.interruptible });
  const limit = deadline(hold, tool, stop);
  const progress = progressOf(hold, part.callId);
  const context = await toolContext(hold, part, granted, stop.signal, progress.show);
  const execution = Promise.resolve().then(() => body.execute(granted.checked as never, context)); // fits the tool's own schema
  try {
    const result = await endedOrIgnored(hold, execution, stop);
    if (result === IGNORED) return stopped(hold, limit.expired(), tool, false);
    return await ended(tool, result);
  } catch (error) {
    if (stop.signal.aborted) return stopped(hold, limit.expired(), tool, true);
    if (CapstanError.is(error)) throw error;
    return { status: "error", output: textOutput(messageOf(error), { isError: true }) };
  } finally {
    progress.end();
    limit.cancel();
    stop.end();
  }
}

async function ended(tool: Tool, result: ToolResult): Promise<CallEnd> {
  const output = await toOutput(tool, result);
  return { status: output.isError === true ? "error" : "ok", output };
}

export const IGNORED: unique symbol = Symbol("ignored");

/** After its signal a tool, or a model, has a short time to end; then its result is ignored. */
export async function endedOrIgnored<T>(hold: Hold, execution: Promise<T>, stop: Stop): Promise<T | typeof IGNORED> {
  let cancel = (): void => undefined;
  const given = new Promise<typeof IGNORED>((resolve) => {
    const arm = (): void => {
      cancel = hold.definitions.clock.after(LIMITS.interruptGraceMs, () => resolve(IGNORED));
    };
    if (stop.signal.aborted) arm();
    else stop.onStop = arm;
  });
  try {
    return await Promise.race([execution, given]);
  } finally {
    stop.onStop = () => undefined;
    cancel();
    execution.catch(() => undefined); // an ignored tool may still fail; nobody listens
  }
}

/** The end of a call that was told to stop. One that did not obey has an outcome that nobody knows. */
function stopped(hold: Hold, expired: boolean, tool: Tool, obeyed: boolean): CallEnd {
  const timedOut = expired && !hold.halted.aborted;
  const doubt =
    obeyed || tool.rerun === "safe"
      ? ""
      : " It did not stop: its outcome is unknown and it may yet happen. Check before any repeat.";
  if (timedOut)
    return {
      status: "timeout",
      output: textOutput(`${tool.name} took too long and was stopped.${doubt}`, { isError: true }),
    };
  return {
    status: doubt === "" ? "cancelled" : "unknown",
    output: textOutput(`Interrupted.${doubt}`, { isError: true }),
  };
}

function deadline(
  hold: Hold,
  tool: Tool,
  stop: Stop,
): { readonly expired: () => boolean; readonly cancel: () => void } {
  const ms = tool.timeoutMs ?? hold.state.run?.limits.toolMs ?? LIMITS.toolTimeoutMs;
  let expired = false;
  const cancel = hold.definitions.clock.after(ms, () => {
    expired = true;
    stop.abort(new CapstanError("timeout", `${tool.name} took longer than ${ms} ms`));
  });
  return { expired: () => expired, cancel };
}

/** Asks the tool what became of a call. A probe that fails knows nothing. */
export async function probeTool(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  intent: { readonly idempotencyKey: string },
  checked: unknown,
): Promise<Probe> {
  if (tool.probe === undefined) return "unknown";
  const stop = hold.stop({ halts: true });
  const limit = deadline(hold, tool, stop);
  try {
    const context = await toolContext(hold, part, { ...intent, attempt: 1, checked }, stop.signal);
    return await tool.probe(checked as never, context); // checked against the tool's own schema
  } catch (error) {
    if (hold.journal.signal.aborted || hold.halted.aborted) throw error;
    return "unknown";
  } finally {
    limit.cancel();
    stop.end();
  }
}

export async function toolContext(
  hold: Hold,
  part: ToolCallPart,
  granted: Granted,
  signal: AbortSignal,
  show: Progress["show"] = progressOf(hold, part.callId).show,
): Promise<ToolContext> {
  const { state, definitions } = hold;
  const { callId } = part;
  const workspace = state.workspace === undefined ? undefined : await definitions.workspace(state.workspace);
  return {
    callId,
    runId: state.run?.id ?? "",
    depth: state.parent === undefined ? 0 : 1,
    attempt: granted.attempt,
    idempotencyKey: granted.idempotencyKey,
    signal,
    get workspace(): Workspace {
      if (workspace !== undefined) return workspace;
      throw new CapstanError(
        "workspace-missing",
        `Session ${state.sessionId} has no workspace; open it with { workspace: "/a/folder" }`,
      );
    },
    session: { id: state.sessionId, metadata: state.metadata, ...(state.key !== undefined && { key: state.key }) },
    actor: state.run?.actor ?? { id: "unknown", door: "unknown" },
    progress: show,
  };
}

type Progress = { readonly show: (update: ToolProgress) => void; readonly end: () => void };

/** Progress of one call, shown live: offsets per stream, secrets kept out wherever a chunk was cut. */
function progressOf(hold: Hold, callId: string): Progress {
  const { redactor } = hold.definitions;
  const streams = { stdout: { cleaner: redactor.stream(), sent: 0 }, stderr: { cleaner: redactor.stream(), sent: 0 } };
  const send = (stream: "stdout" | "stderr", chunk: string, rest: ToolProgress): void => {
    hold.live([{ type: "tool.progress", callId, ...rest, stream, chunk, offset: streams[stream].sent }]);
    streams[stream].sent += chunk.length;
  };
  return {
    show: ({ stream = "stdout", chunk, ...rest }) => {
      const said = rest.message === undefined ? rest : { ...rest, message: redactor.text(rest.message) };
      const clean = chunk === undefined ? "" : streams[stream].cleaner.push(chunk);
      if (clean !== "") send(stream, clean, said);
      else if (Object.keys(said).length > 0) hold.live([{ type: "tool.progress", callId, ...said }]);
    },
    end: () => {
      for (const stream of ["stdout", "stderr"] as const) {
        const left = streams[stream].cleaner.end();
        if (left !== "") send(stream, left, {});
      }
    },
  };
}
