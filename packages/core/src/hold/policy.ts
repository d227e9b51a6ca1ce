/** Which rules and which mode hold for a call of this session: the session's, the agent's and the runtime's tiers. */

import { type CallFacts, evaluate, parseRule, type Policy } from "../permission/permission.ts";
import { withRealPaths } from "../permission/real-paths.ts";
import type { Permission, PermissionRules } from "../ports/agent.ts";
import type { Tool } from "../ports/tool.ts";
import type { Need } from "../ports/workspace.ts";
import type { SessionState } from "../state/session-state.ts";
import { leftAlone, messageOf } from "../words/errors.ts";
import type { PolicyText } from "../words/event.ts";
import { type Verdict, PERMISSION_MODES, type PermissionMode, type PermissionWord } from "../words/verdict.ts";
import type { Hold } from "./hold.ts";

/** The mode of the run if its input named one, else the session's; an unknown word means `ask`. */
export function effectiveMode(state: Pick<SessionState, "mode" | "run">): PermissionMode {
  return modeOf(state.run?.overrides?.mode ?? state.mode);
}

/** Of an agent that took the session over: its own mode holds beside the session's, which was chosen for another one. */
function modeBeside({ state, agent }: Acting): PermissionMode | undefined {
  const { mode } = agent.permission;
  return state.agent === state.openedWith || mode === effectiveMode(state) ? undefined : mode;
}

type Acting = { readonly state: SessionState; readonly agent: { readonly permission: Permission } };

/** Whether a person may be asked: not where the session, who took it over, or an ancestor never asks. */
export function canAsk(acting: Acting): boolean {
  const { state } = acting;
  const modes = [effectiveMode(state), modeBeside(acting), ...(state.parent?.policies ?? []).map(({ mode }) => mode)];
  return !modes.includes("never-ask");
}

/** Who may answer what is asked about a call: of each list, the agent's and its ancestors', whoever stands on all. */
export function approversOf({ state, agent, definitions }: Hold): readonly string[] | undefined {
  const own = agent.permission.approvers ?? definitions.permission.approvers;
  const lists = [...(state.parent?.policies ?? []).map(({ approvers }) => approvers), own].filter(
    (list) => list !== undefined,
  );
  const [outermost] = lists;
  const common = outermost?.filter((id) => lists.every((list) => list.includes(id)));
  return common?.length === 0 ? outermost : common; // nobody stands on all: the one who was given most to say
}

function modeOf(mode: string): PermissionMode {
  return PERMISSION_MODES.find((known) => known === mode) ?? "ask";
}

/** The verdict on a call as rules and links are now. `input` was checked against the tool's schema. */
export async function judge(hold: Hold, tool: Tool, input: unknown, hooks: HookWords = {}): Promise<Verdict> {
  const { state, agent, definitions } = hold;
  let call: CallFacts;
  try {
    call = await followed(hold, callFacts(tool, input, state.workspace?.root, hooks.all));
  } catch (error) {
    const reason = `it cannot be told what this call of ${tool.name} touches: ${messageOf(error)}`;
    return { verdict: "deny", reason, by: "tool", remember: false };
  }
  const policy = policyOf(state, agent.permission, definitions.permission);
  const verdict = verdictIn(state, call, policy, hooks);
  const mode = modeBeside(hold);
  return mode === undefined ? verdict : stricter(verdict, evaluate(call, { ...policy, mode }));
}

/** A deny before an ask before an allow. */
function stricter(verdict: Verdict, other: Verdict): Verdict {
  if (verdict.verdict === "deny" || other.verdict === "allow") return verdict;
  return other.verdict === "deny" || verdict.verdict === "allow" ? other : verdict;
}

/** A command with what its files are by their real paths. Other tools open no file by another name than its own. */
async function followed({ state, definitions }: Hold, call: CallFacts): Promise<CallFacts> {
  if (call.kind !== "execute" || state.workspace === undefined) return call;
  const workspace = await definitions.workspace(state.workspace);
  if (workspace.realPaths === undefined) return call;
  const needs = await withRealPaths(
    call.needs,
    workspace.root,
    (paths) => workspace.realPaths?.(paths) ?? Promise.resolve([]),
  );
  return needs === call.needs ? call : { ...call, needs };
}

