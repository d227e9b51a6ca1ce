/** Running the hooks of plugins: in list order, the first outermost, each with a time limit and a stated failure. */

import { askModel } from "./ask-model.ts";
import { compact } from "./compact.ts";
import { CapstanError, forgettable, messageOf } from "./errors.ts";
import type { PlanEntry } from "./event.ts";
import type { Hold } from "./hold.ts";
import { type Json, toJson } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { errorOutput, type Message, type ToolOutput, textOutput } from "./message.ts";
import type { ModelRequest } from "./model.ts";
import type {
  HookContext,
  HookedCall,
  InputOutcome,
  ModelNext,
  Plugin,
  PrepareChange,
  RejectedCall,
  ToolNext,
} from "./plugin.ts";
import { modelOfRun } from "./output.ts";
import { workspaceMissing } from "./perform-tool.ts";
import { namingChanges } from "./prefix-watch.ts";
import { performStep, uniqueNames } from "./steps.ts";
import { plain } from "./tool-output.ts";

/** Results that are refusals: told apart from errors by identity. */
const refusals = new WeakSet<ToolOutput>();

export function isRefusal(output: ToolOutput): boolean {
  return refusals.has(output);
}
/** Outputs that a hook gave without asking for the call, with the name of its plugin. */
const decided = new WeakMap<ToolOutput, string>();

/** The plugin that decided on the call in place of its tool. */
export function decidedBy(output: ToolOutput): string | undefined {
  return decided.get(output);
}
export function refusal(reason: string): ToolOutput {
  const output = errorOutput(reason);
  refusals.add(output);
  return output;
}

