/** OpenTelemetry metrics of runs, model calls and tools: histograms by the conventions for generative AI. */

import { type Envelope, type Fact, type FactOf, isLive, type Plugin, plugin } from "@capstan/core";
import type { Attributes } from "../tracing/otel-api.ts";
import { ATTRIBUTE, METRIC, modelNames, OPERATION } from "../tracing/semantic-conventions.ts";
import { promptTokens } from "../tracing/span-facts.ts";

export type OtelHistogram = { record(value: number, attributes: Attributes): void };
/** A `Meter` of `@opentelemetry/api` fits. */
export type OtelMeter = {
  createHistogram(
    name: string,
    options: { unit: string; description: string; advice: { explicitBucketBoundaries: number[] } },
  ): OtelHistogram;
};
export type MetricsOptions = { readonly meter: OtelMeter };

/** Boundaries that the conventions give. */
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const LONG_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 14_400, 86_400];
const COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const DOLLARS = [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50];

/** Starts of what has not ended, of all sessions; the oldest are forgotten. */
const MAX_OPEN = 10_000;

/**
 * Give it to the runtime, so that sub-agents count too. No attribute names a session or a person: the number of series stays
 * that of agents, models and tools. A run that another process began has no duration here.
 */
export function metrics({ meter }: MetricsOptions): Plugin {
  const instruments = instrumentsOf(meter);
  const open = new Map<string, { readonly at: number; readonly model?: string }>();
  const begin = (key: string, at: number, model?: string): void => {
    open.delete(key);
    open.set(key, { at, ...(model !== undefined && { model }) });
    const [oldest] = open.keys();
    if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
  };
  const end = (key: string): { readonly at: number; readonly model?: string } | undefined => {
    const begun = open.get(key);
    open.delete(key);
    return begun;
  };
  return plugin({
    name: "metrics",
    on({ sessionId, agent, event }: Envelope) {
      if (event.type === "turn.reset") {
        const begun = end(`${sessionId} turn`);
        if (begun === undefined) return;
        const names = modelAttributes(agent, begun.model ?? "", event.error.code);
        instruments.modelDuration.record((event.at - begun.at) / 1_000, names);
      }
      if (isLive(event)) return;
      if (event.type === "run.started") begin(`${sessionId} run`, event.at);
      else if (event.type === "turn.started") begin(`${sessionId} turn`, event.at, event.model);
      else if (event.type === "request.opened") begin(`${sessionId} ${event.requestId}`, event.at, event.request.type);
      else if (event.type === "turn.finished") recordTurn(instruments, agent, event, end(`${sessionId} turn`));
      else if (event.type === "tool.finished") recordTool(instruments, agent, event);
      else if (event.type === "request.resolved")
        recordWait(instruments, agent, event, end(`${sessionId} ${event.requestId}`));
      else if (event.type === "run.finished") {
        end(`${sessionId} turn`);
        recordRun(instruments, agent, event, end(`${sessionId} run`));
      }
    },
  });
}

type Instruments = { readonly [Name in keyof typeof METRIC]: OtelHistogram };
type Begun = { readonly at: number; readonly model?: string } | undefined;

function instrumentsOf(meter: OtelMeter): Instruments {
  const histogram = (name: string, unit: string, description: string, boundaries: number[]): OtelHistogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  return {
    tokens: histogram(METRIC.tokens, "{token}", "Tokens of a model call", TOKENS),
    modelDuration: histogram(METRIC.modelDuration, "s", "Time of a model call", SECONDS),
    firstChunk: histogram(METRIC.firstChunk, "s", "Time to the first piece of an answer", SECONDS),
    agentDuration: histogram(METRIC.agentDuration, "s", "Time of a run, waiting included", LONG_SECONDS),
    inferenceCalls: histogram(METRIC.inferenceCalls, "{call}", "Model calls of a run", COUNTS),
    toolCalls: histogram(METRIC.toolCalls, "{call}", "Tool calls of a run, those of sub-agents included", COUNTS),
    toolDuration: histogram(METRIC.toolDuration, "s", "Time of a tool call", SECONDS),
    cost: histogram(METRIC.cost, "USD", "Cost of a model call", DOLLARS),
    requestWait: histogram(METRIC.requestWait, "s", "Time until a request to a person was answered", LONG_SECONDS),
  };
}

function modelAttributes(agent: string, id: string, error?: string): Attributes {
  const { provider, model } = modelNames(id);
  return {
    [ATTRIBUTE.operation]: OPERATION.chat,
    [ATTRIBUTE.provider]: provider,
    [ATTRIBUTE.requestModel]: model,
    [ATTRIBUTE.agentName]: agent,
    ...(error !== undefined && { [ATTRIBUTE.errorType]: error }),
  };
}

function recordTurn(instruments: Instruments, agent: string, fact: FactOf<"turn.finished">, begun: Begun): void {
  const { usage, firstDeltaMs, error, model } = fact;
  const asked = modelAttributes(agent, begun?.model ?? model, error?.code);
  const attributes = { ...asked, [ATTRIBUTE.responseModel]: modelNames(model).model };
  if (begun !== undefined) instruments.modelDuration.record((fact.at - begun.at) / 1_000, attributes);
  if (firstDeltaMs !== undefined) instruments.firstChunk.record(firstDeltaMs / 1_000, attributes);
  instruments.tokens.record(promptTokens(usage), { ...attributes, [ATTRIBUTE.tokenType]: "input" });
  instruments.tokens.record(usage.outputTokens, { ...attributes, [ATTRIBUTE.tokenType]: "output" });
  if (usage.costMicroUsd !== undefined) instruments.cost.record(usage.costMicroUsd / 1_000_000, attributes);
}

function recordTool({ toolDuration }: Instruments, agent: string, fact: FactOf<"tool.finished">): void {
  const { name, status, durationMs } = fact;
  toolDuration.record(durationMs / 1_000, {
    [ATTRIBUTE.operation]: OPERATION.tool,
    [ATTRIBUTE.toolName]: name,
    [ATTRIBUTE.toolStatus]: status,
    [ATTRIBUTE.agentName]: agent,
    ...(status !== "ok" && { [ATTRIBUTE.errorType]: status }),
  });
}

function recordRun(instruments: Instruments, agent: string, fact: FactOf<"run.finished">, begun: Begun): void {
  const attributes: Attributes = {
    [ATTRIBUTE.operation]: OPERATION.agent,
    [ATTRIBUTE.agentName]: agent,
    [ATTRIBUTE.runReason]: fact.reason,
    ...(fact.error !== undefined && { [ATTRIBUTE.errorType]: fact.error.code }),
  };
  if (begun !== undefined) instruments.agentDuration.record((fact.at - begun.at) / 1_000, attributes);
  instruments.inferenceCalls.record(fact.turns, attributes);
  instruments.toolCalls.record(fact.calls ?? 0, attributes);
}

function recordWait(
  instruments: Instruments,
  agent: string,
  fact: Fact & FactOf<"request.resolved">,
  begun: Begun,
): void {
  if (begun === undefined) return;
  const allowed = "allow" in fact.answer ? { [ATTRIBUTE.requestAllowed]: fact.answer.allow } : {};
  const attributes = { [ATTRIBUTE.agentName]: agent, [ATTRIBUTE.requestType]: begun.model ?? "", ...allowed };
  instruments.requestWait.record((fact.at - begun.at) / 1_000, attributes);
}
