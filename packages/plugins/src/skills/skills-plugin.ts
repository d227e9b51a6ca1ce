/** The plugin: tells the model of the skills there are, makes them active, and holds calls to what active ones allow. */

import {
  CapstanError,
  type HookContext,
  type HookedCall,
  type InputContext,
  type Message,
  type Plugin,
  plugin,
  text,
  textOf,
  type ToolHookContext,
  type ToolNext,
  type ToolOutput,
} from "@capstan/core";
import {
  type Activation,
  METADATA_KEY,
  nextOwn,
  NONE_ACTIVE,
  type Own,
  PLUGIN_NAME,
  type Recorded,
} from "./active-skills.ts";
import type { SkillSet } from "./load-skills.ts";
import { matchWords, type SkillMatcher } from "./match-skills.ts";
import { refusedBy } from "./narrowing.ts";
import { activeText } from "./skill-text.ts";
import { READ_TOOL, RUN_TOOL, skillTools, USE_TOOL } from "./skill-tools.ts";
import { deactivation, tellEnds, tellResumed, told, type World } from "./tell-hooks.ts";

export type SkillsOptions = {
  /** Skills that may be active at once. Default 8. */
  readonly maxActive?: number;
  /** Time of one script. Default 60,000 ms. */
  readonly scriptTimeoutMs?: number;
  /** Decides which skills an input makes active. Default `matchWords`. */
  readonly match?: SkillMatcher;
};

const MAX_ACTIVE = 8;
const SCRIPT_TIMEOUT_MS = 60_000;
/** Skills that one input makes active by its words. */
const MAX_MATCHED = 3;
const HOOK_TIMEOUT_MS = 30_000;

/** Give it to the agent as the last of its plugins: then it judges calls as they are made. Throws `plugin-invalid`. */
export function skills(set: SkillSet, options: SkillsOptions = {}): Plugin {
  const { maxActive = MAX_ACTIVE, scriptTimeoutMs = SCRIPT_TIMEOUT_MS, match = matchWords } = options;
  if (!Number.isSafeInteger(maxActive) || maxActive < 1) throw invalid("maxActive is a whole number above 0");
  if (!Number.isSafeInteger(scriptTimeoutMs) || scriptTimeoutMs < 1)
    throw invalid("scriptTimeoutMs is a whole number of milliseconds above 0");
  const world: World = { set, byName: new Map(set.skills.map((skill) => [skill.name, skill])), maxActive, match };
  return plugin<Own>({
    name: PLUGIN_NAME,
    tools: skillTools(set.skills, set.catalog, scriptTimeoutMs),
    fold: { start: NONE_ACTIVE, next: nextOwn },
    timeoutMs: HOOK_TIMEOUT_MS,
    input: async (message, context, next) => next(await withSkills(world, message, context)),
    prepare: async (_request, context) => {
      if (context.own.isResumed) await tellResumed(world, context);
      const forgotten = context.own.active.filter(({ isForgotten }) => isForgotten).map(({ name }) => name);
      if (forgotten.length === 0 || set.catalog === "") return;
      const said = `These skills are active, and their instructions are no longer in this conversation; call ${USE_TOOL} to read them again: ${forgotten.join(", ")}`;
      return { tail: [text(`<system>${said}</system>`)] };
    },
    tool: (call, context, next) => judged(world, call, context, next),
    ...(set.hooks.deactivate !== undefined && { on: tellEnds(world) }),
  });
}

function invalid(problem: string): CapstanError {
  return new CapstanError("plugin-invalid", `skills: ${problem}`);
}

/** The message with the instructions of the skills that it makes active. */
async function withSkills(world: World, message: Message, context: InputContext<Own>): Promise<Message> {
  const { own, state } = context;
  const [named, rest] = namedSkill(world, message);
  if (own.input.id === message.id) return withTexts(world, rest, own.input.names); // before a crash
  const tags = state.run?.overrides?.tags ?? {};
  // what a person said, not what other plugins have read for it: a file's words make nothing active
  const said = textOf(state.queue.find(({ inputId }) => inputId === message.id)?.parts ?? rest.parts);
  const wanted = namesIn(state.metadata[METADATA_KEY]);
  const lasting = own.active.filter((skill) => skill.lasting);
  const deactivated = lasting
    .map(({ name }) => name)
    .filter((name) => !wanted.includes(name))
    .map((name) => ({ name, reason: "explicit" as const }));
  const matched = world.set.skills.filter((skill) => world.match(skill, { text: said, tags })).slice(0, MAX_MATCHED);
  const wishes: readonly Activation[] = [
    ...wanted
      .filter((name) => world.byName.has(name) && !lasting.some((skill) => skill.name === name && !skill.isForgotten))
      .map((name) => ({ name, via: "explicit" as const, lasting: true })),
    ...(named === undefined ? [] : [{ name: named, via: "explicit" as const, lasting: false }]),
    ...matched.map(({ name }) => ({ name, via: "match" as const, lasting: false })),
  ];
  const activated: Activation[] = [];
  const here = own.active.filter(({ name }) => !deactivated.some((gone) => gone.name === name));
  for (const wish of wishes) {
    if (activated.some(({ name }) => name === wish.name)) continue;
    const known = here.find(({ name }) => name === wish.name);
    if (known !== undefined && !known.isForgotten && !wish.lasting) continue;
    const problem = await activation(
      world,
      { ...wish, count: here.length + activated.length, isNew: known === undefined },
      context,
    );
    if (problem === undefined) activated.push({ ...wish, ...limitOf(world, wish.name) });
    else context.notice(`The skill ${wish.name} is not active`, problem);
  }
  for (const { name, reason } of deactivated) await deactivation(world, name, reason, context);
  if (activated.length > 0 || deactivated.length > 0)
    await context.record({ type: "changed", by: message.id, ofInput: true, activated, deactivated } satisfies Recorded);
  return withTexts(
    world,
    rest,
    activated.map(({ name }) => name),
  );
}

