/** Which rules and which mode hold for a call of this session: the session's, the agent's and the runtime's tiers. */

import type { PermissionRules } from "./agent.ts";
import type { PolicyText } from "./event.ts";
import type { Hold } from "./hold.ts";
import { type CallFacts, evaluate, parseRule, type PermissionMode, type Policy, type Verdict } from "./permission.ts";
import type { SessionState } from "./session-state.ts";
import type { PermissionWord, Tool } from "./tool.ts";

const MODES: readonly string[] = ["ask", "accept-edits", "bypass", "plan", "never-ask"] satisfies PermissionMode[];

/** The mode of the run if its input named one, else the session's; an unknown word means `ask`. */
export function effectiveMode(state: Pick<SessionState, "mode" | "run">): PermissionMode {
  return modeOf(state.run?.overrides?.mode ?? state.mode);
}

function modeOf(mode: string): PermissionMode {
  return MODES.includes(mode) ? (mode as PermissionMode) : "ask"; // checked on this line
}

/** The verdict on a call as the rules are now. `input` was checked against the tool's schema. */
export function judge(hold: Hold, tool: Tool, input: unknown, hook?: PermissionWord): Verdict {
  const { state, agent, definitions } = hold;
  const call = callFacts(tool, input, state.workspace?.root, hook);
  const own = evaluate(call, policyOf(state, agent.permission, definitions.permission));
  return (state.parent?.policies ?? []).reduce((verdict, policy) => narrowed(verdict, call, policy), own);
}

/** An ancestor's word on the call of a sub-agent: it can forbid, and ask where nobody has said "always" to the sub-agent. */
function narrowed(verdict: Verdict, call: CallFacts, policy: PolicyText): Verdict {
  if (verdict.verdict === "deny") return verdict;
  const { mode, tiers } = policy;
  const parent = evaluate(call, {
    mode: modeOf(mode),
    tiers: tiers.map((texts) => tier(texts.tier as Tier["tier"], texts, texts)), // `policyText` wrote it
  });
  if (parent.verdict === "deny") return parent;
  const consented = verdict.verdict === "ask" || verdict.tier === "session";
  return parent.verdict === "ask" && !consented ? parent : verdict;
}

/** What holds here now, as text, for the sessions of sub-agents. */
export function policyText({ state, agent, definitions }: Hold): PolicyText {
  const lists = [
    { tier: "session", allow: state.rules, ask: [], deny: [] },
    { tier: "agent", allow: [], ask: [], deny: [], ...agent.permission },
    { tier: "global", allow: [], ask: [], deny: [], ...definitions.permission },
  ];
  return {
    mode: effectiveMode(state),
    tiers: lists.map(({ tier: name, allow, ask, deny }) => ({ tier: name, allow, ask, deny })),
  };
}

/** What rules are matched against. `input` was checked against the tool's schema, `root` is the workspace's. */
export function callFacts(tool: Tool, input: unknown, root: string | undefined, hook?: PermissionWord): CallFacts {
  const { name, kind, builtIn, permission } = tool;
  return {
    tool: name,
    kind,
    builtIn,
    needs: tool.needs(input),
    ...(typeof permission === "function" ? { word: permission(input) } : permission && { standing: permission }),
    ...(hook !== undefined && { hook }),
    ...(root !== undefined && { root }),
  };
}

/** The rules that hold for a call, by tier. */
export function policyOf(
  state: Pick<SessionState, "mode" | "rules" | "run">,
  agent: PermissionRules,
  global: PermissionRules,
): Policy {
  return {
    mode: effectiveMode(state),
    tiers: [
      tier("session", state.rules, { allow: state.rules }),
      tier("agent", agent, agent),
      tier("global", global, global),
    ],
  };
}

type Tier = Policy["tiers"][number];

/** Rules are parsed once. A list of the state changes its identity when a rule is added; the others are frozen. */
const parsed = new WeakMap<object, Tier>();

function tier(name: Tier["tier"], key: object, { allow = [], ask = [], deny = [] }: PermissionRules): Tier {
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const made: Tier = { tier: name, allow: allow.map(parseRule), ask: ask.map(parseRule), deny: deny.map(parseRule) };
  parsed.set(key, made);
  return made;
}
