/** The plugin: keeps what files hold before a call changes them, and notes what they hold after it. */

import {
  CapstanError,
  type Definitions,
  type Engine,
  type Plugin,
  plugin,
  type ToolHookContext,
  type Workspace,
  type WorkspaceRef,
} from "@capstan/core";
import { isBegun, pathsOf } from "../call-files.ts";
import { recall } from "../remembered.ts";
import {
  type Checkpoint,
  type FileBefore,
  nextOwn,
  type Own,
  type Pending,
  PLUGIN_NAME,
  START,
  toData,
} from "./checkpoint-facts.ts";
import { filesAfter, keepFiles, realNames } from "./look-at-files.ts";
import { planRewind, type RewindPlan } from "./plan-rewind.ts";
import { restoreFiles, type Restored, type RestoreOptions } from "./restore-files.ts";

/** Time for the largest files of one call on a slow disk. */
const KEEPING_MS = 60_000;

/** The plugin, and the way back for sessions of the runtimes that it is part of. */
export type Checkpoints = Plugin & {
  /**
   * What going back to the fact `at` would do to the files; changes nothing. Throws `session-not-found`, `cursor-invalid`,
   * `workspace-missing`, `plugin-invalid` before a runtime with this plugin is open.
   */
  plan(sessionId: string, options: { readonly at: number; readonly signal?: AbortSignal }): Promise<RewindPlan>;
  /** Does what a plan says. After a crash, plan and restore again: what was done is not done again. Throws `session-busy`. */
  restore(plan: RewindPlan, options?: RestoreOptions): Promise<Restored>;
};

/** Give it to the runtime, so that files which sub-agents change are kept too. */
export function checkpoints(): Checkpoints {
  const runtimes = new Set<Definitions>();
  const keeping = plugin<Own>({
    name: PLUGIN_NAME,
    fold: { start: START, next: nextOwn },
    timeoutMs: KEEPING_MS,
    async tool(call, context, next) {
      if (context.state.workspace === undefined) return next(call);
      const paths = await pathsOf(call, "write");
      if (paths.length === 0) return next(call);
      const workspace = await context.workspace();
      const earlier = recall(context.own.pending, call.callId);
      for (let index = 0; index < (earlier?.records ?? 0); index++) await context.record(null); // stands in the log already
      if (earlier?.isOver === true) return next(call);
      const begun = isBegun(context.state, call.callId);
      const keeper = begun ? undefined : await runtimeOf(runtimes, context.sessionId);
      const files = begun
        ? (earlier?.files ?? (await unknownFiles(workspace, paths)))
        : await keepFiles(await realNames(workspace, paths), {
            workspace,
            keeper,
            bytes: context.own.bytes,
            signal: context.signal,
          });
      if (!isNoted(earlier, files)) await note(context, { type: "before", callId: call.callId, files });
      const output = await next(call);
      const after = await filesAfter(files, { workspace, output, isSure: !begun });
      await note(context, { type: "after", callId: call.callId, files: after });
      return output;
    },
    open(runtime) {
      runtimes.add(runtime);
      return {
        async [Symbol.asyncDispose]() {
          runtimes.delete(runtime);
        },
      };
    },
  });
  const placeOf = async (sessionId: string): Promise<Definitions> => {
    const runtime = await runtimeOf(runtimes, sessionId);
    if (runtime !== undefined) return runtime;
    if (runtimes.size === 0)
      throw new CapstanError("plugin-invalid", "checkpoints: no runtime with this plugin is open");
    throw new CapstanError("session-not-found", `There is no session ${JSON.stringify(sessionId)}`);
  };
  return Object.freeze({
    ...keeping,
    async plan(sessionId: string, options: { readonly at: number; readonly signal?: AbortSignal }) {
      const runtime = await placeOf(sessionId);
      const openWorkspace = (ref: WorkspaceRef): Promise<Workspace> => runtime.workspace(ref);
      return planRewind({ engine: runtime.engine, openWorkspace, sessionId, ...options });
    },
    async restore(plan: RewindPlan, options: RestoreOptions = {}) {
      const runtime = await placeOf(plan.sessionId);
      const workspace = await runtime.workspace(plan.workspace);
      return restoreFiles(plan, { engine: runtime.engine, workspace }, options);
    },
  });
}

function note(context: ToolHookContext<Own>, checkpoint: Checkpoint): Promise<void> {
  return context.record(toData(checkpoint));
}

/** The call began before anybody looked. */
async function unknownFiles(workspace: Workspace, paths: readonly string[]): Promise<readonly FileBefore[]> {
  return (await realNames(workspace, paths)).map((path) => ({ path, was: "unclear" }));
}

/** While a call waited for a person, its files may have become others. */
function isNoted(earlier: Pending | undefined, files: readonly FileBefore[]): boolean {
  return earlier !== undefined && JSON.stringify(earlier.files) === JSON.stringify(files);
}

/** The newest first: an older one of the same store may be about to close. */
async function runtimeOf(runtimes: Iterable<Definitions>, sessionId: string): Promise<Definitions | undefined> {
  for (const runtime of [...runtimes].toReversed()) if (await knows(runtime.engine, sessionId)) return runtime;
  return undefined;
}

async function knows(engine: Engine, sessionId: string): Promise<boolean> {
  try {
    return (await engine.summary(sessionId)) !== undefined;
  } catch (error) {
    if (CapstanError.is(error, "closed", "aborted")) return false;
    throw error;
  }
}
