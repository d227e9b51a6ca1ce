/** What a hook is given: the state, its own steps and records, questions to models, the workspace. */

import type { Hold } from "../hold/hold.ts";
import { workspaceMissing } from "../hold/open-workspace.ts";
import { performStep, uniqueNames } from "../hold/steps.ts";
import { askModel } from "../model/ask-model.ts";
import { compact } from "../model/compact.ts";
import { modelOfRun } from "../model/output.ts";
import type { HookContext, Plugin } from "../ports/plugin.ts";
import { forgettable } from "../words/errors.ts";
import type { PlanEntry } from "../words/event.ts";
import { type Json, toJson } from "../words/json.ts";
import { hookScope } from "../words/keys.ts";
import type { TimeLimit } from "./timed-hook.ts";

/** `at`: the call of a `tool` hook; of any other, what tells its turns in the run apart. */
export function hookContext(
  hold: Hold,
  plugin: Plugin,
  at: { readonly callId: string } | string,
  { signal, pause }: TimeLimit,
): HookContext {
  const unique = uniqueNames(`Plugin ${plugin.name}`);
  const { state, run } = hold;
  const scope = `${hookScope(run.id, at)}/${plugin.name}`;
  return {
    ...writing(hold, plugin, scope),
    own: hold.own(plugin),
    state,
    sessionId: state.sessionId,
    runId: run.id,
    signal,
    step: <T extends Json | void>(name: string, perform: Parameters<HookContext["step"]>[1]): Promise<T> => {
      const step = async (): Promise<T> => {
        unique(name);
        return (await performStep(hold, { name: `${scope}/${name}`, rerun: "keyed", signal }, perform)) as T; // what perform returned, as JSON
      };
      return forgettable(step());
    },
    askModel: (name, question) => {
      unique(name);
      return forgettable(pause(askModel(hold, `${scope}/${name}`, question, signal)));
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
    workspace: async () => {
      const { workspace } = hold.state;
      if (workspace === undefined) throw workspaceMissing(hold);
      return hold.definitions.workspace(workspace);
    },
  };
}

type Writing = Pick<HookContext, "record" | "showPlan" | "keepText" | "keptText" | "notice">;

/** What a hook leaves behind: named by its place, so that a record is written once whatever happens. */
function writing(hold: Hold, plugin: Plugin, scope: string): Writing {
  const { id: runId } = hold.run;
  let records = 0;
  let plans = 0;
  return {
    record: async (data) => {
      records += 1;
      const name = `${scope}/data/${records}`;
      if (hold.state.run?.steps[name] !== undefined) return; // recorded before a crash
      await hold.append([
        { type: "data", key: name, runId, name: `plugin/${plugin.name}`, data: toJson("it recorded", data) },
        { type: "step.finished", key: `${name}/finished`, runId, name, value: null },
      ]);
    },
    showPlan: async (entries) => {
      plans += 1;
      const key = `${scope}/plan/${plans}`;
      const plan = toJson("it planned", entries as Json) as unknown as readonly PlanEntry[]; // a copy of it
      await hold.append([{ type: "plan.updated", key, runId, entries: plan }]);
    },
    keepText: async (text) => {
      const clean = hold.definitions.redactor.text(text).toWellFormed();
      return { hash: await hold.journal.putBlob(new TextEncoder().encode(clean)), text: clean };
    },
    keptText: async (hash) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(await hold.journal.blob(hash)),
    notice: (title, detail) => hold.notice("info", plugin.name, title, detail),
  };
}
