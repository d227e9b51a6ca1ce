/** What was approved until when: a fold of requests, answers and what the plugin recorded. */

import type { Actor, Fact, FactOf } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { forget, recall, remember, type Remembered } from "../remembered.ts";

export const PLUGIN_NAME = "approvals";
const RULES = 1_000;
const OPEN = 1_000;
const UNKNOWN: Actor = { id: "unknown", door: "unknown" };

/** What a person said yes to. `rules` are permission rules that cover exactly that. */
export type Approval = {
  readonly tool: string;
  readonly rules: readonly string[];
  /** Id of the actor who answered, and the reason that came with the answer. */
  readonly by: string;
  readonly reason?: string;
};

export type Recorded =
  | { readonly type: "asking"; readonly callId: string; readonly tool: string; readonly rules: readonly string[] }
  | { readonly type: "used"; readonly callId: string; readonly rules: readonly string[] }
  | { readonly type: "saved"; readonly requestId: string };
type Asking = { readonly tool: string; readonly rules: readonly string[] };
type Unsaved = {
  readonly requestId: string;
  readonly rules: readonly string[];
  readonly until: number;
  readonly by: string;
  readonly actor: Actor;
};
/** `now` is the time of the newest fact. `asking` by call, `questions` are calls by request. */
export type Own = {
  readonly now: number;
  readonly actor: Actor;
  readonly approved: Remembered<number>;
  readonly asking: Remembered<Asking>;
  readonly questions: Remembered<string>;
  readonly unsaved: readonly Unsaved[];
};
export const NO_APPROVALS: Own = { now: 0, actor: UNKNOWN, approved: [], asking: [], questions: [], unsaved: [] };

type MsOf = (approval: Approval) => number | undefined;

export function nextApprovals(own: Own, fact: Fact, msOf: MsOf): Own {
  const later = { ...own, now: Math.max(own.now, fact.at) };
  switch (fact.type) {
    case "input.accepted":
      return { ...later, actor: fact.actor };
    case "request.opened": {
      const { request, requestId } = fact;
      // what may not be answered with "always" may not be approved for later either
      if (request.type !== "permission" || request.remember.length === 0) return later;
      return { ...later, questions: remember(own.questions, requestId, request.callId, OPEN) };
    }
    case "request.resolved":
      return resolved(later, fact, msOf);
    case "tool.finished":
      return { ...later, asking: forget(own.asking, fact.callId) };
    case "data":
      return withData(later, recorded<Recorded>(fact, PLUGIN_NAME));
    default:
      return later;
  }
}

function resolved(own: Own, { requestId, answer, by }: FactOf<"request.resolved">, msOf: MsOf): Own {
  const callId = recall(own.questions, requestId);
  const asking = callId === undefined ? undefined : recall(own.asking, callId);
  const closed = { ...own, questions: forget(own.questions, requestId) };
  // arguments that a person changed are not what the rules were made of
  if (asking === undefined || answer.type !== "permission" || !answer.allow || answer.input !== undefined)
    return closed;
  const { rules } = asking;
  const ms = msOf({ ...asking, by: by.id, ...(answer.reason !== undefined && { reason: answer.reason }) });
  if (ms === undefined || !(ms > 0)) return closed;
  const until = own.now + ms;
  return {
    ...closed,
    approved: rules.reduce((approved, rule) => remember(approved, rule, until, RULES), own.approved),
    unsaved: [...own.unsaved, { requestId, rules, until, by: by.id, actor: own.actor }].slice(-OPEN),
  };
}

function withData(own: Own, data: Recorded | undefined): Own {
  switch (data?.type) {
    case "asking":
      return { ...own, asking: remember(own.asking, data.callId, { tool: data.tool, rules: data.rules }, OPEN) };
    case "saved":
      return { ...own, unsaved: own.unsaved.filter(({ requestId }) => requestId !== data.requestId) };
    case "used":
    case undefined:
      return own;
    default:
      return data satisfies never;
  }
}
