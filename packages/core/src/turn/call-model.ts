/** One turn's model call: build the request, stream it, retry what may be retried, and append what came of it. */

import type { Hold } from "../hold/hold.ts";
import { withModelHooks } from "../hooks/hooks.ts";
import { reserve, type Reserved } from "../model/budget.ts";
import { streamNamed } from "../model/model-names.ts";
import { modelOfRun, settleOutput } from "../model/output.ts";
import { watchPrefix } from "../model/prefix-watch.ts";
import { retryDelay } from "../model/retry.ts";
import { priced, spending } from "../model/spending.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports/model.ts";
import { INTERRUPT_MARKER } from "../state/said.ts";
import { keepBytes } from "../words/blobs.ts";
import { sleep } from "../words/clock.ts";
import type { Limits, LiveBody, NewFact, Problem, TurnReason } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { modelStep } from "../words/keys.ts";
import { type Message, NO_USAGE, type Part, tokensOf, type Usage } from "../words/message.ts";
import { buildRequest } from "./build-request.ts";
import { readTurn, type TurnResult } from "./read-turn.ts";

type Turn = { readonly turn: number; readonly attempt: number };

/**
 * Ends with `turn.finished` in the log, unless the hold is lost. Finished calls are never asked again. "unpaid": what is left
 * of the budget does not pay even a short answer.
 */
export async function callModel(hold: Hold, { turn, attempt }: Turn): Promise<"unpaid" | void> {
  if (await settleOutput(hold)) return undefined;
  const { clock } = hold.definitions;
  const model = await modelOfRun(hold);
  const built = await buildRequest(hold, turn, model);
  const first = await reserve(hold, model, built);
  if (first === undefined) return "unpaid";
  if (attempt > 1)
    hold.live([
      reset({ turn, attempt }, { code: "model-cut", message: "the process that asked was lost", retryable: true }, 0),
    ]);
  let spentMs = 0;
  let paid: Reserved = first;
  let lost: Limits | undefined;
  for (let tries = attempt; ; tries++) {
    const { reserved } = paid;
    await startTurn(hold, { turn, attempt: tries }, model, { prefixHash: built.prefixHash, reserved, lost });
    const result = await attemptTurn(hold, { turn, attempt: tries }, model, paid);
    if (result.problem === undefined || hold.halted.aborted) return finishTurn(hold, turn, model, result);
    const delayMs = retryDelay(tries, result.problem, result.retryAfterMs, spentMs);
    if (delayMs === undefined) return finishTurn(hold, turn, model, result);
    lost = result.firstDeltaMs === undefined ? undefined : reserved;
    const next: Reserved | undefined = lost === undefined ? paid : await reserve(hold, model, built); // what is still set aside stays so
    if (next === undefined) return finishTurn(hold, turn, model, result);
    paid = next;
    hold.live([reset({ turn, attempt: tries + 1 }, result.problem, delayMs)]);
    spentMs += delayMs;
    try {
      await sleep(clock, delayMs, hold.stopSignal());
    } catch (error) {
      if (!hold.halted.aborted) throw error;
      return finishTurn(hold, turn, model, { ...result, parts: [], reason: "interrupted" });
    }
  }
}

function reset({ turn, attempt }: Turn, error: Problem, delayMs: number): LiveBody {
  return { type: "turn.reset", turn, attempt, error, delayMs };
}

/** The intent of the call. Synced when effects of the last turn are not yet on disk: the model must not build on what could be lost. */
async function startTurn(
  hold: Hold,
  { turn, attempt }: Turn,
  model: Model,
  {
    prefixHash,
    reserved,
    lost,
  }: { readonly prefixHash: string } & {
    readonly [Kind in "reserved" | "lost"]: Limits | undefined;
  },
): Promise<void> {
  const { id: runId, unsyncedEffects } = hold.run;
  const fact: NewFact = {
    type: "turn.started",
    key: `${runId}/turn/${turn}/started/${attempt}`,
    runId,
    turn,
    attempt,
    model: model.id,
    prefixHash,
    ...(reserved !== undefined && { reserved }),
    ...(lost !== undefined && { lost }),
  };
  await hold.append([fact], { sync: unsyncedEffects || reserved !== undefined, wait: true });
}

