/** Calls that were denied because nobody could be asked, and the rule that would have allowed each. */

import {
  type Agent,
  type CallFacts,
  evaluate,
  type Fact,
  type Json,
  parseRule,
  type PermissionMode,
} from "@capstan/core";
import { type PermissionRules, type Policy, ruleFor, type Tool } from "@capstan/core";

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
    const call = callFacts(tool, input, rules.root);
    const { verdict, reason, remember } = evaluate(call, policyOf(rules));
    if (verdict !== "ask") return undefined; // denied by a rule: nobody had to be asked
    const rule = remember ? ruleFor(call) : undefined;
    return { callId, tool: tool.name, title: tool.title(input as never), reason, ...(rule !== undefined && { rule }) };
  } catch {
    return undefined; // an input that does not fit the tool was not denied for want of a person
  }
}

function callFacts(tool: Tool, input: Json | undefined, root: string | undefined): CallFacts {
  const { name, kind, builtIn, permission } = tool;
  const word =
    typeof permission === "function" ? { word: permission(input as never) } : permission && { standing: permission }; // the call was checked when it was judged
  return { tool: name, kind, builtIn, needs: tool.needs(input as never), ...word, ...(root !== undefined && { root }) };
}

function policyOf({ mode, agent, permission, remembered }: RefusalRules): Policy {
  const tier = (
    name: "session" | "agent" | "global",
    { allow = [], ask = [], deny = [] }: PermissionRules,
  ): Policy["tiers"][number] => ({
    tier: name,
    allow: allow.map((rule) => parseRule(rule)),
    ask: ask.map((rule) => parseRule(rule)),
    deny: deny.map((rule) => parseRule(rule)),
  });
  return {
    mode: mode === "never-ask" ? "ask" : mode,
    tiers: [tier("session", { allow: remembered }), tier("agent", agent.permission), tier("global", permission)],
  };
}
