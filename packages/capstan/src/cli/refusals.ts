/** Calls that were denied because nobody could be asked, and the rules that would have allowed each. */

import {
  type Agent,
  callFacts,
  evaluate,
  type Fact,
  type Json,
  type PermissionMode,
  type PermissionRules,
  policyOf,
  type Tool,
  type Verdict,
} from "@capstan/core";
import { inert } from "./inert.ts";
import { neededRules } from "./needed-rules.ts";

export type Refusal = {
  readonly callId: string;
  readonly tool: string;
  /** What the call was about, for people. */
  readonly title: string;
  readonly reason: string;
  /** To be given with `--allow`, each; absent when no rules can allow it. */
  readonly rules?: readonly string[];
};
export type RefusalRules = {
  readonly agent: Agent<unknown>;
  /** The agent's and those of the runtime's plugins. */
  readonly tools: readonly Tool[];
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
        const tool = rules.tools.find(({ name }) => name === fact.name);
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
    const state = { mode: mode === "never-ask" ? "ask" : mode, rules: remembered };
    const verdictWith = (own: PermissionRules): Verdict => evaluate(call, policyOf(state, own, permission));
    const { verdict, reason } = verdictWith(agent.permission);
    if (verdict !== "ask") return undefined; // denied by a rule: nobody had to be asked
    const needed = neededRules(call);
    const helps =
      needed.length > 0 &&
      needed.every((rule) => inert(rule) === rule) && // what cannot be shown as it is cannot be typed either
      verdictWith({ ...agent.permission, allow: [...(agent.permission.allow ?? []), ...needed] }).verdict === "allow";
    return { callId, tool: tool.name, title: tool.title(input), reason, ...(helps && { rules: needed }) };
  } catch {
    return undefined; // an input that does not fit the tool was not denied for want of a person
  }
}