/** What hooks say of a call: all of them, and those that are not a sub-agent's own, which alone count for its ancestors. */
export type HookWords = { readonly [Of in "all" | "outer"]?: PermissionWord | undefined };

/** The verdict in a session: of these rules, and of those of its ancestors when it is a sub-agent's. Pure. */
export function verdictIn(
  state: Pick<SessionState, "parent">,
  call: CallFacts,
  policy: Policy,
  { outer }: HookWords = {},
): Verdict {
  const own = evaluate(call, policy);
  const { policies } = state.parent ?? {};
  if (policies === undefined) return own;
  const { hook: _own, ...rest } = call;
  const shown: CallFacts = outer === undefined ? rest : { ...rest, hook: outer };
  const always = policy.tiers.filter(({ tier: name }) => name === "session");
  return policies.reduce((verdict, parent) => narrowed(verdict, shown, parent, always), own);
}

/**
 * An ancestor's word on the call of a sub-agent: it can forbid, and ask. What a person said "always" to holds as if it had
 * been said to the ancestor: an ask rule of the ancestor still asks.
 */
function narrowed(verdict: Verdict, call: CallFacts, policy: PolicyText, always: Policy["tiers"]): Verdict {
  if (verdict.verdict === "deny") return verdict;
  const { mode, tiers } = policy;
  const theirs = tiers.map((texts) => tier(texts.tier as Tier["tier"], texts, texts)); // `policyText` wrote it
  const parent = evaluate(call, { mode: modeOf(mode), tiers: [...always, ...theirs] });
  if (parent.verdict === "deny") return parent;
  // the one that "always" cannot settle is shown: it would be offered in vain
  return parent.verdict === "ask" && (verdict.verdict !== "ask" || !parent.remember) ? parent : verdict;
}

/** What holds here now, as text, for the sessions of sub-agents: each is a consent that a call needs. */
export function policyTexts(hold: Hold): readonly PolicyText[] {
  const policy = policyText(hold);
  const mode = modeBeside(hold);
  return mode === undefined ? [policy] : [policy, { ...policy, mode }];
}

function policyText({ state, agent, definitions }: Hold): PolicyText {
  const lists = [
    { tier: "session", allow: state.rules, ask: [], deny: [] },
    { tier: "agent", allow: [], ask: [], deny: [], ...agent.permission },
    { tier: "global", allow: [], ask: [], deny: [], ...definitions.permission },
  ];
  const approvers = agent.permission.approvers ?? definitions.permission.approvers;
  return {
    mode: effectiveMode(state),
    ...(approvers !== undefined && { approvers }),
    tiers: lists.map(({ tier: name, allow, ask, deny }) => ({ tier: name, allow, ask, deny })),
  };
}

/**
 * What rules are matched against. `input` was checked against the tool's schema, `root` is the workspace's. Throws what
 * the tool's own functions throw, and where they name no needs.
 */
export function callFacts(tool: Tool, input: unknown, root: string | undefined, hook?: PermissionWord): CallFacts {
  const { name, kind, builtIn, permission, server } = tool;
  return {
    tool: name,
    kind,
    builtIn,
    ...(server !== undefined && { mcp: true }),
    needs: checkedNeeds(tool.needs(input)),
    ...(typeof permission === "function"
      ? { word: wordOf(permission(input)) }
      : permission && { standing: permission }),
    ...(hook !== undefined && { hook }),
    ...(root !== undefined && { root }),
  };
}

/** What names a need of each type. */
const NAMED_BY = {
  read: "path",
  write: "path",
  execute: "command",
  fetch: "url",
  other: "what",
} as const satisfies Record<Need["type"], string>;

/** Of an author's function: its type is a promise, not a fact. */
function checkedNeeds(needs: readonly Need[]): readonly Need[] {
  if (leftAlone(needs)) throw new Error("its needs come too late");
  for (const need of needs) {
    const name = NAMED_BY[need.type] as string | undefined;
    if (name === undefined || typeof (need as { readonly [name: string]: unknown })[name] !== "string")
      throw new Error("its needs do not say so");
  }
  return needs;
}

/** An author's function may say what is no word: a person then decides. */
function wordOf(said: PermissionWord): PermissionWord {
  leftAlone(said);
  return said === "allow" || said === "deny" ? said : "ask";
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
