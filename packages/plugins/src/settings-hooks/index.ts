/** Hooks from settings files: shell commands that guard, change and watch what an agent does, told of it in JSON. */

import {
  type Fact,
  type HookContext,
  type HookedCall,
  type Json,
  type PermissionWord,
  type Plugin,
  plugin,
  text,
  textOf,
  type ToolOutput,
  textOutput,
} from "@capstan/core";
import type { HookEvent } from "./event-names.ts";
import { type HookSettings, parseHookSettings } from "./parse-settings.ts";
import type { CommandEnd } from "./run-command.ts";
import { type Moment, runHooks, type Said } from "./run-hooks.ts";
import { EventWatcher } from "./watch-events.ts";

export { HOOK_EVENTS, toHookEvent, type HookEvent } from "./event-names.ts";

export type SettingsHooksOptions = {
  /** Whose settings they are. Commands of a project can only tighten: their "allow" changes nothing. Default "user". */
  readonly from?: "user" | "project";
  /** Added to the little that commands get of this process's environment. */
  readonly env?: { readonly [name: string]: string };
};

type Own = {
  /** The input with which the session started. */
  readonly started: string;
  /** The run that was told to go on by a `stop` hook. */
  readonly continued: string;
  /** The newest text of the model. */
  readonly last: string;
};
type Context = HookContext<Own>;

const MAX_LAST = 8_192;
/** Beside the time of all commands of a moment. */
const SPARE_MS = 5_000;

/**
 * `settings`: a parsed settings file of the user, or of a project folder that the user trusts. Give it to the runtime, so
 * that it stands around sub-agents whole. Throws `plugin-invalid` for what it cannot keep.
 */
export function settingsHooks(settings: unknown, options: SettingsHooksOptions = {}): Plugin {
  const { from = "user", env = {} } = options;
  const parsed = parseHookSettings(settings);
  const name = from === "user" ? "settings-hooks" : "settings-hooks-project";
  const watchers = new Set<EventWatcher>();
  const run = (moment: Omit<Moment, "scene">, context: Context): Promise<Said> =>
    runRecorded(parsed, moment, { context, env, watchers });
  return plugin<Own>({
    name,
    timeoutMs: timeOf(parsed),
    fold: { start: { started: "", continued: "", last: "" }, next: (own, fact) => nextOwn(own, fact, name) },
    async input(message, context, next) {
      const { started } = context.own; // the same input after a crash: its commands answer from the log
      const contexts =
        started === "" || started === message.id ? await startSession(parsed, message.id, context, run) : [];
      const said = await run({ event: "UserPromptSubmit", fields: { prompt: textOf(message.parts) } }, context);
      if (said.block !== undefined) return context.refuse(said.block);
      const added = [...contexts, ...said.contexts];
      return next(added.length === 0 ? message : { ...message, parts: [...message.parts, text(framed(added))] });
    },
    async tool(call, context, next) {
      const { callId, name: tool } = call;
      const before = await run({ event: "PreToolUse", call: { callId, tool, input: call.input } }, context);
      if (before.block !== undefined) return context.deny(before.block);
      const output = await next(withSaid(call, before, from === "user"));
      const after = await run(
        {
          event: output.isError === true ? "PostToolUseFailure" : "PostToolUse",
          call: { callId, tool, input: before.input },
          fields: { tool_response: output as unknown as Json }, // plain data
        },
        context,
      );
      return answered(output, before, after);
    },
    async stop(state, context) {
      const event = state.parent === undefined ? "Stop" : "SubagentStop";
      const { continued, last } = context.own;
      const fields = { stop_hook_active: continued === context.runId, last_assistant_message: last };
      return (await run({ event, subject: state.agent, fields }, context)).block;
    },
    on(envelope) {
      for (const watcher of watchers) watcher.see(envelope);
    },
    open(runtime) {
      const watcher = new EventWatcher(runtime, { settings: parsed, env, mayAllow: from === "user" });
      watchers.add(watcher);
      return {
        async [Symbol.asyncDispose]() {
          watchers.delete(watcher);
          await watcher.close();
        },
      };
    },
  });
}

type Run = (moment: Omit<Moment, "scene">, context: Context) => Promise<Said>;

