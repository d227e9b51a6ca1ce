/** Compaction: a summary takes the place of the conversation's beginning for the model. The facts that it sums up stay. */

import type { Hold } from "../hold/hold.ts";
import type { Compacted, Compaction } from "../ports/plugin.ts";
import { saidFact } from "../state/said.ts";
import { CapstanError } from "../words/errors.ts";
import type { NewFact } from "../words/event.ts";
import type { Message, Part } from "../words/message.ts";
import { storedPrefix } from "./prefix.ts";
import { sizeOf, textSize } from "./prompt-size.ts";

const GO_ON =
  "<system>Your last answer was cut off because the conversation had become too long. What came before was summed up. Go on where you were cut off.</system>";

/**
 * One fact, so that nothing is half done at any moment. Throws `compaction-failed` when the summary is not shorter than
 * what it stands for, and `plugin-invalid` for an unknown message, a place between a call and its result, or open calls.
 */
export async function compact(hold: Hold, by: string, { through, summary, trigger }: Compaction): Promise<Compacted> {
  const { run } = hold.state;
  const { messages, seqs, labels } = await hold.conversation();
  const invalid = (problem: string): CapstanError =>
    new CapstanError("plugin-invalid", `Plugin ${by} cannot compact the conversation: ${problem}`);
  if (run === undefined || run.calls.some(({ status }) => status !== "finished")) throw invalid("calls are open");
  const last = messages.findIndex(({ id }) => id === through);
  const throughSeq = seqs[last];
  if (throughSeq === undefined) throw invalid(`there is no message ${JSON.stringify(through)}`);
  if (isCut(messages, last)) throw invalid("it would cut between a call and its result");
  const clean = hold.definitions.redactor.json(summary);
  if (!clean.some((part) => part.type === "text" && part.text.trim() !== "")) throw invalid("the summary is empty");
  const sizes = await sizesOf(hold, messages, last, clean);
  if (sizes.tokensAfter >= sizes.tokensBefore) {
    const problem = `The summary of the conversation is not shorter than what it stands for (${sizes.tokensBefore} tokens). Begin a new session, or give the model a larger context`;
    throw new CapstanError("compaction-failed", problem);
  }
  const key = `${run.id}/compaction/${throughSeq}`;
  const fact: NewFact = {
    type: "context.compacted",
    key,
    runId: run.id,
    trigger,
    throughSeq,
    ...sizes,
    summary: clean,
    ...(labels.length > 0 && { labels }),
  };
  const cutOff = trigger === "overflow" && messages.at(-1)?.role === "assistant"; // no provider is to go on from there by itself
  const goOn: NewFact[] = cutOff ? [saidFact(run.id, `${key}/go-on`, "user", GO_ON)] : [];
  await hold.append([fact, ...goOn], { sync: true });
  return sizes;
}

/** Whether a result behind the place belongs to a call before it. */
function isCut(messages: readonly Message[], last: number): boolean {
  const calls = new Set(messages.slice(0, last + 1).flatMap(({ parts }) => parts.flatMap(callId)));
  const answered = messages.slice(0, last + 1).flatMap(({ parts }) => parts.flatMap(resultId));
  for (const id of answered) calls.delete(id);
  return calls.size > 0;
}

function callId(part: Part): readonly string[] {
  return part.type === "tool-call" && part.by !== "provider" ? [part.callId] : [];
}

function resultId(part: Part): readonly string[] {
  return part.type === "tool-result" ? [part.callId] : [];
}

/** What the request has before and after, from the provider's last count and what has come since, where there is one. */
async function sizesOf(
  hold: Hold,
  messages: readonly Message[],
  last: number,
  summary: readonly Part[],
): Promise<Compacted> {
  const sum = (some: readonly Message[]): number => some.reduce((size, message) => size + sizeOf(message), 0);
  const { system, tools } = hold.state.prefix === undefined ? { system: "", tools: [] } : await storedPrefix(hold);
  const prefix = textSize(system) + textSize(JSON.stringify(tools));
  const [before, dropped] = [prefix + sum(messages), sum(messages.slice(0, last + 1))];
  const after = before - dropped + sizeOf({ id: "", role: "user", parts: summary });
  const { counted, contextTokens } = hold.state;
  const answer = messages.findLastIndex(({ id }) => id === counted?.messageId);
  const tokensBefore = answer === -1 ? before : contextTokens + sum(messages.slice(answer + 1));
  return { tokensBefore, tokensAfter: Math.ceil((tokensBefore * after) / before) };
}
