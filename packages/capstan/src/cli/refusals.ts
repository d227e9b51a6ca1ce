/** Calls that were denied because nobody could be asked, and the rule that would have allowed each. */

import {
  type Agent,
  callFacts,
  evaluate,
  type Fact,
  type Json,
  type PermissionMode,
  type PermissionRules,
  policyOf,
  ruleFor,
  type Tool,
} from "@capstan/core";

export type Refusal = {
  readonly callId: string;
  readonly tool: string;
  /** What the call was about, for people. */
  readonly title: string;
  readonly reason: string;
  /** To be given with `--allow`; absent when no rule can allow it. */
  readonly rule?: string;
};
export type RefusalRules = {
  readonly agent: Agent<unknown>;
  /** Rules of the whole runtime. */
  readonly permission: PermissionRules;
  /** Rules remembered in the session. */
  readonly remembered: readonly string[];
  readonly mode: PermissionMode;
  readonly root: string | undefined;
};

export interface Refusals {
  observe(fact: Fact): void;
  readonly list: readonly Refusal[];
}

/** Watches the facts of one run, all of whose asks were denied. */
export function refusals(rules: RefusalRules): Refusals {
  const inputs = new Map<string, Json>();
  const list: Refusal[] = [];
  return {
    list,
    observe(fact) {
      if (fact.type === "message.added") {
        for (const part of fact.message.parts) if (part.type === "tool-call") inputs.set(part.callId, part.input);
      } else if (fact.type === "tool.finished" && fact.status === "denied") {
        const tool = rules.agent.tools.find(({ name }) => name === fact.name);
        const refusal = tool && refusalOf(rules, tool, fact.callId, inputs.get(fact.callId));
        if (refusal !== undefined) list.push(refusal);
      }
    },
  };
}

function refusalOf(rules: RefusalRules, tool: Tool, callId: string, input: Json | undefined): Refusal | undefined {
  try {
    const { agent, permission, remembered, mode, root } = rules;
    const call = callFacts(tool, input, root);
    const policy = policyOf(
      { mode: mode === "never-ask" ? "ask" : mode, rules: remembered },
      agent.permission,
      permission,
    );
    const { verdict, reason, remember } = evaluate(call, policy);
    if (verdict !== "ask") return undefined; // denied by a rule: nobody had to be asked
    const rule = remember ? ruleFor(call) : undefined;
    return { callId, tool: tool.name, title: tool.title(input), reason, ...(rule !== undefined && { rule }) };
  } catch {
    return undefined; // an input that does not fit the tool was not denied for want of a person
  }
}
