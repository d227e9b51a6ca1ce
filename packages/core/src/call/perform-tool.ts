/** The effect itself: a tool's own code under its deadline and the interrupt, and its probe after a crash. */

import type { Hold } from "../hold/hold.ts";
import { openWorkspace, workspaceMissing } from "../hold/open-workspace.ts";
import { judge } from "../hold/policy.ts";
import { endedOrIgnored, IGNORED, type Stop } from "../hold/stop.ts";
import { within } from "../hold/within.ts";
import { toOutput } from "../ports/tool-output.ts";
import type { Probe, Tool, ToolContext, ToolProgress, ToolResult } from "../ports/tool.ts";
import type { Need, Workspace } from "../ports/workspace.ts";
import { type CallEnd, failed } from "../state/call-end.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import { LIMITS } from "../words/limits.ts";
import { errorOutput, type ToolCallPart, type ToolOutput } from "../words/message.ts";
import type { Redactor } from "../words/redact.ts";

type Granted = { readonly attempt: number; readonly idempotencyKey: string; readonly checked: unknown };

/** Runs the tool to an end that can be recorded. Throws a `CapstanError` of the tool, which ends the run. */
export async function performTool(hold: Hold, tool: Tool, part: ToolCallPart, granted: Granted): Promise<CallEnd> {
  const { body } = tool;
  if (body.type !== "execute") throw new Error(`${tool.name} has no body to perform`);
  const stop = hold.stop({ halts: tool.interruptible });
  const progress = progressOf(hold, part.callId);
  const workspace = await openWorkspace(hold);
  const context: ToolContext = Object.assign(toolContext(hold, part, granted, stop, workspace, progress.show), {
    judge: (needs: readonly Need[]) => judge(hold, { ...tool, needs: () => needs }, granted.checked),
  });
  let limit: Deadline | undefined;
  try {
    const execution = body.execute(granted.checked, context);
    // a result that is here already can neither be too late nor be stopped
    if (!isPromise(execution)) return endOf(await keptResult(hold, tool, execution));
    limit = deadline(hold, tool, stop);
    const result = await endedOrIgnored(hold.definitions.clock, Promise.resolve(execution), stop);
    if (result === IGNORED) return stopped(hold, limit.expired(), tool, false);
    return endOf(await keptResult(hold, tool, result));
  } catch (error) {
    if (stop.aborted) return stopped(hold, limit?.expired() === true, tool, true);
    if (CapstanError.is(error)) throw error;
    return failed(messageOf(error));
  } finally {
    progress.end();
    limit?.cancel();
    stop.end();
  }
}

/** What the tool did is done: an output whose check was left is told as it is. */
export function keptResult(hold: Hold, tool: Tool, result: ToolResult): ToolOutput | Promise<ToolOutput> {
  const output = toOutput(tool, result);
  if (!(output instanceof Promise)) return output;
  return within(hold, "The check of an output", output).catch((error: unknown) =>
    errorOutput(`${tool.name} has ended, but what it returned was not checked: ${messageOf(error)}`),
  );
}

function isPromise(result: Promise<ToolResult> | ToolResult): result is Promise<ToolResult> {
  return typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";
}

function endOf(output: ToolOutput): CallEnd {
  return { status: output.isError === true ? "error" : "ok", output };
}

/** The end of a call that was told to stop. One that did not obey has an outcome that nobody knows. */
function stopped(hold: Hold, expired: boolean, tool: Tool, obeyed: boolean): CallEnd {
  const timedOut = expired && !hold.halted.aborted;
  const doubt =
    obeyed || tool.rerun === "safe"
      ? ""
      : " It did not stop: its outcome is unknown and it may yet happen. Check before any repeat.";
  if (timedOut)
    return { status: "timeout", output: errorOutput(`${tool.name} took too long and was stopped.${doubt}`) };
  return { status: doubt === "" ? "cancelled" : "unknown", output: errorOutput(`Interrupted.${doubt}`) };
}

type Deadline = { readonly expired: () => boolean; readonly cancel: () => void };

function deadline(hold: Hold, tool: Tool, stop: Stop): Deadline {
  const ms = tool.timeoutMs ?? hold.run.limits.toolMs ?? LIMITS.toolTimeoutMs;
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
    const context = toolContext(hold, part, { ...intent, attempt: 1, checked }, stop, await openWorkspace(hold));
    const probing = Promise.resolve().then(() => tool.probe?.(checked, context) ?? "unknown");
    const probed = await endedOrIgnored(hold.definitions.clock, probing, stop);
    return probed === IGNORED ? "unknown" : probed;
  } catch (error) {
    if (hold.stopping) throw error;
    return "unknown";
  } finally {
    limit.cancel();
    stop.end();
  }
}

export function toolContext(
  hold: Hold,
  part: ToolCallPart,
  granted: Granted,
  stop: { readonly signal: AbortSignal },
  workspace: Workspace | undefined,
  show: Progress["show"] = progressOf(hold, part.callId).show,
): ToolContext {
  const { state, run } = hold;
  const { callId } = part;
  return {
    callId,
    runId: run.id,
    depth: state.parent?.depth ?? 0,
    attempt: granted.attempt,
    idempotencyKey: granted.idempotencyKey,
    get signal(): AbortSignal {
      return stop.signal;
    },
    get workspace(): Workspace {
      if (workspace !== undefined) return workspace;
      throw workspaceMissing(hold);
    },
    session: { id: state.sessionId, metadata: state.metadata, ...(state.key !== undefined && { key: state.key }) },
    actor: run.actor,
    progress: show,
  };
}

type Progress = { readonly show: (update: ToolProgress) => void; readonly end: () => void };

/** Progress of one call, shown live: offsets per stream, secrets kept out wherever a chunk was cut. */
function progressOf(hold: Hold, callId: string): Progress {
  const { redactor } = hold.definitions;
  const streams = new Map<"stdout" | "stderr", { readonly cleaner: ReturnType<Redactor["stream"]>; sent: number }>();
  const streamOf = (name: "stdout" | "stderr") => {
    const stream = streams.get(name) ?? { cleaner: redactor.stream(), sent: 0 };
    streams.set(name, stream);
    return stream;
  };
  const send = (name: "stdout" | "stderr", chunk: string, rest: ToolProgress): void => {
    const stream = streamOf(name);
    hold.live([{ type: "tool.progress", callId, ...rest, stream: name, chunk, offset: stream.sent }]);
    stream.sent += chunk.length;
  };
  return {
    show: ({ stream = "stdout", chunk, ...rest }) => {
      const said = rest.message === undefined ? rest : { ...rest, message: redactor.text(rest.message) };
      const clean = chunk === undefined ? "" : streamOf(stream).cleaner.push(chunk);
      if (clean !== "") send(stream, clean, said);
      else if (Object.keys(said).length > 0) hold.live([{ type: "tool.progress", callId, ...said }]);
    },
    end: () => {
      for (const [name, { cleaner }] of streams) {
        const left = cleaner.end();
        if (left !== "") send(name, left, {});
      }
    },
  };
}
