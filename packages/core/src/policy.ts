/** Which rules and which mode hold for a call of this session: the session's, the agent's and the runtime's tiers. */

import type { PermissionRules } from "./agent.ts";
import type { Hold } from "./hold.ts";
import { type CallFacts, evaluate, parseRule, type PermissionMode, type Policy, type Verdict } from "./permission.ts";
import type { SessionState } from "./state.ts";
import type { PermissionWord, Tool } from "./tool.ts";

const MODES: readonly string[] = ["ask", "accept-edits", "bypass", "plan", "never-ask"] satisfies PermissionMode[];

/** The mode of the run if its input named one, else the session's; an unknown word means `ask`. */
export function effectiveMode(state: Pick<SessionState, "mode" | "run">): PermissionMode {
  const mode = state.run?.overrides?.mode ?? state.mode;
  return MODES.includes(mode) ? (mode as PermissionMode) : "ask"; // checked on this line
}

/** The verdict on a call as the rules are now. `input` was checked against the tool's schema. */
export function judge(hold: Hold, tool: Tool, input: unknown, hook?: PermissionWord): Verdict {
  const { state, agent, definitions } = hold;
  return evaluate(callFacts(hold, tool, input, hook), policyOf(state, agent.permission, definitions.permission));
}

/** What rules are matched against. */
export function callFacts(hold: Hold, tool: Tool, input: unknown, hook?: PermissionWord): CallFacts {
  const { permission } = tool;
  const word =
    typeof permission === "function"
      ? { word: permission(input as never) }
      : permission === undefined
        ? {}
        : { standing: permission }; // its own schema made the input
  const root = hold.state.workspace?.root;
  return {
    tool: tool.name,
    kind: tool.kind,
    builtIn: tool.builtIn,
    needs: tool.needs(input as never), // as above
    ...word,
    ...(hook !== undefined && { hook }),
    ...(root !== undefined && { root }),
  };
}

export function policyOf(
  state: Pick<SessionState, "mode" | "rules" | "run">,
  agent: PermissionRules,
  global: PermissionRules,
): Policy {
  return {
    mode: effectiveMode(state),
    tiers: [sessionTier(state.rules), tier("agent", agent), tier("global", global)],
  };
}

type Tier = Policy["tiers"][number];

/** Rules are parsed once: the lists are frozen and keep their identity. */
const parsed = new WeakMap<PermissionRules, Tier>();

/** By the list that the state holds: it changes its identity when a rule is added. */
const remembered = new WeakMap<readonly string[], Tier>();

function sessionTier(rules: readonly string[]): Tier {
  const known = remembered.get(rules);
  if (known !== undefined) return known;
  const made = tier("session", { allow: rules });
  remembered.set(rules, made);
  return made;
}

function tier(name: Tier["tier"], rules: PermissionRules): Tier {
  const known = parsed.get(rules);
  if (known !== undefined) return known;
  const made: Tier = {
    tier: name,
    allow: (rules.allow ?? []).map(parseRule),
    ask: (rules.ask ?? []).map(parseRule),
    deny: (rules.deny ?? []).map(parseRule),
  };
  parsed.set(rules, made);
  return made;
}
