/** Taking up an input: as the first of a new run, or as a steer into a running one. */

import { finishRun } from "./finish-run.ts";
import type { Hold } from "./hold/hold.ts";
import { runInputHooks } from "./hooks/hooks.ts";
import { checkedOutcome } from "./hooks/input-outcome.ts";
import { currentPrefix } from "./model/prefix.ts";
import type { InputOutcome } from "./ports/plugin.ts";
import { withdrawn } from "./state/closing-facts.ts";
import type { QueuedInput } from "./state/session-state.ts";
import { keepBytes } from "./words/blobs.ts";
import { CapstanError } from "./words/errors.ts";
import type { NewFact } from "./words/event.ts";
import { deadlineTimer } from "./words/keys.ts";
import type { Message } from "./words/message.ts";

export async function startRun(hold: Hold, input: QueuedInput): Promise<void> {
  await hold.refresh();
  const { agent } = hold;
  const limits = { ...agent.limits, ...input.overrides?.limits };
  const started: NewFact = {
    type: "run.started",
    key: `${input.runId}/started`,
    runId: input.runId,
    trigger: "input",
    inputId: input.inputId,
    agentHash: agent.hash,
    limits,
  };
  const timers =
    limits.wallMs === undefined ? [] : [{ name: deadlineTimer(input.runId), at: hold.journal.now() + limits.wallMs }];
  await hold.append([started], { timers });
  await hold.askForTools();
  await takeInput(hold, input);
}

/** The input passes the `input` hooks and becomes a message. A refused one ends its run. */
export async function takeInput(hold: Hold, input: QueuedInput): Promise<void> {
  const { id: runId, inputId } = hold.run;
  const first = inputId === input.inputId;
  const missing = hold.state.parent === undefined ? hold.missingPlugins : []; // a child has those that concern it
  if (first && missing.length > 0) {
    const message = `No plugin with scope "run" is named ${missing.join(", ")}; give it to the agent or to openRuntime`;
    return finishRun(hold, "error", { code: "plugin-invalid", message, retryable: false });
  }
  const message: Message = { id: input.inputId, role: "user", parts: input.parts };
  const given = await runInputHooks(hold, message).catch((error: unknown): InputOutcome => {
    if (hold.halted.aborted || !CapstanError.is(error, "hook-failed")) throw error;
    return { type: "refuse", reason: error.message };
  });
  const outcome = checkedOutcome(given, message);
  const withdrawnSince = !hold.state.queue.some(({ inputId }) => inputId === input.inputId);
  if (withdrawnSince && !first) return;
  const key = `${runId}/input/${input.inputId}`;
  if (outcome.type === "accept") {
    const prefix = first ? await currentPrefix(hold) : [];
    const { message: accepted } = outcome;
    const said = { ...accepted, parts: await keepBytes(hold.journal, accepted.parts) }; // a hook may have added files
    await hold.append([...prefix, { type: "message.added", key, runId, message: said, inputId: input.inputId }]);
    return;
  }
  if (outcome.type === "answer" && first) {
    const reply: Message = {
      id: `${input.inputId}/answer`,
      role: "assistant",
      parts: [{ type: "text", text: outcome.text }],
    };
    await hold.append([
      { type: "message.added", key, runId, message, inputId: input.inputId },
      { type: "message.added", key: `${key}/answer`, runId, message: reply },
    ]);
    return;
  }
  // a steer that a hook answers is shown, not said in the middle of the run's conversation
  const [code, said] = outcome.type === "answer" ? ["input-answered", outcome.text] : ["refused-input", outcome.reason];
  hold.notice(outcome.type === "answer" ? "info" : "warning", code, said);
  if (first) return finishRun(hold, "refused-input", { code: "input-invalid", message: said, retryable: false });
  await hold.append([withdrawn(input.inputId, input.actor)]);
}
