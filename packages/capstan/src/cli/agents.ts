/** Which agent a command works with: one of the configuration, or one of the command's own. */

import { type Agent, CapstanError, listedTools, type PermissionRules, type Tool } from "@capstan/core";
import type { Config } from "../config.ts";
import { CODING_AGENT, codingAgent, type CodingOptions } from "./coding-agent.ts";
import { DEMO_AGENT, demoAgent } from "./demo-agent.ts";
import { usage } from "./failure.ts";

/** What `resolveModel` takes for the provider's own default. */
const DEFAULT_MODEL = "anthropic";

export type AgentChoice = {
  readonly config: Config | undefined;
  /** Default: the only agent of the configuration, else the coding agent. */
  readonly name?: string | undefined;
  /** In place of the agent's own. */
  readonly model?: string | undefined;
  /** For the coding agent, when `model` is not given. */
  readonly defaultModel?: string | undefined;
  /** For the coding agent. */
  readonly coding?: CodingOptions;
};

/** Throws `agent-unknown`, or `usage` when there are several and none was named. */
export async function chosenAgent({ config, name, model, defaultModel, coding }: AgentChoice): Promise<Agent<unknown>> {
  if (config === undefined) {
    if (name === DEMO_AGENT) return demoAgent();
    if (name === undefined || name === CODING_AGENT) return codingAgent(model ?? defaultModel ?? DEFAULT_MODEL, coding);
    throw unknown(name, [CODING_AGENT], "; bring your own with --config");
  }
  const agents = config.agents as readonly Agent<unknown>[]; // only their outputs differ in type
  const names = agents.map((agent) => agent.name);
  if (name === undefined && agents.length > 1)
    throw usage(`There are several agents; name one with --agent: ${names.join(", ")}`);
  const found = name === undefined ? agents[0] : withInner(agents).find((agent) => agent.name === name);
  if (found === undefined) throw unknown(name ?? "", names, "");
  return model === undefined ? found : Object.freeze({ ...found, model });
}

/** The agent with all that a session of it may come to: those below it, and those that they name to hand over to. */
export function reachedFrom(agent: Agent<unknown>, config: Config | undefined): readonly Agent<unknown>[] {
  const known = withInner((config?.agents ?? []) as readonly Agent<unknown>[]); // only their outputs differ in type
  const reached = new Map([[agent.name, agent]]); // this one may have been changed: it stands for all of its name
  for (const from of reached.values()) {
    const named = from.tools.flatMap(({ body }) => (body.type === "handoff" ? [body.agent] : []));
    for (const other of [...from.agents, ...known.filter(({ name }) => named.includes(name))])
      if (!reached.has(other.name)) reached.set(other.name, other); // a map is walked through what is added too
  }
  return Array.from(reached.values(), (found) => Object.freeze({ ...found, agents: [] }));
}

/** The tools of an agent and those of the runtime's plugins. */
export function toolsFor(config: Config | undefined, agent: Agent<unknown>): readonly Tool[] {
  return [...(config?.plugins ?? []).flatMap(listedTools), ...agent.tools];
}

/** Agents with those below them, each once. */
export function withInner(agents: readonly Agent<unknown>[]): readonly Agent<unknown>[] {
  const found = new Set(agents);
  for (const agent of found) for (const inner of agent.agents) found.add(inner);
  return [...found];
}

/** The same agent with the rules of the command line beside its own. */
export function withRules(agent: Agent<unknown>, { allow = [], deny = [] }: PermissionRules): Agent<unknown> {
  const own = agent.permission;
  const permission = Object.freeze({
    ...own,
    allow: [...(own.allow ?? []), ...allow],
    deny: [...(own.deny ?? []), ...deny],
  });
  return Object.freeze({ ...agent, permission });
}

function unknown(name: string, names: readonly string[], advice: string): CapstanError {
  return new CapstanError(
    "agent-unknown",
    `There is no agent ${JSON.stringify(name)}; there are: ${names.join(", ")}${advice}`,
  );
}
