/** Presets: named parts of an agent's definition that several agents share. */

import {
  type Agent,
  type AgentDefinition,
  type AgentLimits,
  CapstanError,
  type Instructions,
  type Model,
  type ModelSettings,
  type Permission,
  type Plugin,
  type Tool,
} from "@capstan/core";

export type Preset = {
  readonly name: string;
  readonly description?: string;
  readonly model?: Model | string;
  readonly instructions?: string;
  readonly tools?: readonly (Tool | Agent<unknown>)[];
  readonly plugins?: readonly Plugin[];
  readonly permission?: Permission;
  readonly limits?: AgentLimits;
  readonly settings?: ModelSettings;
};
/** A definition in which a preset may say the model and the instructions. */
export type PresetDefinition<Output> = Omit<AgentDefinition<Output>, "model" | "instructions"> &
  Partial<Pick<AgentDefinition<Output>, "model" | "instructions">>;

/** Names a part of a definition. Frozen; throws `agent-invalid` for a member that is none, as in a file of settings. */
export function preset(definition: Preset): Preset {
  const unknown = Object.keys(definition).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw invalid(definition.name, `it has no member ${JSON.stringify(unknown)}`);
  if (typeof definition.name !== "string" || definition.name.trim() === "") throw invalid("", "it needs a name");
  return Object.freeze({ ...definition });
}

const MEMBERS: ReadonlySet<string> = new Set(
  Object.keys({
    name: true,
    description: true,
    model: true,
    instructions: true,
    tools: true,
    plugins: true,
    permission: true,
    limits: true,
    settings: true,
  } satisfies Record<keyof Preset, true>),
);

/**
 * One preset of several, in their order: instructions one after the other, tools and plugins by name, rules of all of them.
 * Of what there can be only one (model, mode, a limit, a setting, a tool of a name) the later one holds.
 */
export function composePresets(name: string, presets: readonly Preset[]): Preset {
  const { name: _name, ...all } = presets.reduce<Preset>((earlier, later) => merged(earlier, later), { name });
  return preset({ ...all, name });
}

/** The definition on top of its presets: what it says itself comes last, and holds. For `agent()`. Throws `agent-invalid`. */
export function withPresets<Output = string>(
  presets: readonly Preset[],
  definition: PresetDefinition<Output>,
): AgentDefinition<Output> {
  const { instructions: own, ...rest } = definition;
  const base = composePresets("presets", presets);
  const said = joined(base.instructions, own);
  const model = definition.model ?? base.model;
  if (model === undefined) throw invalid(definition.name, "neither it nor a preset names a model");
  if (said === undefined) throw invalid(definition.name, "neither it nor a preset has instructions");
  const { name: _name, instructions: _instructions, ...parts } = merged(base, { ...rest, name: definition.name });
  return { ...rest, ...parts, model, instructions: said };
}

function merged(earlier: Preset, later: Omit<Preset, "instructions"> & Pick<Preset, "instructions">): Preset {
  const { instructions, tools, plugins, permission, limits, settings } = earlier;
  const both = [instructions, later.instructions].filter((text) => text !== undefined && text.trim() !== "");
  return {
    ...earlier,
    ...later,
    ...(both.length > 0 && { instructions: both.join("\n\n") }),
    ...((tools ?? later.tools) !== undefined && { tools: byName(tools, later.tools) }),
    ...((plugins ?? later.plugins) !== undefined && { plugins: byName(plugins, later.plugins) }),
    ...((permission ?? later.permission) !== undefined && { permission: permissionOf(permission, later.permission) }),
    ...((limits ?? later.limits) !== undefined && { limits: { ...limits, ...later.limits } }),
    ...((settings ?? later.settings) !== undefined && { settings: { ...settings, ...later.settings } }),
  };
}

/** In the order in which the names first came. */
function byName<T extends { readonly name: string }>(
  earlier: readonly T[] = [],
  later: readonly T[] = [],
): readonly T[] {
  const found = new Map<string, T>();
  for (const one of [...earlier, ...later]) found.set(one.name, one);
  return [...found.values()];
}

function permissionOf(earlier: Permission = {}, later: Permission = {}): Permission {
  const both = (list: "allow" | "ask" | "deny"): readonly string[] => [
    ...new Set([...(earlier[list] ?? []), ...(later[list] ?? [])]),
  ];
  return { ...earlier, ...later, allow: both("allow"), ask: both("ask"), deny: both("deny") };
}

function joined(base: string | undefined, own: Instructions | undefined): Instructions | undefined {
  if (base === undefined || own === undefined) return own ?? base;
  if (typeof own === "string") return `${base}\n\n${own}`;
  return async (session) => `${base}\n\n${await own(session)}`;
}

function invalid(name: string, problem: string): CapstanError {
  return new CapstanError("agent-invalid", `Preset ${JSON.stringify(name)}: ${problem}`);
}
