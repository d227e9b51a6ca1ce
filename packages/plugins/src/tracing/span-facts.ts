/** What facts say of spans: attributes by the conventions. Pure. */

import type { FactOf, Usage } from "@capstan/core";
import type { Attributes } from "./otel-api.ts";
import { ATTRIBUTE, modelNames, OPERATION } from "./semantic-conventions.ts";

export type Scene = { readonly sessionId: string; readonly agent: string; readonly runId: string };

function sceneAttributes({ sessionId, agent, runId }: Scene): Attributes {
  return { [ATTRIBUTE.conversation]: sessionId, [ATTRIBUTE.agentName]: agent, [ATTRIBUTE.runId]: runId };
}

export function runAttributes(scene: Scene): Attributes {
  return { ...sceneAttributes(scene), [ATTRIBUTE.operation]: OPERATION.agent, [ATTRIBUTE.agentId]: scene.agent };
}

export function chatAttributes(scene: Scene, fact: FactOf<"turn.started">): Attributes {
  const { provider, model } = modelNames(fact.model);
  return {
    ...sceneAttributes(scene),
    [ATTRIBUTE.operation]: OPERATION.chat,
    [ATTRIBUTE.provider]: provider,
    [ATTRIBUTE.requestModel]: model,
    [ATTRIBUTE.requestStream]: true,
    [ATTRIBUTE.turn]: fact.turn,
    [ATTRIBUTE.attempt]: fact.attempt,
    [ATTRIBUTE.prefix]: fact.prefixHash,
  };
}

export function answerAttributes(fact: FactOf<"turn.finished">): Attributes {
  return {
    [ATTRIBUTE.responseModel]: modelNames(fact.model).model,
    [ATTRIBUTE.finishReasons]: [fact.rawReason ?? fact.reason],
    ...(fact.responseId !== undefined && { [ATTRIBUTE.responseId]: fact.responseId }),
    ...(fact.firstDeltaMs !== undefined && { [ATTRIBUTE.firstChunk]: fact.firstDeltaMs / 1_000 }),
    ...usageAttributes(fact.usage),
  };
}

/** Prompt tokens as the conventions count them: with those read from and written to a cache. */
export function promptTokens({ inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

function usageAttributes(usage: Usage): Attributes {
  const { outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, costMicroUsd } = usage;
  return {
    [ATTRIBUTE.inputTokens]: promptTokens(usage),
    [ATTRIBUTE.outputTokens]: outputTokens,
    ...(cacheReadTokens !== undefined && { [ATTRIBUTE.cacheRead]: cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { [ATTRIBUTE.cacheCreation]: cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { [ATTRIBUTE.reasoningTokens]: reasoningTokens }),
    ...(costMicroUsd !== undefined && { [ATTRIBUTE.cost]: costMicroUsd / 1_000_000 }),
  };
}

export function toolAttributes(scene: Scene, fact: FactOf<"tool.started">): Attributes {
  return {
    ...sceneAttributes(scene),
    [ATTRIBUTE.operation]: OPERATION.tool,
    [ATTRIBUTE.toolName]: fact.name,
    [ATTRIBUTE.toolCallId]: fact.callId,
    [ATTRIBUTE.toolType]: "function",
    [ATTRIBUTE.toolKind]: fact.kind,
    [ATTRIBUTE.confinement]: fact.confinement,
    ...(fact.server !== undefined && { [ATTRIBUTE.toolServer]: fact.server, [ATTRIBUTE.mcpMethod]: "tools/call" }),
  };
}

export function endAttributes(fact: FactOf<"run.finished">): Attributes {
  return { [ATTRIBUTE.runReason]: fact.reason, [ATTRIBUTE.runTurns]: fact.turns, ...usageAttributes(fact.usage) };
}