/** One try. What went wrong is in the result; only a lost hold throws. */
async function attemptTurn(
  hold: Hold,
  { turn, attempt }: Turn,
  model: Model,
  { request, aside }: Reserved,
): Promise<TurnResult> {
  const runId = hold.run.id;
  const stored = await hold.journal.step(modelStep(runId, turn, attempt), async () => {
    const hooked = hold.plugins.some((plugin) => plugin.model !== undefined);
    const { remote } = await hold.conversation();
    const send = (changed: ModelRequest): AsyncIterable<readonly ModelEvent[]> =>
      streamNamed(model, changed, { remote });
    const limited = spending(aside, send);
    const stream = withModelHooks(hold, (changed) => {
      watchPrefix(hold, changed, { model: model.id, prefixHash: hold.state.prefix?.hash ?? "" });
      return hooked ? limited.send(changed) : send(changed); // what nobody changes costs what was worked out
    });
    const result = await readTurn(hold, { turn, attempt, runId }, (signal) => stream({ ...request, signal }));
    hold.journal.signal.throwIfAborted();
    const usage = limited.used() ?? priced(aside, result.usage);
    return { ...result, usage } as unknown as Json; // a TurnResult is plain data
  });
  return stored as unknown as TurnResult; // written in the line above
}

/** Message and end of the turn in one append: a finished call is known with all that it said. */
async function finishTurn(hold: Hold, turn: number, model: Model, result: TurnResult): Promise<void> {
  const runId = hold.run.id;
  const reason =
    hold.halted.aborted && result.reason !== "tool-calls" && result.reason !== "stop" ? "interrupted" : result.reason;
  const clean = result.parts.map((part) => cleaned(hold, part));
  const parts = await keepBytes(hold.journal, toHistory(hold, runId, turn, reason, clean));
  const { labels } = await hold.conversation();
  const messageId = `${runId}/turn/${turn}/message`;
  const message: Message = { id: messageId, role: "assistant", parts, ...(labels.length > 0 && { labels }) };
  const finished: NewFact = {
    type: "turn.finished",
    key: `${runId}/turn/${turn}/finished`,
    runId,
    turn,
    reason: reason === "tool-calls" && !parts.some((part) => part.type === "tool-call") ? "stop" : reason,
    ...(result.rawReason !== undefined && { rawReason: result.rawReason }),
    model: result.model ?? model.id,
    ...(result.responseId !== undefined && { responseId: result.responseId }),
    usage: result.usage,
    ...(result.firstDeltaMs !== undefined && { firstDeltaMs: result.firstDeltaMs }),
    ...(result.problem !== undefined && { error: result.problem }),
  };
  const added: NewFact[] = parts.length === 0 ? [] : [{ type: "message.added", key: messageId, runId, message, turn }];
  await hold.append([...added, finished]);
  showUsage(hold, model, result.usage);
}

/** A thought whose text was redacted no longer fits its seal. */
function cleaned(hold: Hold, part: Part): Part {
  const { redactor } = hold.definitions;
  if (!redactor.active || part.type !== "reasoning" || redactor.text(part.text) === part.text) return part;
  return { type: "reasoning", text: redactor.text(part.text) };
}

/** What of the answer the conversation keeps: calls only when the model ended by asking for them, an unfinished thought never. */
function toHistory(
  hold: Hold,
  runId: string,
  turn: number,
  reason: TurnReason,
  parts: readonly Part[],
): readonly Part[] {
  const marked = reason === "interrupted" && hold.halt?.reason === "interrupted";
  const kept =
    reason === "tool-calls" ? parts : parts.filter((part) => part.type !== "tool-call" || part.by === "provider");
  let index = 0;
  const named = kept.map((part): Part =>
    part.type === "tool-call" ? { ...part, callId: `${runId}/${turn}/${index++}` } : part,
  );
  return marked ? [...named, { type: "text", text: INTERRUPT_MARKER }] : named;
}

function showUsage(hold: Hold, model: Model, usage: Usage): void {
  if (usage === NO_USAGE) return;
  hold.live([
    {
      type: "usage.updated",
      contextTokens: tokensOf(usage),
      contextSize: model.capabilities.contextTokens ?? 0,
      session: hold.state.usage,
    },
  ]);
}
