/** Running the hooks of plugins: in list order, the first outermost, each with a time limit and a stated failure. */

import type { Hold } from "../hold/hold.ts";
import { namingChanges } from "../model/prefix-watch.ts";
import type { ModelRequest } from "../ports/model.ts";
import type {
  HookedCall,
  InputOutcome,
  ModelNext,
  Plugin,
  PrepareChange,
  RejectedCall,
  ToolNext,
} from "../ports/plugin.ts";
import { plain } from "../ports/tool-output.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import { toJson } from "../words/json.ts";
import { type Message, type ToolOutput, textOutput } from "../words/message.ts";
import { hookContext } from "./hook-context.ts";
import { decideBy, decidedBy, isRefusal, refusal } from "./refusal.ts";
import { isPassedOver, timedHook } from "./timed-hook.ts";

export async function runInputHooks(hold: Hold, message: Message): Promise<InputOutcome> {
  const run = (index: number, current: Message): Promise<InputOutcome> => {
    const [position, hook] = nextWith(hold.plugins, "input", index);
    if (hook === undefined) return Promise.resolve({ type: "accept", message: current });
    let inner: InputOutcome | undefined;
    const attempt = timedHook(hold, hook.plugin, "input", async (limit) => {
      const context = {
        ...hookContext(hold, hook.plugin, `input/${message.id}`, limit),
        answer: (text: string): InputOutcome => ({ type: "answer", text }),
        refuse: (reason: string): InputOutcome => ({ type: "refuse", reason }),
      };
      return hook.call(current, context, async (changed) => {
        limit.signal.throwIfAborted(); // a hook that took too long is not heard any more
        return (inner = await limit.pause(run(position + 1, changed)));
      });
    });
    return attempt.catch((error: unknown) => {
      if (!isPassedOver(hold, error, hook.plugin.onFailure === "ignore")) throw error;
      return inner ?? run(position + 1, current);
    });
  };
  return run(0, message);
}

/** Later plugins see what earlier ones changed. */
export async function runPrepareHooks(
  hold: Hold,
  turn: number,
  request: ModelRequest,
): Promise<readonly PrepareChange[]> {
  const changes: PrepareChange[] = [];
  for (const plugin of hold.plugins) {
    if (plugin.prepare === undefined) continue;
    const change = await timedHook(hold, plugin, "prepare", async (limit) =>
      plugin.prepare?.(request, hookContext(hold, plugin, `prepare/${turn}`, limit)),
    ).catch((error: unknown) => {
      if (!isPassedOver(hold, error, plugin.onFailure === "ignore")) throw error;
    });
    if (change === undefined) continue;
    if ((change.system !== undefined || change.tools !== undefined) && change.breaksPrefix === undefined) {
      throw new CapstanError(
        "plugin-invalid",
        `Plugin ${plugin.name} changed system text or tools without saying why: set breaksPrefix`,
      );
    }
    changes.push(change);
  }
  return changes;
}

/** The model call wrapped by all `model` hooks. */
export function withModelHooks(hold: Hold, call: ModelNext): ModelNext {
  return hold.plugins.reduceRight<ModelNext>((next, plugin) => {
    if (plugin.model === undefined) return next;
    return (request) =>
      plugin.model?.(request, { own: hold.own(plugin) }, namingChanges(plugin.name, request, next)) ?? next(request);
  }, call);
}

export function hasToolHooks(plugins: readonly Plugin[]): boolean {
  return plugins.some((plugin) => plugin.tool !== undefined);
}

/**
 * The call through all `tool` hooks, `perform` innermost. A hook that fails before `next` refuses the call; one that
 * fails after it keeps the result that `perform` gave.
 */