export async function runInputHooks(hold: Hold, message: Message): Promise<InputOutcome> {
  const run = (index: number, current: Message): Promise<InputOutcome> => {
    const [position, hook] = nextWith(hold.plugins, "input", index);
    if (hook === undefined) return Promise.resolve({ type: "accept", message: current });
    let inner: InputOutcome | undefined;
    const attempt = timeLimited(hold, hook.plugin, "input", async (signal, pause) => {
      const context = {
        ...hookContext(hold, hook.plugin, `input/${message.id}`, { signal, pause }),
        answer: (text: string): InputOutcome => ({ type: "answer", text }),
        refuse: (reason: string): InputOutcome => ({ type: "refuse", reason }),
      };
      return hook.call(current, context, async (changed) => {
        signal.throwIfAborted(); // a hook that took too long is not heard any more
        return (inner = await pause(run(position + 1, changed)));
      });
    });
    return attempt.catch((error: unknown) => {
      if (!isPassedOver(hold, hook.plugin, error)) throw error;
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
    const change = await timeLimited(hold, plugin, "prepare", async (signal, pause) =>
      plugin.prepare?.(request, hookContext(hold, plugin, `prepare/${turn}`, { signal, pause })),
    ).catch((error: unknown) => {
      if (!isPassedOver(hold, plugin, error)) throw error;
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
    const attempt = timeLimited(hold, hook.plugin, "tool", async (signal, pause) => {
      const context = {
        ...hookContext(hold, hook.plugin, `call/${call.callId}`, { signal, pause }),
        answer: (text: string, options?: { readonly isError?: boolean }): ToolOutput => textOutput(text, options),
        deny: refusal,
      };
      const given = await hook.call(current, context, async (changed) => {
        signal.throwIfAborted(); // a call whose hook took too long was refused: it must not run after that
        const own = hold.state.parent !== undefined && hold.agent.plugins.includes(hook.plugin);
        const outer = own ? { outerVerdict: current.outerVerdict } : { outerVerdict: changed.verdict };
        if (changed.input === current.input)
          return (inner = await pause(
            run(position + 1, hold.state.parent === undefined ? changed : { ...changed, ...outer }),
          ));
        const { verdict, ...rest } = changed;
        const given = verdict === "allow" && current.verdict === "allow" ? undefined : verdict; // consent to other arguments
        const other = {
          ...rest,
          input: toJson("it passed on", changed.input),
          ...(given !== undefined && { verdict: given }),
          outerVerdict: !own ? given : current.outerVerdict === "allow" ? undefined : current.outerVerdict,
        };
        return (inner = await pause(run(position + 1, other)));
      });
      const output = given === inner || isRefusal(given) ? given : plain("it gave", given);
      const by = inner === undefined ? hook.plugin.name : decided.get(inner);
      if (by !== undefined) decided.set(output, by);
      return output;
    });
    return attempt.catch((error: unknown) => {
      if (hold.halted.aborted && !hold.journal.signal.aborted && inner !== undefined) return inner; // what was done stays
      if (hold.halted.aborted || hold.journal.signal.aborted || !CapstanError.is(error, "hook-failed")) throw error;
      hold.notice("warning", "hook-failed", messageOf(error));
      if (inner !== undefined) return inner;
      if (hook.plugin.onFailure === "ignore") return run(position + 1, current);
      const refused = refusal(`Refused: ${messageOf(error)}`);
      decided.set(refused, hook.plugin.name);
      return refused;
    });
  };
  return run(0, call);
}

/** What the model reads of a call that cannot be made: the standard text as the plugins change it, the innermost first. */
export async function runRejectHooks(hold: Hold, call: RejectedCall, standard: ToolOutput): Promise<ToolOutput> {
  let output = standard;
  for (const plugin of hold.plugins.toReversed()) {
    if (plugin.reject === undefined) continue;
    const own = hold.own(plugin);
    const given = await timeLimited(hold, plugin, "reject", async () => plugin.reject?.(call, output, { own })).catch(
      (error: unknown) => {
        if (hold.halted.aborted || !CapstanError.is(error, "hook-failed")) throw error;
        hold.notice("warning", "hook-failed", messageOf(error));
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
  for (const plugin of hold.plugins) {
    if (plugin.stop === undefined) continue;
    try {
      const more = await timeLimited(hold, plugin, "stop", async (signal, pause) =>
        plugin.stop?.(state, hookContext(hold, plugin, `stop/${state.run?.turns ?? 0}`, { signal, pause })),
      );
      if (typeof more === "string") said.push(more);
    } catch (error) {
      if (!CapstanError.is(error, "hook-failed") || plugin.onFailure === "fail") throw error;
      hold.notice("warning", "hook-failed", messageOf(error));
    }
  }
  return said;
}

/** One plugin's chance to make room. Throws what it throws. */
export function runOverflowHook(hold: Hold, plugin: Plugin, request: ModelRequest): Promise<void> {
  return timeLimited(hold, plugin, "overflow", async (signal, pause) =>
    plugin.overflow?.(request, hookContext(hold, plugin, `overflow/${hold.state.run?.turns ?? 0}`, { signal, pause })),
  );
}

/** Whether the plugin wants its failure ignored; it is then said in a notice. */
function isPassedOver(hold: Hold, { onFailure }: Plugin, error: unknown): boolean {
  if (onFailure !== "ignore" || hold.halted.aborted || !CapstanError.is(error, "hook-failed")) return false;
  hold.notice("warning", "hook-failed", messageOf(error));
  return true;
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

type Limit = { readonly signal: AbortSignal; readonly pause: Pause };

function hookContext(hold: Hold, plugin: Plugin, scope: string, { signal, pause }: Limit): HookContext {
  const unique = uniqueNames(`Plugin ${plugin.name}`);
  const runId = hold.state.run?.id ?? "";
  const prefix = scope.startsWith("call/") ? `${scope}/${plugin.name}` : `${runId}/${scope}/${plugin.name}`; // a call id names its run
  let records = 0;
  let plans = 0;
  return {
    own: hold.own(plugin),
    state: hold.state,
    sessionId: hold.state.sessionId,
    runId,
    signal,
    step: <T extends Json | void>(name: string, perform: Parameters<HookContext["step"]>[1]): Promise<T> => {
      const step = async (): Promise<T> => {
        unique(name);
        return (await performStep(hold, { name: `${prefix}/${name}`, rerun: "keyed", signal }, perform)) as T; // what perform returned, as JSON
      };
      return forgettable(step());
    },
    record: async (data) => {
      records += 1;
      const name = `${prefix}/data/${records}`;
      if (hold.state.run?.steps[name] !== undefined) return; // recorded before a crash
      await hold.append([
        { type: "data", key: name, runId, name: `plugin/${plugin.name}`, data: toJson("it recorded", data) },
        { type: "step.finished", key: `${name}/finished`, runId, name, value: null },
      ]);
    },
    showPlan: async (entries) => {
      plans += 1;
      const key = `${prefix}/plan/${plans}`;
      const plan = toJson("it planned", entries as Json) as unknown as readonly PlanEntry[]; // a copy of it
      await hold.append([{ type: "plan.updated", key, runId, entries: plan }]);
    },
    workspace: async () => {
      const { workspace } = hold.state;
      if (workspace === undefined) throw workspaceMissing(hold);
      return hold.definitions.workspace(workspace);
    },
    keepText: async (text) => {
      const clean = hold.definitions.redactor.text(text).toWellFormed();
      return { hash: await hold.journal.putBlob(new TextEncoder().encode(clean)), text: clean };
    },
    keptText: async (hash) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(await hold.journal.blob(hash)),
    askModel: (name, question) => {
      unique(name);
      return forgettable(pause(askModel(hold, `${prefix}/${name}`, question, signal)));
    },
    conversation: async () => (await hold.conversation()).messages,
    model: async () => {
      const { id, capabilities } = await modelOfRun(hold);
      return { id, capabilities };
    },
    compact: async (compaction) => {
      signal.throwIfAborted(); // a hook that took too long is not heard any more
      return compact(hold, plugin.name, compaction);
    },
    notice: (title, detail) => hold.notice("info", plugin.name, title, detail),
  };
}

type Pause = <T>(inner: Promise<T>) => Promise<T>;

/** Runs a hook with its time limit; what it awaits through `pause` does not count. Failures become `hook-failed`. */
async function timeLimited<T>(
  hold: Hold,
  plugin: Plugin,
  hook: string,
  run: (signal: AbortSignal, pause: Pause) => Promise<T>,
): Promise<T> {
  const { clock } = hold.definitions;
  const timeout = new AbortController();
  const passed: unknown[] = [];
  let expire: (error: unknown) => void = () => undefined;
  const expired = new Promise<never>((_resolve, reject) => (expire = reject));
  expired.catch(() => undefined); // nobody waits for it when the hook was in time
  const stop = AbortSignal.any([hold.halted, hold.journal.signal]);
  const arm = (): (() => void) => {
    const ms = stop.aborted ? LIMITS.interruptGraceMs : (plugin.timeoutMs ?? LIMITS.hookTimeoutMs);
    return clock.after(ms, () => {
      const error = new CapstanError("hook-failed", `Hook ${hook} of plugin ${plugin.name} took longer than ${ms} ms`);
      timeout.abort(error);
      expire(error);
    });
  };
  let paused = 0;
  let cancel = arm();
  const rearm = (): void => {
    cancel();
    if (paused === 0) cancel = arm();
  };
  const pause: Pause = async (inner) => {
    paused += 1;
    cancel();
    try {
      return await inner;
    } catch (error) {
      passed.push(error); // not the hook's own failure
      throw error;
    } finally {
      paused -= 1;
      rearm();
    }
  };
  stop.addEventListener("abort", rearm, { once: true });
  try {
    const signal = AbortSignal.any([timeout.signal, stop]);
    return await Promise.race([run(signal, pause), expired]);
  } catch (error) {
    if (passed.includes(error) || CapstanError.is(error) || hold.halted.aborted || hold.journal.signal.aborted)
      throw error;
    throw new CapstanError("hook-failed", `Hook ${hook} of plugin ${plugin.name} failed: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    paused = Number.POSITIVE_INFINITY; // a hook that was left sets no timer any more
    cancel();
    stop.removeEventListener("abort", rearm);
  }
}
