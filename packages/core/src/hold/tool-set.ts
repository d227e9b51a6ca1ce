/** The tools of a session: those that stand in the code, then those that its plugins know only where a run begins; and which of them a run may use. */

import { checkRules, type Policy } from "../permission/permission.ts";
import type { Agent } from "../ports/agent.ts";
import { FINAL_TOOL, outputOf } from "../ports/output-spec.ts";
import { asksForTools, listedTools, type Plugin, type ToolSource } from "../ports/plugin.ts";
import type { Tool } from "../ports/tool.ts";
import { messageOf } from "../words/errors.ts";
import { LIMITS } from "../words/limits.ts";
import { modelName } from "../words/tool-name.ts";
import type { Hold } from "./hold.ts";
import { policyOf } from "./policy.ts";
import { within } from "./within.ts";

/** Tools by name, those that stand in the code. */
export function codeTools(plugins: readonly Plugin[], agent: Agent<unknown>): ReadonlyMap<string, Tool> {
  return new Map([...plugins.flatMap(listedTools), ...agent.tools].map((tool) => [tool.name, tool]));
}

/** A tool that this run may use. */
export function findTool(hold: Hold, name: string): Tool | undefined {
  const { overrides: { outputSchema, tools: allowed } = {} } = hold.run;
  if (name === FINAL_TOOL) return outputOf(hold.agent, outputSchema)?.tool ?? hold.tools.get(name);
  if (allowed !== undefined && !allowed.includes(name)) return undefined;
  return hold.tools.get(name);
}

/** The names of all that this run may use, as the model reads them. */
export function usableTools(hold: Hold): readonly string[] {
  return [...hold.tools.keys()].filter((name) => findTool(hold, name) !== undefined).map(modelName);
}

/** What a plugin gave last, in any session: it holds where the plugin fails to answer. */
const lastGiven = new WeakMap<Plugin, readonly Tool[]>();
/** What was told of the tools of a hold, so that it is told once. */
const told = new WeakMap<Hold, Set<string>>();

/**
 * Tools by name, the plugins asked that know theirs only now. A name that is taken, by the model's reading of it, is left
 * out with a notice; the code's tools come first, so that they are never the ones.
 */
export async function toolsNow(hold: Hold, agent: Agent<unknown>): Promise<ReadonlyMap<string, Tool>> {
  const { plugins } = hold.definitions;
  const tools = new Map(codeTools(plugins, agent));
  const asking = [...plugins, ...agent.plugins].filter(asksForTools);
  const taken = new Set([FINAL_TOOL, ...Array.from(tools.keys(), modelName)]);
  const given = await Promise.all(asking.map((plugin) => asked(hold, plugin)));
  for (const [index, plugin] of asking.entries()) {
    for (const tool of given[index] ?? []) {
      const name = modelName(tool.name);
      if (taken.has(name)) tell(hold, "tool-left-out", `The tool ${tool.name} of ${plugin.name}: its name is taken`);
      else tools.set(tool.name, tool);
      taken.add(name);
    }
  }
  tellUnknownRules(hold, agent, [...tools.keys()]);
  return tools;
}

async function asked(hold: Hold, plugin: Plugin): Promise<readonly Tool[]> {
  const { name, tools, timeoutMs = LIMITS.hookTimeoutMs } = plugin;
  if (typeof tools !== "function") return [];
  try {
    const given: unknown = await within(hold, `Asking plugin ${name} for its tools`, callNow(tools), timeoutMs);
    if (!isToolList(given)) throw new Error("what it gave is no list of tools");
    lastGiven.set(plugin, [...given]);
  } catch (error) {
    hold.journal.signal.throwIfAborted();
    hold.notice("warning", "tools-failed", `Plugin ${name} did not say its tools: ${messageOf(error)}`);
  }
  return lastGiven.get(plugin) ?? [];
}

async function callNow(tools: ToolSource): Promise<readonly Tool[]> {
  return tools();
}

/** An author's function: its type is a promise, not a fact. */
function isToolList(given: unknown): given is readonly Tool[] {
  const isTool = (item: unknown): boolean =>
    typeof item === "object" && item !== null && "name" in item && "body" in item && "schema" in item;
  return Array.isArray(given) && given.every(isTool);
}

/** At the opening of the runtime nobody could say whether these rules name a tool. */
function tellUnknownRules(hold: Hold, agent: Agent<unknown>, names: readonly string[]): void {
  try {
    checkKnownRules(policyOf({ mode: "ask", rules: [] }, agent.permission, {}), names);
  } catch (error) {
    tell(hold, "rule-unknown", messageOf(error));
  }
}

/** Throws `rule-invalid` for a rule that names no known tool. Of MCP servers no rule is wrong: they come and go. */
export function checkKnownRules(policy: Policy, names: readonly string[]): void {
  const named = policy.tiers.flatMap(({ allow, ask, deny }) => [...allow, ...ask, ...deny].map(({ name }) => name));
  checkRules(policy, [...names, ...named.filter((name) => name.startsWith("mcp:"))]);
}

function tell(hold: Hold, code: string, title: string): void {
  const known = told.get(hold) ?? new Set();
  told.set(hold, known);
  if (known.has(title)) return;
  known.add(title);
  hold.notice("warning", code, title);
}
