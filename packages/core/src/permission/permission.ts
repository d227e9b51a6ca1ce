/** Whether a call may run: a pure function of the call and the policy. The order is deny, ask, allow, default (G14, G15, G17). */

import type { Need } from "../ports/workspace.ts";
import { CapstanError } from "../words/errors.ts";
import type { PermissionMode, Verdict } from "../words/verdict.ts";
import { locationOf, type NeedReading, readingOf } from "./need-reading.ts";
import { locate, type Location } from "./path-pattern.ts";
import { isOrdinary, protectedName } from "./protected-path.ts";
import { type CallFacts, covers, forbids, isFree, namesTool, type Rule, rulesFor } from "./rule.ts";
import { writtenNames } from "./written-names.ts";

export { parseRule, rulesFor, type CallFacts, type Rule } from "./rule.ts";

export type PolicyTier = {
  /** `session` holds the answers a person gave with "always" in this session. */
  readonly tier: "session" | "agent" | "global";
  readonly allow: readonly Rule[];
  readonly ask: readonly Rule[];
  readonly deny: readonly Rule[];
};
/** Rules of a project that is not trusted do not belong here; those of a trusted one only as `ask` and `deny`. */
export type Policy = { readonly mode: PermissionMode; readonly tiers: readonly PolicyTier[] };

const READ_ONLY_KINDS: ReadonlySet<string> = new Set(["read", "search", "think", "fetch", "switch-mode"]);
const ACTING_KINDS: ReadonlySet<string> = new Set(["edit", "delete", "move", "execute", "fetch"]);
const MAX_SHOWN = 160;

/** Decides one call. Call it again whenever the input, the tool or the policy changed. */
export function evaluate(call: CallFacts, policy: Policy): Verdict {
  const doubts: Doubts = [];
  const verdict =
    denied(call, policy, doubts) ?? asked(call, policy, doubts) ?? allowed(call, policy) ?? byDefault(call, policy);
  if (verdict.verdict !== "ask" || policy.mode !== "never-ask") return verdict;
  return { ...verdict, verdict: "deny", reason: `${verdict.reason}; nobody can be asked`, remember: false };
}

/**
 * Throws `rule-invalid` for the first rule that names no known tool. For an MCP server whose tools are not known yet pass
 * `mcp:server/*`. Session rules are not checked: they outlive the tools they were given for.
 */
export function checkRules(policy: Policy, toolNames: readonly string[]): void {
  for (const { tier, deny, ask, allow } of policy.tiers) {
    if (tier === "session") continue;
    for (const rule of [...deny, ...ask, ...allow]) {
      if (!namesTool(rule) || toolNames.some((name) => isNamed(rule.name, name))) continue;
      throw new CapstanError(
        "rule-invalid",
        `Permission rule ${JSON.stringify(rule.text)} (${tier}) names no known tool; correct the name ${JSON.stringify(rule.name)}`,
      );
    }
  }
}

function denied(call: CallFacts, policy: Policy, doubts: Doubts): Verdict | undefined {
  const found = meant(call, policy, "deny", doubts);
  if (found !== undefined) return ruled("deny", "Denied by", found.rule, found.tier);
  if (call.hook === "deny") return verdictOf("deny", "hook", `A hook denies ${shown(call.tool)}`);
  if (call.word === "deny") return verdictOf("deny", "tool", `${shown(call.tool)} denies this input itself`);
  if (policy.mode !== "plan" || isReadOnly(call)) return undefined;
  return verdictOf("deny", "mode", `Plan mode denies ${shown(call.tool)}: it does more than read`);
}

/** By tier: the first rule that nothing proves the call is not meant by, of those that deny before those that ask. */
type Doubts = (TieredRule | undefined)[];

/** The first rule of the list that means the call. Every rule is asked once. */
function meant(call: CallFacts, { tiers }: Policy, list: "deny" | "ask", doubts: Doubts): TieredRule | undefined {
  for (const [at, { tier, [list]: rules }] of tiers.entries()) {
    for (const rule of rules) {
      const means = forbids(rule, call);
      if (means === "yes") return { tier, rule };
      if (means === "maybe") doubts[at] ??= { tier, rule };
    }
  }
  return undefined;
}

