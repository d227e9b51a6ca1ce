/** Where information may go: what came from one tool keeps its label, and other tools ask or refuse once it was seen. */

import {
  CapstanError,
  type Definitions,
  type HookedCall,
  type Plugin,
  plugin,
  type ToolHookContext,
  type ToolOutput,
} from "@capstan/core";
import { namePatterns } from "../name-pattern.ts";
import {
  ANY_LABEL,
  labelOf,
  labelsOfSession,
  nextOwn,
  type Own,
  PLUGIN_NAME,
  type Recorded,
  START,
} from "./labels-of-log.ts";

export type TaintPolicy = {
  /** Tools by name, `*` for any characters; `label:pii` for what a tool or plugin labelled so itself. */
  readonly from: readonly string[];
  /** Tools that may not be called, or not without a person, once something of `from` is known to the session. */
  readonly forbid: readonly string[];
  /** "ask" lets a person decide each call; where nobody can be asked it is refused. */
  readonly on: "ask" | "deny";
};

/**
 * Holds for the whole session and everything below and above it, also after restarts, compactions, handoffs and forks: no
 * summary and no sub-agent washes a label off. Give it to the runtime, or to the outermost agent; behind plugins that allow
 * calls. Throws `plugin-invalid`.
 */
export function taint(policies: readonly TaintPolicy[]): Plugin {
  const rules = policies.map(toRule);
  const runtimes = new Set<Definitions>();
  return plugin<Own>({
    name: PLUGIN_NAME,
    fold: { start: START, next: nextOwn },
    async tool(call, context, next) {
      const concerned = rules.filter(({ isForbidden }) => isForbidden(call.name));
      const verdict = concerned.length === 0 ? undefined : judge(concerned, await labelsNow(context, runtimes));
      if (verdict?.on === "deny") return context.deny(reasonOf(call, verdict.labels));
      if (verdict !== undefined) context.notice(reasonOf(call, verdict.labels));
      const asked = verdict !== undefined && call.verdict !== "deny";
      const output = await next(asked ? { ...call, verdict: "ask" } : call);
      const isSource = rules.some(({ isSource: test }) => test(call.name));
      return labelled(output, isSource ? [labelOf(call.name)] : []);
    },
    open(runtime) {
      runtimes.add(runtime);
      return {
        async [Symbol.asyncDispose]() {
          runtimes.delete(runtime);
        },
      };
    },
  });
}

type Rule = {
  readonly on: "ask" | "deny";
  readonly isForbidden: (tool: string) => boolean;
  readonly isSource: (tool: string) => boolean;
  readonly matches: (label: string) => boolean;
};

const LABEL = "label:";

function toRule({ from, forbid, on }: TaintPolicy): Rule {
  if (on !== "ask" && on !== "deny") throw invalid('on is "ask" or "deny"');
  for (const [name, list] of Object.entries({ from, forbid })) {
    if (
      !Array.isArray(list) ||
      list.length === 0 ||
      list.some((item) => typeof item !== "string" || item.trim() === "")
    )
      throw invalid(`${name} is a list of names, at least one`);
  }
  const tools = from.filter((name) => !name.startsWith(LABEL));
  const isSource = namePatterns(tools);
  const isLabel = namePatterns([
    ...from.filter((name) => name.startsWith(LABEL)).map((name) => name.slice(LABEL.length)),
    ...tools.map(labelOf),
  ]);
  return { on, isSource, isForbidden: namePatterns(forbid), matches: (label) => label === ANY_LABEL || isLabel(label) };
}

type Finding = { readonly on: "ask" | "deny"; readonly labels: readonly string[] };

/** A deny before an ask. */
function judge(rules: readonly Rule[], labels: readonly string[]): Finding | undefined {
  const found = rules.flatMap((rule): Finding[] => {
    const matching = labels.filter((label) => rule.matches(label));
    return matching.length === 0 ? [] : [{ on: rule.on, labels: matching }];
  });
  return found.find(({ on }) => on === "deny") ?? found[0];
}

/** What this session knows by now: its own, its parents' at the first look, and that of its sub-agents so far. */
async function labelsNow(context: ToolHookContext<Own>, runtimes: Iterable<Definitions>): Promise<readonly string[]> {
  const { own, state } = context;
  const labels = new Set(own.labels);
  if (state.parent !== undefined && !own.above) {
    const { sessionId } = state.parent;
    const above = await context.step("above", async () => [
      ...(await labelsOfSession(runtimes, sessionId, { above: true })),
    ]);
    await context.record({ above } satisfies Recorded);
    for (const label of above) labels.add(label);
  }
  for (const child of own.ended) {
    const seen = await context.step(`child/${child}`, async () => [
      ...(await labelsOfSession(runtimes, child, { above: false })),
    ]);
    await context.record({ child, labels: seen } satisfies Recorded);
    for (const label of seen) labels.add(label);
  }
  return [...labels];
}

function labelled(output: ToolOutput, labels: readonly string[]): ToolOutput {
  const fresh = labels.filter((label) => !output.labels?.includes(label));
  return fresh.length === 0 ? output : { ...output, labels: [...(output.labels ?? []), ...fresh] };
}

function reasonOf({ name }: HookedCall, labels: readonly string[]): string {
  const shown = labels.slice(0, 5).map((label) => (label === ANY_LABEL ? "what cannot be looked at any more" : label));
  return `${name} is not for a conversation that has seen ${shown.join(", ")}`;
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `taint: ${what}`);
}