export async function runToolHooks(hold: Hold, call: HookedCall, perform: ToolNext): Promise<ToolOutput> {
  const run = (index: number, current: HookedCall): Promise<ToolOutput> => {
    const [position, hook] = nextWith(hold.plugins, "tool", index);
    if (hook === undefined) return perform(current);
    let inner: ToolOutput | undefined;
    const attempt = timedHook(hold, hook.plugin, "tool", async (limit) => {
      const context = {
        ...hookContext(hold, hook.plugin, { callId: call.callId }, limit),
        answer: (text: string, options?: { readonly isError?: boolean }): ToolOutput => textOutput(text, options),
        deny: refusal,
      };
      const given = await hook.call(current, context, async (changed) => {
        limit.signal.throwIfAborted(); // a call whose hook took too long was refused: it must not run after that
        return (inner = await limit.pause(run(position + 1, passedOn(hold, hook.plugin, current, changed))));
      });
      const output = given === inner || isRefusal(given) ? given : plain("it gave", given);
      const by = inner === undefined ? hook.plugin.name : decidedBy(inner);
      return by === undefined ? output : decideBy(output, by);
    });
    return attempt.catch((error: unknown) => {
      if (hold.halted.aborted && !hold.journal.signal.aborted && inner !== undefined) return inner; // what was done stays
      if (hold.journal.signal.aborted || !isPassedOver(hold, error, true)) throw error;
      if (inner !== undefined) return inner;
      if (hook.plugin.onFailure === "ignore") return run(position + 1, current);
      return decideBy(refusal(`Refused: ${messageOf(error)}`), hook.plugin.name);
    });
  };
  return run(0, call);
}

/** The call as a hook hands it on: what it says of other arguments is no consent to them. */
function passedOn(hold: Hold, plugin: Plugin, current: HookedCall, changed: HookedCall): HookedCall {
  const isChild = hold.state.parent !== undefined;
  const own = isChild && hold.agent.plugins.includes(plugin);
  if (changed.input === current.input) {
    return isChild ? { ...changed, outerVerdict: own ? current.outerVerdict : changed.verdict } : changed;
  }
  const { verdict, ...rest } = changed;
  const given = verdict === "allow" && current.verdict === "allow" ? undefined : verdict;
  const outer = own ? (current.outerVerdict === "allow" ? undefined : current.outerVerdict) : given;
  const input = toJson("it passed on", changed.input);
  return { ...rest, input, ...(given !== undefined && { verdict: given }), outerVerdict: outer };
}

/** What the model reads of a call that cannot be made: the standard text as the plugins change it, the innermost first. */
export async function runRejectHooks(hold: Hold, call: RejectedCall, standard: ToolOutput): Promise<ToolOutput> {
  let output = standard;
  for (const plugin of hold.plugins.toReversed()) {
    if (plugin.reject === undefined) continue;
    const own = hold.own(plugin);
    const given = await timedHook(hold, plugin, "reject", async () => plugin.reject?.(call, output, { own })).catch(
      (error: unknown) => {
        if (!isPassedOver(hold, error, true)) throw error;
      },
    );
    if (given !== undefined) output = plain("it gave", given);
  }
  return output;
}

/** What `stop` hooks want said before the run may end. Their failures are notices. */
export async function runStopHooks(hold: Hold): Promise<readonly string[]> {
  const said: string[] = [];
  const { state } = hold;
  const { turns } = hold.run;
  for (const plugin of hold.plugins) {
    if (plugin.stop === undefined) continue;
    const more = await timedHook(hold, plugin, "stop", async (limit) =>
      plugin.stop?.(state, hookContext(hold, plugin, `stop/${turns}`, limit)),
    ).catch((error: unknown) => {
      if (!isPassedOver(hold, error, plugin.onFailure !== "fail")) throw error;
    });
    if (typeof more === "string") said.push(more);
  }
  return said;
}

/** One plugin's chance to make room. Throws what it throws. */
export function runOverflowHook(hold: Hold, plugin: Plugin, request: ModelRequest): Promise<void> {
  return timedHook(hold, plugin, "overflow", async (limit) =>
    plugin.overflow?.(request, hookContext(hold, plugin, `overflow/${hold.run.turns}`, limit)),
  );
}

type Found<Name extends "input" | "tool"> = { readonly plugin: Plugin; readonly call: NonNullable<Plugin[Name]> };

function nextWith<Name extends "input" | "tool">(
  plugins: readonly Plugin[],
  name: Name,
  from: number,
): readonly [number, Found<Name> | undefined] {
  for (let index = from; index < plugins.length; index++) {
    const plugin = plugins[index];
    const hook = plugin?.[name];
    if (plugin !== undefined && hook !== undefined)
      return [index, { plugin, call: hook.bind(plugin) as NonNullable<Plugin[Name]> }]; // bind loses the union
  }
  return [plugins.length, undefined];
}
