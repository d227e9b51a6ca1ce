/** Evaluations: a task over a dataset, scored, with thresholds that a build can stand or fall on. Free of any test runner. */

import type { Agent } from "../ports/agent.ts";
import { systemClock } from "../words/clock.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import type { Json } from "../words/json.ts";
import { addUsage, NO_USAGE, type Usage } from "../words/message.ts";
import type { Runtime } from "../session/runtime.ts";
import { checkedItems, type EvalItem, readDataset } from "./dataset.ts";
import type { Score, Scorer } from "./scorers.ts";

export type EvalAnswer = { readonly output: Json; readonly usage?: Usage; readonly sessionId?: string };
export type EvalTask = (item: EvalItem, options: { readonly signal: AbortSignal }) => Promise<EvalAnswer> | EvalAnswer;
/** The mean, over all items, that a scorer must reach; with `least`, what each item must reach. */
export type Threshold = number | { readonly mean?: number; readonly least?: number };
export type EvaluationDefinition = {
  readonly name: string;
  /** Items, or a file of JSON lines. */
  readonly dataset: readonly EvalItem[] | string;
  readonly task: EvalTask;
  readonly scorers: readonly Scorer[];
  readonly thresholds?: { readonly [scorer: string]: Threshold };
  /** Items at a time, 1 to 256. Default 4. */
  readonly concurrency?: number;
  /** Of one item with its scores. Default 5 minutes. */
  readonly timeoutMs?: number;
  /** Called once when all is done, such as to close a runtime. */
  readonly close?: () => Promise<void>;
};
export type Evaluation = EvaluationDefinition & { readonly type: "evaluation" };

export type ItemReport = {
  readonly id: string;
  readonly output?: Json;
  /** An item or scorer that failed counts as 0. */
  readonly error?: string;
  readonly scores: { readonly [scorer: string]: { readonly score: number; readonly reason?: string } };
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly sessionId?: string;
};
export type ScorerReport = {
  readonly mean: number;
  readonly least: number;
  /** Missing without a threshold. */
  readonly ok?: boolean;
  readonly threshold?: { readonly mean?: number; readonly least?: number };
};
export type EvalReport = {
  readonly version: 1;
  readonly name: string;
  /** No threshold was missed, and without thresholds no item failed. */
  readonly ok: boolean;
  readonly items: readonly ItemReport[];
  readonly scorers: { readonly [scorer: string]: ScorerReport };
  readonly errors: number;
  /** Of tasks and judges. */
  readonly usage: Usage;
  readonly durationMs: number;
};

const CONCURRENCY = 4;
const MAX_CONCURRENCY = 256;
const TIMEOUT_MS = 300_000;

/** Throws `input-invalid` for what could not run. */
export function evaluation(definition: EvaluationDefinition): Evaluation {
  const { name, scorers, thresholds = {}, concurrency = CONCURRENCY, timeoutMs = TIMEOUT_MS } = definition;
  const wrong = (what: string): CapstanError =>
    new CapstanError("input-invalid", `Evaluation ${JSON.stringify(name)}: ${what}`);
  if (typeof name !== "string" || name.trim() === "") throw wrong("it needs a name");
  if (scorers.length === 0) throw wrong("it needs a scorer");
  const names = scorers.map((scorer) => scorer.name);
  if (new Set(names).size < names.length) throw wrong("two scorers have one name");
  for (const [scorer, threshold] of Object.entries(thresholds)) {
    if (!names.includes(scorer))
      throw wrong(`a threshold names ${JSON.stringify(scorer)}; there are ${names.join(", ")}`);
    const { mean = 0, least = 0 } = boundsOf(threshold);
    if (![mean, least].every((bound) => bound >= 0 && bound <= 1)) throw wrong("a threshold is a number from 0 to 1");
  }
  if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw wrong(`concurrency is a whole number from 1 to ${MAX_CONCURRENCY}`);
  if (!(timeoutMs > 0)) throw wrong("timeoutMs is a number above 0");
  return Object.freeze({ ...definition, type: "evaluation" as const });
}

export type EvaluateOptions = {
  readonly signal?: AbortSignal;
  /** Told of each item when it is done, in the order in which they end. */
  readonly onItem?: (item: ItemReport) => void;
};

/** Items of the report stand in the order of the dataset. What goes wrong with an item is in the report; an abort throws. */
export async function evaluate(given: Evaluation, { signal, onItem }: EvaluateOptions = {}): Promise<EvalReport> {
  const { name, dataset, concurrency = CONCURRENCY } = given;
  const begun = systemClock.monotonic();
  try {
    const items = typeof dataset === "string" ? await readDataset(dataset) : checkedItems(dataset, name);
    const reports: ItemReport[] = [];
    let usage: Usage = NO_USAGE;
    let next = 0;
    const work = async (): Promise<void> => {
      for (let index = next++; index < items.length; index = next++) {
        signal?.throwIfAborted();
        const item = items[index];
        if (item === undefined) return;
        const { report, judged } = await runItem(given, item, signal);
        reports[index] = report;
        usage = addUsage(addUsage(usage, report.usage ?? NO_USAGE), judged);
        onItem?.(report);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
    signal?.throwIfAborted();
    return summed(given, reports, { usage, durationMs: Math.round(systemClock.monotonic() - begun) });
  } finally {
    await given.close?.();
  }
}

/** Gives the item's input to an agent in a session of its own; the output is its structured answer, else its text. */
export function agentTask<Output>(runtime: Runtime, agent: Agent<Output> | string): EvalTask {
  return async ({ input }, { signal }) => {
    const run = await runtime.send(agent, typeof input === "string" ? input : JSON.stringify(input));
    const stop = (): void => void run.session.interrupt().catch(() => undefined);
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) stop();
      const { status, reason, text, output, treeUsage, error } = await run.result();
      if (status === "waiting")
        throw new CapstanError("run-waiting", "The run waits for an answer, and nobody gives one");
      if (reason !== "end-turn") throw new CapstanError("run-failed", error?.message ?? `The run ended with ${reason}`);
      return { output: (output as Json | undefined) ?? text, usage: treeUsage, sessionId: run.session.id }; // checked JSON
    } finally {
      signal.removeEventListener("abort", stop);
    }
  };
}

