/** What a person has to know beside the answer when a run has ended: why, and what to do next. */

import { CapstanError, type ErrorCode, failure, type RunResult, type StopReason } from "@capstan/core";
import { failureLine, reportFailure } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { type Output, type RunEnd, saidBy } from "./run-view.ts";
import type { Screen } from "./screen.ts";
import { shownCost } from "./shown-values.ts";

const MAX_TITLE = 80;
/** Refused calls that are named; the number of the others is said. */
const MAX_TITLES = 3;

export function sayEnd(name: string, end: RunEnd, output: Output, screen: Screen): void {
  const { result, sessionId, refusals } = end;
  if (result.status === "waiting") {
    screen.note(failureLine(name, result.error === undefined ? waitingError(name, end) : failure(result)));
    return;
  }
  const reason = result.reason ?? "interrupted";
  const ending = ENDS[reason];
  if (ending === undefined) reportFailure(name, failure(result));
  else if (ending !== "done") {
    const [code, why] = ending;
    screen.note(failureLine(name, new CapstanError(code, why(`"${name} run --session ${sessionId}"`))));
  } else if (isSilent(result)) {
    screen.note(`${name}: The model ended without an answer; "${name} run --session ${sessionId}" asks it for more`);
  }
  if (refusals.length > 0) for (const line of refusalLines(name, sessionId, refusals)) screen.note(line);
  if (output !== "text" || !screen.asks) return;
  const turns = `${result.turns} turn${result.turns === 1 ? "" : "s"}`;
  screen.note(`  session ${sessionId}, ${turns}${shownCost(result.usage)}`, "dim");
}

type Ending = readonly [code: ErrorCode, why: (goOn: string) => string];

/** What the command tells people to do; `undefined` where only the run's own error can say. */
const ENDS = {
  "end-turn": "done",
  "max-turns": [
    "limit-reached",
    (goOn) => `The run reached its limit of model calls; go on with ${goOn}, with a higher --max-turns if need be`,
  ],
  "max-tokens": [
    "limit-reached",
    (goOn) => `The model's answer was cut at its output limit; go on with ${goOn}, or ask for less at a time`,
  ],
  budget: [
    "limit-reached",
    (goOn) => `The run used up its budget; go on with ${goOn}, with a higher --max-usd if one was set`,
  ],
  deadline: [
    "limit-reached",
    (goOn) => `The run took longer than it may; go on with ${goOn}, or raise limits.wallMs of the agent`,
  ],
  "context-exceeded": [
    "model-context-exceeded",
    () => "The conversation is longer than the model can take; begin a new session without --session and --key",
  ],
  refusal: [
    "model-refused",
    (goOn) => `The model refused to answer; say it in another way with ${goOn}, or name another --model`,
  ],
  "content-filter": [
    "model-refused",
    (goOn) => `The provider's filter stopped the answer; say it in another way with ${goOn}, or name another --model`,
  ],
  interrupted: ["interrupted", (goOn) => `Interrupted; ${goOn} goes on from there`],
  "refused-input": undefined,
  error: undefined,
} as const satisfies Record<StopReason, Ending | "done" | undefined>;

function waitingError(name: string, { requests, sessionId }: RunEnd): CapstanError {
  const titles = requests.map(({ body }) => inertLine("title" in body ? body.title : body.type, MAX_TITLE)).join("; ");
  const message = `The run waits for an answer (${titles}); type "${name} resume ${sessionId}" in a terminal, or see "${name} requests list"`;
  return new CapstanError("run-waiting", message);
}

/** The last word was not the model's, or it was empty. */
function isSilent({ messages }: RunResult<unknown>): boolean {
  const last = messages.at(-1);
  return last?.role !== "assistant" || saidBy(last).trim() === "";
}

/** The error, then all rules that help in one line to be copied, then what no rule can allow. */
function refusalLines(name: string, sessionId: string, refusals: RunEnd["refusals"]): readonly string[] {
  const some = refusals.length === 1 ? "A call was" : `${refusals.length} calls were`;
  const error = new CapstanError(
    "permission-denied",
    `${some} refused because nobody can be asked (${titlesOf(refusals)})`,
  );
  const needed = [...new Set(refusals.flatMap(({ rules }) => rules ?? []))];
  const flags = needed.map((rule) => `--allow '${rule.replaceAll("'", `'\\''`)}'`).join(" ");
  const hopeless = refusals.filter(({ rules }) => rules === undefined);
  return [
    failureLine(name, error),
    ...(needed.length > 0 ? [`  allow with ${flags}`] : []),
    ...(hopeless.length > 0
      ? [`  no rule can allow ${titlesOf(hopeless)}; go on in a terminal with "${name} run --session ${sessionId}"`]
      : []),
  ];
}

function titlesOf(refusals: RunEnd["refusals"]): string {
  const titles = [...new Set(refusals.map(({ title }) => inertLine(title, MAX_TITLE)))];
  const more = titles.length - MAX_TITLES;
  return `${titles.slice(0, MAX_TITLES).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
