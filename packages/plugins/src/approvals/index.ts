/** Lets what a person approved run again without a question for some time, in the session or, by a store, everywhere. */

import {
  type Actor,
  callFacts,
  CapstanError,
  check,
  evaluate,
  type Fact,
  type HookContext,
  type HookedCall,
  messageOf,
  type OpenRequest,
  type Plugin,
  plugin,
  rulesFor,
  type Runtime,
} from "@capstan/core";
import { recall } from "../remembered.ts";
import { type Approval, nextApprovals, NO_APPROVALS, type Own, PLUGIN_NAME, type Recorded } from "./whitelist.ts";

export type { Approval } from "./whitelist.ts";

/** Whose call it is: a store of several tenants must not mix them. */
export type ApprovalScope = { readonly agent: string; readonly actor: Actor };
/** Keeps approvals for other sessions. */
export type ApprovalStore = {
  /** Until when the rule is approved, in milliseconds since 1970. What throws counts as not approved. */
  approvedUntil(rule: string, scope: ApprovalScope): Promise<number | undefined> | number | undefined;
  /** Called for each rule, again with the same values when a crash came in between. */
  approve(
    rule: string,
    approval: ApprovalScope & { readonly until: number; readonly by: string },
  ): Promise<void> | void;
};
export type ApprovalsOptions = {
  /** How long an approval holds; a function must give the same for the same approval, `undefined` for this call only. */
  readonly allowForMs: number | ((approval: Approval) => number | undefined);
  /** Without it approvals hold in their session. */
  readonly store?: ApprovalStore;
};

/**
 * Only for what asks because no rule allows it: what a rule, a tool's own function or a protected path asks about is asked
 * every time. Who may answer, and how long a question waits, is `permission.approvers` and `permission.waitMs` of agent or
 * runtime. Throws `plugin-invalid` for a time that is none.
 */
export function approvals({ allowForMs, store }: ApprovalsOptions): Plugin {
  if (typeof allowForMs !== "function" && !(Number.isSafeInteger(allowForMs) && allowForMs > 0)) {
    throw new CapstanError(
      "plugin-invalid",
      "approvals: allowForMs is a whole number of milliseconds above 0, or a function",
    );
  }
  const msOf = typeof allowForMs === "function" ? allowForMs : (): number => allowForMs;
  return plugin<Own>({
    name: PLUGIN_NAME,
    fold: { start: NO_APPROVALS, next: (own, fact: Fact) => nextApprovals(own, fact, msOf) },
    async tool(call, context, next) {
      const rules = call.verdict === undefined ? await rulesAskedFor(call, context) : [];
      if (rules.length === 0) return next(call);
      const { callId, name: tool } = call;
      if (await areApproved(rules, context, store)) {
        await context.record({ type: "used", callId, rules } satisfies Recorded);
        return next({ ...call, verdict: "allow" });
      }
      await context.record({ type: "asking", callId, tool, rules } satisfies Recorded);
      return next(call);
    },
    async prepare(_request, context) {
      if (store === undefined) return;
      for (const { requestId, rules, until, by, actor } of context.own.unsaved) {
        const approval = { until, by, agent: context.state.agent, actor };
        try {
          await context.step(`approve/${requestId}`, async () => {
            for (const rule of rules) await store.approve(rule, approval);
          });
        } catch (error) {
          context.signal.throwIfAborted();
          context.notice(
            "The store of approvals failed: it is told again before the next model call",
            messageOf(error),
          );
          continue;
        }
        await context.record({ type: "saved", requestId } satisfies Recorded);
      }
    },
  });
}

/** Open questions about calls that this actor may answer, newest session first. */
export async function approvalQueue(runtime: Runtime, actorId: string): Promise<readonly OpenRequest[]> {
  const requests = await runtime.requests();
  return requests.filter(
    ({ body }) => body.type === "permission" && (body.approvers === undefined || body.approvers.includes(actorId)),
  );
}

/** The rules that would allow the call, when it is one that asks for want of a rule. */
async function rulesAskedFor({ tool, input }: HookedCall, { state }: HookContext<Own>): Promise<readonly string[]> {
  const checked = await check(tool.schema, structuredClone(input));
  if (!checked.ok) return [];
  const facts = callFacts(tool, checked.value, state.workspace?.root);
  const { verdict, remember } = evaluate(facts, { mode: "ask", tiers: [] });
  return verdict === "ask" && remember ? rulesFor(facts) : [];
}

async function areApproved(
  rules: readonly string[],
  context: HookContext<Own>,
  store: ApprovalStore | undefined,
): Promise<boolean> {
  const { own, state } = context;
  const scope = { agent: state.agent, actor: state.run?.actor ?? { id: "unknown", door: "unknown" } };
  for (const rule of rules) {
    if ((recall(own.approved, rule) ?? 0) > own.now) continue;
    try {
      if (((await store?.approvedUntil(rule, scope)) ?? 0) > own.now) continue;
    } catch (error) {
      context.notice("The store of approvals failed: a person is asked", messageOf(error));
    }
    return false;
  }
  return true;
}