/** A few lines for people: every scorer, then the items that failed or scored least. */
export function evalText({ name, ok, items, scorers, errors, usage, durationMs }: EvalReport): string {
  const lines = Object.entries(scorers).map(([scorer, { mean, least, threshold, ok: held }]) => {
    const wanted =
      threshold === undefined ? "" : `, wanted ${JSON.stringify(threshold)}: ${held === true ? "held" : "MISSED"}`;
    return `  ${scorer}: mean ${mean.toFixed(3)}, least ${least.toFixed(3)}${wanted}`;
  });
  const worst = items
    .flatMap(({ id, error, scores }) =>
      error === undefined
        ? Object.entries(scores).map(([scorer, { score, reason }]) => ({
            score,
            line: `  ${id} ${scorer} ${score.toFixed(3)}${reason === undefined ? "" : `: ${reason}`}`,
          }))
        : [{ score: -1, line: `  ${id} failed: ${error}` }],
    )
    .filter(({ score }) => score < 1)
    .toSorted((left, right) => left.score - right.score)
    .slice(0, SHOWN);
  const cost = usage.costMicroUsd === undefined ? "" : `, $${(usage.costMicroUsd / 1_000_000).toFixed(4)}`;
  const head = `${name}: ${ok ? "ok" : "FAILED"}, ${items.length} items, ${errors} failed, ${(durationMs / 1_000).toFixed(1)} s${cost}`;
  return [head, ...lines, ...worst.map(({ line }) => line.replaceAll("\n", " "))].join("\n");
}

const SHOWN = 20;

async function runItem(
  { task, scorers, timeoutMs = TIMEOUT_MS }: Evaluation,
  item: EvalItem,
  outer: AbortSignal | undefined,
): Promise<{ readonly report: ItemReport; readonly judged: Usage }> {
  const begun = systemClock.monotonic();
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout]);
  const scores: { [scorer: string]: { readonly score: number; readonly reason?: string } } = {};
  let judged: Usage = NO_USAGE;
  let answer: EvalAnswer | undefined;
  let error: string | undefined;
  try {
    answer = await unlessAborted(async () => task(item, { signal }), signal);
  } catch (cause) {
    outer?.throwIfAborted();
    error = timeout.aborted ? `It took longer than ${timeoutMs} ms` : messageOf(cause);
  }
  for (const { name, score } of scorers) {
    if (answer === undefined) {
      scores[name] = { score: 0, reason: "the item failed" };
      continue;
    }
    const { output } = answer;
    try {
      const { usage, ...given } = checkedScore(
        await unlessAborted(async () => score({ item, output, signal }), signal),
      );
      scores[name] = given;
      judged = addUsage(judged, usage ?? NO_USAGE);
    } catch (cause) {
      outer?.throwIfAborted();
      error ??= `scorer ${name}: ${messageOf(cause)}`;
      scores[name] = { score: 0, reason: messageOf(cause) };
    }
  }
  const durationMs = Math.round(systemClock.monotonic() - begun);
  return { report: { id: item.id, ...answer, ...(error !== undefined && { error }), scores, durationMs }, judged };
}

function checkedScore(given: Score): { readonly score: number; readonly reason?: string; readonly usage?: Usage } {
  const score = typeof given === "object" ? given : { score: Number(given) };
  if (score.score >= 0 && score.score <= 1) return score;
  throw new CapstanError("output-invalid", `A score is a number from 0 to 1, not ${String(score.score)}`);
}

/** A task that does not hear its signal is left behind. */
async function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work(), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function boundsOf(threshold: Threshold): { readonly mean?: number; readonly least?: number } {
  return typeof threshold === "number" ? { mean: threshold } : threshold;
}

function summed(
  { name, scorers, thresholds = {} }: Evaluation,
  items: readonly ItemReport[],
  { usage, durationMs }: Pick<EvalReport, "usage" | "durationMs">,
): EvalReport {
  const reports = scorers.map(({ name: scorer }): readonly [string, ScorerReport] => {
    const all = items.map(({ scores }) => scores[scorer]?.score ?? 0);
    const mean = all.reduce((sum, score) => sum + score, 0) / all.length;
    const least = Math.min(...all);
    const given = thresholds[scorer];
    if (given === undefined) return [scorer, { mean, least }];
    const threshold = boundsOf(given);
    const ok = mean >= (threshold.mean ?? 0) - ROUNDING && least >= (threshold.least ?? 0) - ROUNDING;
    return [scorer, { mean, least, threshold, ok }];
  });
  const errors = items.filter(({ error }) => error !== undefined).length;
  const gated = reports.filter(([, report]) => report.ok !== undefined);
  const ok = gated.length === 0 ? errors === 0 : gated.every(([, report]) => report.ok);
  return { version: 1, name, ok, items, scorers: Object.fromEntries(reports), errors, usage, durationMs };
}

/** What sums of floating-point numbers may be off. */
const ROUNDING = 1e-9;
