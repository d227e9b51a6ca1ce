/** Judges the calls that a log records under other rules: what would be allowed, asked and denied now. Pure, runs no tool. */

import {
  callFacts,
  check,
  type Fact,
  type FactOf,
  initialState,
  type Json,
  type PermissionMode,
  type PermissionRules,
  policyOf,
  reduce,
  type SessionState,
  textOf,
  type Tool,
  type Verdict,
  verdictIn,
} from "@capstan/core";

export type ReplayedCall = {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  /** What happened then. */
  readonly before: Verdict["verdict"];
  /** `unknown`: there is no such tool any more, or it does not take this input. */
  readonly now: Verdict["verdict"] | "unknown";
  readonly reason: string;
};
type ReplayRules = {
  readonly tools: readonly Tool[];
  readonly agent: PermissionRules;
  readonly global: PermissionRules;
  /** In place of the modes that held. */
  readonly mode?: PermissionMode | undefined;
};

/**
 * Calls in the order of the log. Mode, folder, remembered rules and the rules of ancestors are those that held at each call.
 * Left out: calls that no rule decided on, because a plugin or the budget did.
 */
export async function replayPolicy(facts: readonly Fact[], rules: ReplayRules): Promise<readonly ReplayedCall[]> {
  const [first, ...rest] = facts;
  if (first?.type !== "session.created") throw new Error("a log begins with session.created");
  const replayed = new Map<string, ReplayedCall>();
  let state = initialState(first);
  for (const fact of rest) {
    const call = judgedCall(state, fact);
    if (call !== undefined && !replayed.has(call.callId)) {
      const { callId, name, input, before } = call;
      replayed.set(callId, { callId, tool: name, input, before, ...(await judgedNow(state, call, rules)) });
    }
    state = reduce(state, fact);
  }
  return [...replayed.values()];
}

type Judged = {
  readonly callId: string;
  readonly name: string;
  readonly input: Json;
  readonly before: ReplayedCall["before"];
};

/** The call on which this fact shows the first word. A question that a flow asks of its own comes after its start. */
function judgedCall(state: SessionState, fact: Fact): Judged | undefined {
  if (fact.type === "request.opened" && fact.request.type === "permission") {
    const { callId, tool: name, input } = fact.request;
    return { callId, name, input, before: "ask" };
  }
  if (fact.type === "tool.started") {
    const { callId, name, input } = fact;
    return { callId, name, input, before: "allow" };
  }
  if (fact.type !== "tool.finished" || fact.status !== "denied" || isNoRule(fact)) return undefined;
  const part = state.run?.calls.find(({ part: { callId } }) => callId === fact.callId)?.part;
  return part === undefined ? undefined : { callId: part.callId, name: part.name, input: part.input, before: "deny" };
}

function isNoRule({ by, output }: FactOf<"tool.finished">): boolean {
  return by !== undefined || textOf(output.content).startsWith("Refused: the budget");
}

async function judgedNow(
  state: SessionState,
  { name, input }: Judged,
  { tools, agent, global, mode }: ReplayRules,
): Promise<Pick<ReplayedCall, "now" | "reason">> {
  const tool = tools.find((known) => known.name === name);
  if (tool === undefined) return { now: "unknown", reason: `There is no tool ${name} now` };
  const checked = await check(tool.schema, structuredClone(input));
  if (!checked.ok) return { now: "unknown", reason: `Wrong arguments for ${name}: ${checked.problem}` };
  const call = callFacts(tool, checked.value, state.workspace?.root);
  const held = mode === undefined ? state : { mode, rules: state.rules };
  const { verdict, reason } = verdictIn(state, call, policyOf(held, agent, global));
  return { now: verdict, reason };
}