function asked(call: CallFacts, policy: Policy, doubts: Doubts): Verdict | undefined {
  const found = meant(call, policy, "ask", doubts);
  if (found !== undefined) return ruled("ask", "Asked because of", found.rule, found.tier);
  const doubt = doubts.find((one) => one !== undefined);
  if (doubt !== undefined)
    return ruled("ask", "Asked because nothing proves that it is not what is meant by", doubt.rule, doubt.tier);
  if (call.hook === "ask") return verdictOf("ask", "hook", `A hook asks before ${shown(call.tool)}`);
  if (call.word === "ask") return verdictOf("ask", "tool", `${shown(call.tool)} asks before this input`);
  const problem = firstOf(readingOf(call).needs, (reading) => pathProblem(reading, call.root));
  return problem === undefined ? undefined : verdictOf("ask", "protected", problem);
}

function allowed(call: CallFacts, policy: Policy): Verdict | undefined {
  const byRule = allowedByRules(call, policy);
  if (byRule !== undefined) return byRule;
  if (policy.mode === "bypass") return verdictOf("allow", "mode", "Allowed by the mode bypass");
  if (call.hook === "allow") return verdictOf("allow", "hook", `A hook allows ${shown(call.tool)}`);
  return undefined;
}

/** Every need must be covered: by a rule, by accept-edits, or as one that needs no rule. */
function allowedByRules(call: CallFacts, policy: Policy): Verdict | undefined {
  const rules = allowRules(policy);
  const whole = firstOf(rules, ({ all }) =>
    all.find(({ rule }) => namesTool(rule) && rule.pattern === undefined && forbids(rule, call) === "yes"),
  );
  if (whole !== undefined) return ruled("allow", "Allowed by", whole.rule, whole.tier);
  let deciding: TieredRule | undefined;
  let edits = 0;
  for (const reading of readingOf(call).needs) {
    const cover = coverOf(call, reading, rules, policy.mode);
    if (cover === undefined) return undefined;
    if (cover === "edit") edits++;
    else if (cover !== "free") deciding ??= cover;
  }
  if (deciding !== undefined) return ruled("allow", "Allowed by", deciding.rule, deciding.tier);
  return edits > 0 ? verdictOf("allow", "mode", "Allowed by the mode accept-edits") : undefined;
}

/** Whether rules mean the whole call: its tool by name, or each of its needs that is not free. No mode and no default counts. */
export function isMeant(call: CallFacts, rules: readonly Rule[]): boolean {
  return (
    allowedByRules(call, { mode: "ask", tiers: [{ tier: "session", allow: rules, ask: [], deny: [] }] }) !== undefined
  );
}

type TieredRule = { readonly tier: string; readonly rule: Rule };
/** Rules that allow: all, and by the program that the words of a rule begin with those which may cover it, in their order. */
type AllowRules = {
  readonly all: readonly TieredRule[];
  readonly byProgram: ReadonlyMap<string, readonly TieredRule[]>;
  readonly others: readonly TieredRule[];
};
const known = new WeakMap<PolicyTier, AllowRules>();

function allowRules(policy: Policy): readonly AllowRules[] {
  return policy.tiers.map((tier) => {
    const found = known.get(tier) ?? allowRulesOf(tier);
    known.set(tier, found);
    return found;
  });
}

function allowRulesOf({ tier, allow }: PolicyTier): AllowRules {
  const all = allow.map((rule) => ({ tier, rule }));
  const first = ({ rule }: TieredRule): string | undefined =>
    rule.pattern === undefined ? undefined : rule.pattern.words?.words[0];
  const programs = new Set(all.flatMap((rule) => first(rule) ?? []));
  const covering = (program?: string): readonly TieredRule[] =>
    all.filter((rule) => first(rule) === undefined || first(rule) === program);
  return { all, byProgram: new Map([...programs].map((name) => [name, covering(name)])), others: covering() };
}

/** What allows one need; undefined when nothing does. */
function coverOf(
  call: CallFacts,
  reading: NeedReading,
  rules: readonly AllowRules[],
  mode: PermissionMode,
): TieredRule | "edit" | "free" | undefined {
  const { need } = reading;
  const program = need.type === "execute" ? need.words?.[0] : undefined;
  for (const { all, byProgram, others } of rules) {
    const candidates = typeof program === "string" ? (byProgram.get(program) ?? others) : all;
    const covering = candidates.find(({ rule }) => covers(rule, call, reading));
    if (covering !== undefined) return covering;
  }
  if (mode === "accept-edits" && isWriteInside(call, reading)) return "edit";
  return isFree(call, reading) ? "free" : undefined;
}

