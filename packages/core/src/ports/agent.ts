/** An agent: model, instructions, tools, plugins and permission. Immutable data, holds no conversation. */

import { CapstanError } from "../words/errors.ts";
import type { Limits, Metadata } from "../words/event.ts";
import { hashJson, type Json } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import { type Schema, toJsonSchema } from "../words/schema.ts";
import type { PermissionMode } from "../words/verdict.ts";
import { agentTool } from "./agent-tool.ts";
import { limitsProblem } from "./check-input.ts";
import { handoffTool } from "./handoff-tool.ts";
import type { Model, ModelSettings } from "./model.ts";
import { FINAL_TOOL } from "./output-spec.ts";
import { listedTools, type Plugin } from "./plugin.ts";
import type { Tool } from "./tool.ts";

export type PermissionRules = {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
};
export type Permission = PermissionRules & {
  readonly mode?: PermissionMode;
  /** Ids of the actors who may answer what is asked about calls. Default: everybody who reaches the session. */
  readonly approvers?: readonly string[];
  /** How long a question about a call waits for its answer before it becomes a refusal. Default `LIMITS.requestTtlMs`. */
  readonly waitMs?: number;
};
export type Instructions =
  | string
  | ((session: {
      readonly id: string;
      readonly key?: string;
      readonly metadata: Metadata;
    }) => string | Promise<string>);
export type AgentLimits = Limits & { readonly usd?: number };

export type AgentDefinition<Output = string> = {
  readonly name: string;
  readonly description?: string;
  /** A model, or `"provider/name"` that the runtime resolves when it opens. */
  readonly model: Model | string;
  /** Text, or a function of the session that runs once a session; what it returned is stored. */
  readonly instructions: Instructions;
  /** Tools, and agents that this one may give tasks to: each is a tool of its name. */
  readonly tools?: readonly (Tool | Agent<unknown>)[];
  /** Agents that may take the session over: each is a tool `transfer_to_<name>`. By name where two name each other. */
  readonly handoffs?: readonly (Agent<unknown> | string)[];
  readonly plugins?: readonly Plugin[];
  readonly permission?: Permission;
  /** Bounds of a run; `turns` defaults to 50. */
  readonly limits?: AgentLimits;
  readonly settings?: ModelSettings;
  /** Types `run.output()`. */
  readonly output?: Schema<Output>;
};

export type Agent<Output = string> = {
  readonly name: string;
  readonly description: string;
  readonly model: Model | string;
  readonly instructions: Instructions;
  readonly tools: readonly Tool[];
  /** Agents that stood among its tools and handoffs. */
  readonly agents: readonly Agent<unknown>[];
  readonly plugins: readonly Plugin[];
  readonly permission: Permission;
  readonly limits: Limits;
  readonly settings: ModelSettings;
  readonly output?: Schema<Output>;
  /** JSON Schema of `output`, for models that take one. */
  readonly outputSchema?: Json;
  /** Of all that the model or a permission depends on; recorded with every run. */
  readonly hash: string;
};

/** Defines an agent. Frozen; throws `agent-invalid` for what could not run. */
export function agent<Output = string>(definition: AgentDefinition<Output>): Agent<Output> {
  const { name, model, instructions } = definition;
  const invalid = (problem: string): CapstanError =>
    new CapstanError("agent-invalid", `Agent ${JSON.stringify(name)}: ${problem}`);
  if (typeof name !== "string" || name.trim() === "") throw invalid("it needs a name");
  if (model === undefined || model === null || model === "")
    throw invalid('it needs a model, such as "anthropic/claude-sonnet-5-5"');
  if (typeof instructions !== "string" && typeof instructions !== "function") throw invalid("it needs instructions");
  const { waitMs } = definition.permission ?? {};
  if (waitMs !== undefined && !(Number.isSafeInteger(waitMs) && waitMs > 0))
    throw invalid("permission.waitMs must be a whole number of milliseconds above 0");
  const plugins = Object.freeze([...(definition.plugins ?? [])]);
  const given = definition.tools ?? [];
  const handoffs = definition.handoffs ?? [];
  const others = [...given, ...handoffs].filter(isAgent);
  const agents = Object.freeze(others.filter((other, index) => others.indexOf(other) === index));
  const own = given.map((item): Tool => (isAgent(item) ? agentTool(item) : item));
  const transfers = handoffs.map((to) => handoffTool(isAgent(to) ? to : { name: to }));
  const tools = Object.freeze([...own, ...plugins.flatMap(listedTools), ...transfers]);
  const twice = repeated(tools.map((tool) => tool.name)) ?? repeated(plugins.map((plugin) => plugin.name));
  if (twice !== undefined) throw invalid(`two of its tools or plugins are named ${twice}`);
  if (tools.some(({ body }) => body.type === "handoff" && body.agent === name))
    throw invalid("it cannot hand over to itself");
  if (tools.some((tool) => tool.name === FINAL_TOOL))
    throw invalid(`no tool of its own may be named ${FINAL_TOOL}: structured answers come by it`);
  const limits = toLimits(definition.limits ?? {});
  const wrong = limitsProblem(limits);
  if (wrong !== undefined) throw invalid(wrong);
  const settings = frozenCopy(definition.settings ?? {});
  return Object.freeze({
    name,
    description: definition.description ?? "",
    model,
    instructions,
    tools,
    agents,
    plugins,
    permission: frozenCopy(definition.permission ?? {}),
    limits,
    settings,
    ...(definition.output !== undefined && {
      output: definition.output,
      outputSchema: toJsonSchema(definition.output, `Agent ${name}`),
    }),
    hash: hashJson({
      name,
      instructions: typeof instructions === "string" ? instructions : "function",
      tools: tools.map((tool) => tool.hash),
      plugins: plugins.map((plugin) => plugin.name),
      settings: settings as Json, // plain data
    }),
  });
}

function isAgent(item: Tool | Agent<unknown> | string): item is Agent<unknown> {
  return typeof item === "object" && "instructions" in item;
}

function toLimits({ usd, ...limits }: AgentLimits): Limits {
  return Object.freeze({
    turns: LIMITS.turnsPerRun,
    ...limits,
    ...(usd !== undefined && { microUsd: Math.round(usd * 1_000_000) }),
  });
}

/** The first name that stands twice. */
export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}

function frozenCopy<T extends object>(value: T): T {
  return deepFreeze(structuredClone(value));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}
