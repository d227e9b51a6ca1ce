/** The cache prefix: system text and tool list, rendered once, stored as a blob, sent from the stored bytes ever after. */

import type { Hold } from "../hold/hold.ts";
import { performStep } from "../hold/steps.ts";
import { endedOrIgnored } from "../hold/stop.ts";
import type { ToolSpec } from "../ports/model.ts";
import { CapstanError } from "../words/errors.ts";
import type { NewFact } from "../words/event.ts";
import { canonicalJson, type Json, sha256 } from "../words/json.ts";
import { instructionsStep } from "../words/keys.ts";
import { LIMITS } from "../words/limits.ts";
import { finalTool } from "./output.ts";

type Prefix = {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
};

/** Rendered prefixes by hash, so that every session of a process shares one string and one array for the same bytes. */
const rendered = new Map<string, Prefix>();
const MAX_RENDERED = 256;

/** Makes sure that the session's prefix is what the agent says now. Answers with the fact to append when it is not. */
export async function currentPrefix(hold: Hold): Promise<readonly NewFact[]> {
  const { state } = hold;
  const { id, turns } = hold.run;
  const draft = await renderAgent(hold);
  const key = `${id}/prefix/${turns}/${draft.hash}`; // two agents may take turns in one run
  if (state.prefix === undefined) return [prefixFact(hold, draft, key, "session started")];
  if (state.prefix.agent !== state.agent) return [prefixFact(hold, draft, key, "handoff")];
  if (state.prefix.base === draft.hash) return [];
  const cause = await causeOf(hold, draft);
  hold.notice("warning", "prefix-changed", `The cached prompt prefix is rebuilt: ${cause}`);
  return [prefixFact(hold, draft, key, cause)];
}

/** The stored bytes that the next turn begins with: another set once another agent has taken over. */
export async function prefixOfTurn(hold: Hold): Promise<Prefix> {
  const { prefix, agent } = hold.state;
  if (prefix !== undefined && prefix.agent !== agent) await hold.append(await currentPrefix(hold));
  return storedPrefix(hold);
}

type PrefixChange = { readonly system: readonly string[]; readonly tools: readonly ToolSpec[]; readonly cause: string };

/** What the agent says with what plugins add, for this call on, with their stated cause. */
export async function changedPrefix(hold: Hold, change: PrefixChange): Promise<Prefix> {
  const { cause } = change;
  const base = await renderAgent(hold);
  const prefix = remember([base.system, ...change.system].join("\n\n"), [...base.tools, ...change.tools]);
  if (hold.state.prefix?.hash !== prefix.hash) {
    const detail = await causeOf(hold, prefix);
    hold.notice("info", "prefix-changed", `The cached prompt prefix is rebuilt: ${cause}`, detail);
    const key = `${hold.run.id}/prefix/${hold.run.turns}/${prefix.hash}`;
    await hold.append([prefixFact(hold, prefix, key, cause, base.hash)]);
  }
  return prefix;
}

/** The stored bytes, also in a process that has other definitions now. */
export async function storedPrefix(hold: Hold): Promise<Prefix> {
  const { prefix } = hold.state;
  if (prefix === undefined) throw new Error("a turn without prefix.set before it");
  return rendered.get(prefix.hash) ?? parse(await hold.journal.blob(prefix.blob));
}

function prefixFact(hold: Hold, prefix: Prefix, key: string, cause: string, base?: string): NewFact {
  // in the same transaction as the fact that names it: both are written in the order of these calls
  hold.background(hold.journal.putBlob(prefix.bytes));
  const { hash } = prefix;
  return { type: "prefix.set", key, runId: hold.run.id, hash, blob: hash, cause, ...(base !== undefined && { base }) };
}

async function renderAgent(hold: Hold): Promise<Prefix> {
  const { agent, definitions, run, tools } = hold;
  const overridden = run.agent === agent.name ? run.overrides?.instructions : undefined;
  const system =
    overridden ??
    (typeof agent.instructions === "string" ? agent.instructions : await instructionsOf(hold, agent.instructions));
  const allowed = run.overrides?.tools;
  const specs = Array.from(tools.values())
    .filter((tool) => tool.hidden !== true && (allowed === undefined || allowed.includes(tool.name)))
    .concat((await finalTool(hold)) ?? [])
    .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return remember(definitions.redactor.text(system), specs);
}