function byDefault(call: CallFacts, policy: Policy): Verdict {
  const word = call.standing ?? call.word;
  const askFor = (by: Verdict["by"], reason: string): Verdict =>
    verdictOf("ask", by, reason, rulesFor(call).length > 0);
  if (word === "allow") return verdictOf("allow", "tool", `${shown(call.tool)} allows this itself`);
  if (word === "deny") return verdictOf("deny", "tool", `${shown(call.tool)} is denied unless a rule allows it`);
  if (word === "ask") return askFor("tool", `${shown(call.tool)} asks unless a rule allows it`);
  if (call.mcp === true) return askFor("default", "No rule allows this tool of an MCP server");
  if (!call.builtIn) return verdictOf("allow", "default", `${shown(call.tool)} is given in code`);
  const rules = allowRules(policy);
  const acting = readingOf(call).needs.find(
    (reading) => reading.need.type !== "other" && coverOf(call, reading, rules, policy.mode) === undefined,
  );
  if (acting !== undefined) return askFor("default", `No rule allows to ${described(acting.need)}`);
  const reads = call.needs.some((need) => need.type === "read");
  if (ACTING_KINDS.has(call.kind)) return askFor("default", `No rule allows ${shown(call.tool)}`);
  return verdictOf(
    "allow",
    "default",
    reads ? "Reads inside the workspace" : `${shown(call.tool)} touches nothing outside the run`,
  );
}

/** What keeps a need from being allowed by any rule. */
function pathProblem(reading: NeedReading, root: string | undefined): string | undefined {
  const { need } = reading;
  if (need.type === "read" || need.type === "write") {
    if (need.uncertain === true) return `Where ${shown(need.path)} leads cannot be told before it is opened`;
    return problemAt(need.path, need.type, locationOf(reading));
  }
  if (need.type !== "execute") return undefined;
  const names = writtenNames(need);
  if (names === undefined) return undefined;
  const folder = need.folder ?? root;
  const problemOf = (path: string, from: string | undefined): string | undefined =>
    isOrdinary(path, from) ? undefined : problemAt(path, "write", locate(path, from));
  return (
    firstOf(names, (path) => problemOf(path, folder)) ?? firstOf(need.leads ?? [], (path) => problemOf(path, root))
  );
}

function problemAt(path: string, type: "read" | "write", location: Location | undefined): string | undefined {
  if (location === undefined) return `Where ${shown(path)} lies cannot be told from its name`;
  const name = type === "write" ? protectedName(location) : undefined;
  return name && `Would change ${shown(path)}, which is protected (${shown(name)})`;
}

function firstOf<T, Found>(list: readonly T[], find: (item: T) => Found | undefined): Found | undefined {
  for (const item of list) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isReadOnly(call: CallFacts): boolean {
  return READ_ONLY_KINDS.has(call.kind) && call.needs.every((need) => need.type !== "write" && need.type !== "execute");
}

function isWriteInside(call: CallFacts, reading: NeedReading): boolean {
  const { need } = reading;
  if (need.type !== "write" || call.mcp === true || call.root === undefined) return false;
  return locationOf(reading)?.inside !== undefined;
}

/** Whether a rule's name means a known name; a server given as `mcp:server/*` knows all its tools. */
function isNamed(ruleName: string, known: string): boolean {
  if (ruleName === known) return true;
  if (known.endsWith("/*")) return ruleName.startsWith(known.slice(0, -1));
  return ruleName.endsWith("/*") && known.startsWith(ruleName.slice(0, -1));
}

function ruled(verdict: Verdict["verdict"], how: string, rule: Rule, tier: string): Verdict {
  return {
    verdict,
    reason: `${how} the ${tier} rule ${rule.text}`,
    by: "rule",
    rule: rule.text,
    tier,
    remember: false,
  };
}

function verdictOf(verdict: Verdict["verdict"], by: Verdict["by"], reason: string, remember = false): Verdict {
  return { verdict, reason, by, remember };
}

function described(need: Need): string {
  switch (need.type) {
    case "read":
    case "write":
      return `${need.type} ${shown(need.path)}`;
    case "execute":
      return `run ${shown(need.command)}`;
    case "fetch":
      return `fetch ${shown(need.url)}`;
    case "other":
      return shown(need.what);
    default:
      return need satisfies never;
  }
}

/** A model's text as part of one inert line. */
function shown(text: string): string {
  const inert = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
  return inert.length <= MAX_SHOWN ? inert : `${inert.slice(0, MAX_SHOWN).toWellFormed()}...`;
}