/** Commands of a session's first input. Recorded, so that they run once a session. */
async function startSession(
  { ignored }: HookSettings,
  inputId: string,
  context: Context,
  run: Run,
): Promise<readonly string[]> {
  const isChild = context.state.parent !== undefined;
  const said = isChild
    ? await run({ event: "SubagentStart", subject: context.state.agent }, context)
    : await run({ event: "SessionStart", subject: "startup", fields: { source: "startup" } }, context);
  if (ignored.length > 0) context.notice(`Commands of the settings never run for ${ignored.join(", ")}`);
  if (said.block !== undefined) context.notice(said.block); // nothing is there that could be held back
  await context.record({ started: inputId });
  return said.contexts;
}

type Recording = {
  readonly context: Context;
  readonly env: { readonly [name: string]: string };
  readonly watchers: ReadonlySet<EventWatcher>;
};

/** Each command is a step of the hook: after a crash what has run answers from the log. */
async function runRecorded(
  settings: HookSettings,
  moment: Omit<Moment, "scene">,
  { context, env, watchers }: Recording,
): Promise<Said> {
  const { state, sessionId } = context;
  const scene = {
    sessionId,
    agent: state.agent,
    isChild: state.parent !== undefined,
    cwd: state.workspace?.root ?? process.cwd(),
    mode: state.mode,
  };
  const said = await runHooks(
    { ...moment, scene },
    {
      commands: settings.commands.get(moment.event) ?? [],
      env,
      perform: (id, perform) =>
        context.step(
          id,
          async ({ signal }) => (await perform(signal)) as unknown as Json,
        ) as unknown as Promise<CommandEnd>, // plain data
      background: (perform) => [...watchers][0]?.start(perform),
    },
  );
  for (const line of said.says) context.notice(line);
  return said;
}

/** An "allow" of the user's commands stands for the default word only: rules that ask or deny come before it. */
function withSaid(call: HookedCall, { input, verdict }: Said, mayAllow: boolean): HookedCall {
  const word: PermissionWord | undefined = verdict === "allow" && !mayAllow ? undefined : verdict;
  const strict = call.verdict === "deny" || call.verdict === "ask" ? call.verdict : (word ?? call.verdict);
  return { ...call, input, ...(strict !== undefined && { verdict: strict }) };
}

/** The result as the model reads it. The same object when nothing was said about it. */
function answered(output: ToolOutput, before: Said, after: Said): ToolOutput {
  const notes = [...before.contexts, ...after.contexts, ...(after.block === undefined ? [] : [after.block])];
  if (after.output === undefined && notes.length === 0) return output;
  const isError = output.isError === true;
  const shown =
    after.output === undefined
      ? output
      : textOutput(typeof after.output === "string" ? after.output : JSON.stringify(after.output), { isError });
  return notes.length === 0 ? shown : { ...shown, content: [...shown.content, text(framed(notes))] };
}

function framed(notes: readonly string[]): string {
  return `<system>${notes.join("\n\n")}</system>`;
}

function nextOwn(own: Own, fact: Fact, name: string): Own {
  if (fact.type === "data") {
    if (fact.name !== `plugin/${name}`) return own;
    return { ...own, started: (fact.data as { readonly started: string }).started }; // written above
  }
  if (fact.type !== "message.added") return own;
  const { message, runId = "" } = fact;
  if (message.id.startsWith(`${runId}/stop/`)) return { ...own, continued: runId };
  if (message.role !== "assistant") return own;
  const said = textOf(message.parts);
  return said === "" ? own : { ...own, last: said.slice(0, MAX_LAST).toWellFormed() };
}

function timeOf({ commands }: HookSettings): number {
  const events: readonly HookEvent[] = [...commands.keys()];
  const times = events.map((event) => (commands.get(event) ?? []).reduce((sum, { timeoutMs }) => sum + timeoutMs, 0));
  // the first input may run two moments
  const starting = (["SessionStart", "SubagentStart", "UserPromptSubmit"] as const).reduce(
    (sum, event) => sum + (commands.get(event) ?? []).reduce((all, { timeoutMs }) => all + timeoutMs, 0),
    0,
  );
  return Math.max(starting, ...times) + SPARE_MS;
}
