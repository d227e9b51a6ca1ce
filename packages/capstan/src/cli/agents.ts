/** Which agent a command works with: one of the configuration, or one of the command's own. */

import { type Agent, CapstanError, type PermissionRules } from "@capstan/core";
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
  const found = name === undefined ? agents[0] : agents.find((agent) => agent.name === name);
  if (found === undefined) throw unknown(name ?? "", names, "");
  return model === undefined ? found : Object.freeze({ ...found, model });
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
