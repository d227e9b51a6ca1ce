/** Facts that an audit log holds, and what it says of each: who, what, with which consent. Bodies as hashes. Pure. */

import { type Fact, type FactOf, hashJson, type Json, type RequestBody, textOf } from "@capstan/core";

/** Characters of one body, when bodies are kept. */
const MAX_BODY = 16_384;

export type Body = (value: Json) => Json;

/** The hash of a value, or the value itself as long as it is short. */
export function bodies(content: boolean): Body {
  if (!content) return (value) => ({ sha256: hashJson(value) });
  return (value) => {
    const text = JSON.stringify(value);
    return text.length <= MAX_BODY ? value : { sha256: hashJson(value), head: text.slice(0, MAX_BODY).toWellFormed() };
  };
}

/** Kinds of facts that are audited. */
const AUDITED: ReadonlySet<Fact["type"]> = new Set([
  "session.created",
  "session.updated",
  "input.accepted",
  "run.started",
  "run.finished",
  "prefix.set",
  "turn.finished",
  "message.added",
  "tool.started",
  "tool.finished",
  "request.opened",
  "request.resolved",
  "task.started",
  "task.finished",
  "context.compacted",
]);

export function isAudited({ type }: Fact): boolean {
  return AUDITED.has(type);
}

/** Undefined for facts that are not audited. */
export function auditedData(fact: Fact, body: Body): Json | undefined {
  const data = dataOf(fact, body);
  return data === undefined ? undefined : (JSON.parse(JSON.stringify(data)) as Json); // members that are missing go
}

function dataOf(fact: Fact, body: Body): object | undefined {
  switch (fact.type) {
    case "session.created":
    case "session.updated":
      return sessionData(fact);
    case "input.accepted":
    case "run.started":
    case "run.finished":
      return runData(fact, body);
    case "prefix.set":
      return { hash: fact.hash, cause: fact.cause };
    case "turn.finished":
      return { run: fact.runId, turn: fact.turn, model: fact.model, response: fact.responseId, reason: fact.reason };
    case "message.added":
      return { message: fact.message.id, role: fact.message.role, body: body(fact.message.parts as Json) };
    case "tool.started":
    case "tool.finished":
      return callData(fact, body);
    case "request.opened":
      return { requestId: fact.requestId, ...requestData(fact.request, body) };
    case "request.resolved":
      return answerData(fact, body);
    case "task.started":
      return { taskId: fact.taskId, kind: fact.kind, child: fact.childSessionId, callId: fact.callId };
    case "task.finished":
      return { taskId: fact.taskId, status: fact.status };
    case "context.compacted":
      return { trigger: fact.trigger, throughSeq: fact.throughSeq };
    default:
      return undefined;
  }
}

function sessionData(fact: FactOf<"session.created"> | FactOf<"session.updated">): object {
  if (fact.type === "session.created") {
    const { agent, mode, actor, workspace, parent, forkedFrom } = fact;
    return { agent, mode, actor, workspace, parent: parent?.sessionId, forkedFrom };
  }
  const { mode, model, addRules, actor } = fact;
  return { mode, model, addRules, actor };
}

function runData(fact: FactOf<"input.accepted" | "run.started" | "run.finished">, body: Body): object {
  const { runId: run } = fact;
  if (fact.type === "run.started") return { run, agentHash: fact.agentHash };
  if (fact.type === "run.finished") {
    const { reason, turns, error, usage } = fact;
    return { run, reason, turns, error: error?.code, usage };
  }
  const { inputId: input, actor, overrides, parts } = fact;
  return { run, input, actor, mode: overrides?.mode, body: body(parts as Json) };
}

function callData(fact: FactOf<"tool.started" | "tool.finished">, body: Body): object {
  const { callId, name } = fact;
  if (fact.type === "tool.finished") {
    const { status, by, output } = fact;
    return { callId, name, status, by, output: body(textOf(output.content)) };
  }
  const { kind, rerun, toolHash, confinement, requestId, locations, server, input } = fact;
  return { callId, name, kind, rerun, toolHash, confinement, requestId, locations, server, input: body(input) };
}

function requestData(request: RequestBody, body: Body): object {
  const { type } = request;
  if (type === "permission") return { type, callId: request.callId, tool: request.tool, input: body(request.input) };
  return { type, callId: request.callId };
}

function answerData({ requestId, answer, by }: FactOf<"request.resolved">, body: Body): object {
  const { type } = answer;
  const given =
    "allow" in answer ? { allow: answer.allow, remember: answer.remember, edited: answer.input !== undefined } : {};
  return { requestId, type, ...given, by, answer: body(answer as Json) };
}