/** `/name what to do` at the start of the input: the name of the skill, and the message without it. */
function namedSkill(world: World, message: Message): readonly [string | undefined, Message] {
  const at = message.parts.findIndex(({ type }) => type === "text");
  const part = message.parts[at];
  const [head = "", name = ""] =
    part?.type === "text" ? (/^\s*\/([a-z0-9-]+)(?=\s|$)[ \t]*\n?/.exec(part.text) ?? []) : [];
  if (part?.type !== "text" || !world.byName.has(name)) return [undefined, message];
  const rest = part.text.slice(head.length);
  return [name, { ...message, parts: message.parts.with(at, text(rest === "" ? `Use the skill ${name}.` : rest)) }];
}

function withTexts(world: World, message: Message, names: readonly string[]): Message {
  const texts = names.flatMap((name) => world.byName.get(name) ?? []).map((skill) => text(activeText(skill)));
  return texts.length === 0 ? message : { ...message, parts: [...message.parts, ...texts] };
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === "string"))] : [];
}

/** Recorded with the activation: what is changed or removed meanwhile does not widen it. */
function limitOf(world: World, name: string): Pick<Activation, "allowedTools"> {
  const allowedTools = world.byName.get(name)?.allowedTools;
  return allowedTools === undefined ? {} : { allowedTools };
}

type Wish = Pick<Activation, "name" | "via"> & { readonly count: number; readonly isNew: boolean };

/** Returns why the skill cannot become active. */
async function activation(
  world: World,
  { name, via, count, isNew }: Wish,
  context: HookContext<Own>,
): Promise<string | undefined> {
  const skill = world.byName.get(name);
  if (skill === undefined) return `there is no skill ${name}`;
  if (isNew && count >= world.maxActive) return `${count} skills are active already, which is as many as may be`;
  return told(world, skill, via, context);
}

async function judged(
  world: World,
  call: HookedCall,
  context: ToolHookContext<Own>,
  next: ToolNext,
): Promise<ToolOutput> {
  const { active } = context.own;
  if (call.name === USE_TOOL) return used(world, call, context, next);
  if (call.name === READ_TOOL || call.name === RUN_TOOL) {
    const name = memberOf(call.input, "name");
    if (!active.some((skill) => skill.name === name))
      return context.answer(`The skill ${JSON.stringify(name)} is not active: call ${USE_TOOL} with its name first.`, {
        isError: true,
      });
  }
  const refused = await refusedBy(active, call, context.state);
  return refused === undefined ? next(call) : context.deny(refused);
}

async function used(
  world: World,
  call: HookedCall,
  context: ToolHookContext<Own>,
  next: ToolNext,
): Promise<ToolOutput> {
  const name = memberOf(call.input, "name");
  const skill = world.byName.get(name);
  const known = context.own.active.find((one) => one.name === name);
  if (skill === undefined || (skill.hidden && known === undefined)) {
    const names = world.set.skills.filter(({ hidden }) => !hidden).map((one) => one.name);
    return context.answer(`There is no skill ${JSON.stringify(name)}. There are: ${names.join(", ")}.`, {
      isError: true,
    });
  }
  if (known !== undefined && known.by !== call.callId && !known.isForgotten)
    return context.answer(`The skill ${name} is active already; its instructions are in this conversation.`);
  const output = await next(call);
  if (output.isError === true) return output;
  const wish = { name, via: "model", count: context.own.active.length, isNew: known === undefined } as const;
  const problem = await activation(world, wish, context);
  if (problem !== undefined) return context.answer(`The skill ${name} is not active: ${problem}.`, { isError: true });
  const activated = [{ name, via: "model" as const, lasting: known?.lasting ?? false, ...limitOf(world, name) }];
  await context.record({
    type: "changed",
    by: call.callId,
    ofInput: false,
    activated,
    deactivated: [],
  } satisfies Recorded);
  return context.answer(activeText(skill));
}

function memberOf(input: unknown, member: string): string {
  if (typeof input !== "object" || input === null) return "";
  const value = (input as { readonly [name: string]: unknown })[member]; // any object has members
  return typeof value === "string" ? value : "";
}