/** An instructions function runs once a session: later runs take its text from the log. */
async function instructionsOf(hold: Hold, render: Exclude<Hold["agent"]["instructions"], string>): Promise<string> {
  const { state } = hold;
  const { name } = hold.agent;
  const known = Object.hasOwn(state.instructions, name) ? state.instructions[name] : undefined; // it may be a name that every object has
  if (known !== undefined) return known;
  const session = { id: state.sessionId, metadata: state.metadata, ...(state.key !== undefined && { key: state.key }) };
  const stop = hold.stop({ halts: true });
  const { clock } = hold.definitions;
  const cancel = clock.after(LIMITS.hookTimeoutMs, () => stop.abort(new CapstanError("timeout", "the time is over")));
  try {
    const options = { name: instructionsStep(hold.agent.name), rerun: "safe", signal: stop.signal } as const;
    const text = await endedOrIgnored(
      clock,
      performStep(hold, options, () => checkedText(hold, render(session))),
      stop,
    );
    if (typeof text === "string") return text;
    throw new CapstanError("agent-invalid", `The instructions of agent ${hold.agent.name} took too long to make`);
  } finally {
    cancel();
    stop.end();
  }
}

async function checkedText(hold: Hold, made: string | Promise<string>): Promise<string> {
  const text: unknown = await made; // an author's function: its type is a promise, not a fact
  if (typeof text === "string") return text;
  throw new CapstanError("agent-invalid", `The instructions of agent ${hold.agent.name} are not a text`);
}

async function causeOf(hold: Hold, draft: Prefix): Promise<string> {
  const before = await storedPrefix(hold);
  const parts = [];
  if (before.system !== draft.system) parts.push("the instructions changed");
  parts.push(...toolChanges(before.tools, draft.tools));
  return parts.length === 0 ? "its encoding changed" : parts.join(" and ");
}

/** Which tools were added and removed, and of which the definition changed. */
function toolChanges(before: readonly ToolSpec[], now: readonly ToolSpec[]): readonly string[] {
  const missing = (from: readonly ToolSpec[], to: readonly ToolSpec[]): readonly string[] =>
    from.filter(({ name }) => !to.some((other) => other.name === name)).map(({ name }) => name);
  const [added, removed] = [missing(now, before), missing(before, now)];
  const json = (tool: ToolSpec): string => canonicalJson(tool as unknown as Json); // a spec is plain data
  const redefined = now.filter((tool) => before.some((old) => old.name === tool.name && json(old) !== json(tool)));
  const moved = before.filter(({ name }) => !removed.includes(name)).map(({ name }) => name);
  const stay = now.filter(({ name }) => !added.includes(name)).map(({ name }) => name);
  return [
    ...(added.length > 0 ? [`tools were added (${added.join(", ")})`] : []),
    ...(removed.length > 0 ? [`tools were removed (${removed.join(", ")})`] : []),
    ...(redefined.length > 0 ? [`tools were redefined (${redefined.map(({ name }) => name).join(", ")})`] : []),
    ...(moved.join() === stay.join() ? [] : ["the order of the tools changed"]),
  ];
}

function parse(bytes: Uint8Array): Prefix {
  const { system, tools } = JSON.parse(new TextDecoder().decode(bytes)) as { system: string; tools: ToolSpec[] }; // written by `remember`, checked by its hash
  return remember(system, tools);
}

function remember(system: string, tools: readonly ToolSpec[]): Prefix {
  const bytes = new TextEncoder().encode(JSON.stringify({ system, tools }));
  const hash = sha256(bytes);
  const known = rendered.get(hash);
  if (known !== undefined) return known;
  if (rendered.size >= MAX_RENDERED) rendered.clear();
  const prefix: Prefix = { hash, bytes, system, tools };
  rendered.set(hash, prefix);
  return prefix;
}
