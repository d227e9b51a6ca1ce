/**
 * The background shell: a plugin with the tools `shell_start`, `shell_output`, `shell_list` and `shell_kill`. Commands
 * run beside the conversation and end with the runtime; what a crash cut off is reported as lost.
 */

import { stripVTControlCharacters } from "node:util";
import {
  builtIn,
  type Clock,
  type HookContext,
  plugin,
  type Plugin,
  sleep,
  systemClock,
  text,
  textOutput,
  tool,
  type Tool,
  type ToolOutput,
} from "@capstan/core";
import { z } from "zod";
import { commandProblem, findBash } from "./shell.ts";
import { shellNeeds } from "./shell-needs/shell-needs.ts";
import { type BackgroundTask, BackgroundTasks, taskIdOf } from "./shell-background-tasks.ts";
import { answering, cutAt, failure, shownPath } from "./tool-answer.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";

/** What the log says of a command: its `data` facts are named `plugin/background-shell`. */
export type BackgroundFact = {
  readonly taskId: string;
  readonly command: string;
  readonly status: "running" | "completed" | "failed" | "stopped" | "lost";
  readonly said: string;
};
/** Commands of the session that run, by id, as the log tells them. */
type Known = { readonly [taskId: string]: BackgroundFact };

const NAME = "background-shell";

/** No tools where there is no bash. `clock` is for tests. */
export function backgroundShell({ clock = systemClock }: { readonly clock?: Clock } = {}): Plugin {
  const bash = findBash();
  const tasks = new BackgroundTasks(clock);
  return plugin<Known>({
    name: NAME,
    fold: {
      start: {},
      next(known, fact) {
        if (fact.type !== "data" || fact.name !== `plugin/${NAME}`) return known;
        const data = fact.data as BackgroundFact; // recorded below
        const { [data.taskId]: _before, ...others } = known;
        return data.status === "running" ? { ...others, [data.taskId]: data } : others;
      },
    },
    tools: bash === undefined ? [] : [startTool(bash, tasks), outputTool(tasks), listTool(tasks), killTool(tasks)],
    open: () => tasks.open(),
    async tool(call, context, next) {
      const output = await next(call);
      if (call.name === "shell_start" && tasks.find(context.sessionId, taskIdOf(call.callId)) !== undefined) {
        const { command } = call.input as { readonly command: string }; // checked by the tool's schema
        await context.record({ taskId: taskIdOf(call.callId), command, status: "running", said: "running" });
      }
      return output;
    },
    async prepare(_request, context) {
      const changed = await recordEnds(tasks, context);
      const lines = [...changed, ...tasks.of(context.sessionId).filter(({ status }) => status === "running")].map(
        ({ said, ...task }) => `${"id" in task ? task.id : task.taskId} (${cutAt(task.command, 80)}): ${said}`,
      );
      return lines.length === 0 ? undefined : { tail: [text(`Background commands:\n${lines.join("\n")}`)] };
    },
  });
}

/** Writes what ended since the log was last told: here, or with a process that is gone. */
async function recordEnds(tasks: BackgroundTasks, context: HookContext<Known>): Promise<readonly BackgroundFact[]> {
  const changed: BackgroundFact[] = [];
  for (const known of Object.values(context.own)) {
    if (known.status !== "running") continue;
    const task = tasks.find(context.sessionId, known.taskId);
    if (task?.status === "running") continue;
    const end = task ?? { status: "lost" as const, said: "lost: the process that ran it is gone, and it was ended" };
    changed.push({ ...known, status: end.status, said: end.said });
  }
  for (const fact of changed) await context.record(fact);
  return changed;
}

const taskId = z.string().describe("Id from shell_start.");

function startTool(bash: string, tasks: BackgroundTasks): Tool {
  return builtIn(
    tool({
      name: "shell_start",
      description:
        "Starts a bash command in the workspace folder and does not wait for it: for servers, watchers, long builds. " +
        "Returns an id for shell_output and shell_kill. It ends at the latest when the program that runs you ends.",
      input: z.object({
        command: z.string().describe("Its standard input is empty."),
        lifetimeMs: z
          .int()
          .min(1)
          .max(TOOL_LIMITS.backgroundLifetimeMs)
          .optional()
          .describe("Ends it after this time."),
      }),
      kind: "execute",
      title: ({ command }) => `Start ${shownPath(cutAt(command, 200))}`,
      needs: ({ command }) => shellNeeds(command),
      rerun: "never",
      execute: ({ command, lifetimeMs = TOOL_LIMITS.backgroundLifetimeMs }, context) =>
        answering(async () => {
          const problem = commandProblem(command);
          if (problem !== undefined) return failure(problem);
          const task = tasks.start({
            sessionId: context.session.id,
            callId: context.callId,
            command,
            argv: [bash, "--noprofile", "--norc", "-c", command],
            workspace: context.workspace,
            lifetimeMs,
          });
          await atMost(tasks.clock, task.ended, TOOL_LIMITS.backgroundStartMs, context.signal);
          return shown(task, 0);
        }),
    }),
  );
}

function outputTool(tasks: BackgroundTasks): Tool {
  return builtIn(
    tool({
      name: "shell_output",
      description:
        "Shows the status of a background command and what it wrote, from a cursor on. Each answer ends with the cursor for " +
        "the next.",
      input: z.object({
        task: taskId,
        after: z.int().min(0).optional().describe("That cursor; default: from the start."),
        waitMs: z
          .int()
          .min(0)
          .max(TOOL_LIMITS.backgroundWaitMs)
          .optional()
          .describe("Waits so long when there is nothing new."),
      }),
      kind: "read",
      title: ({ task }) => `Read the output of ${task}`,
      needs: () => [],
      rerun: "safe",
      async execute({ task: id, after = 0, waitMs = 0 }, { session, signal }) {
        const task = tasks.find(session.id, id);
        if (task === undefined) return unknownTask(tasks, session.id, id);
        if (task.output.length <= after) await atMost(tasks.clock, task.news(), waitMs, signal);
        return shown(task, after);
      },
    }),
  );
}

function listTool(tasks: BackgroundTasks): Tool {
  return builtIn(
    tool({
      name: "shell_list",
      description: "Lists the background commands with their status.",
      input: z.object({}),
      kind: "read",
      title: () => "List background commands",
      needs: () => [],
      rerun: "safe",
      async execute(_input, { session }) {
        const lines = tasks.of(session.id).map(({ id, command, said }) => `${id}  ${said}  ${cutAt(command, 200)}`);
        return textOutput(lines.length === 0 ? "There are no background commands." : lines.join("\n"));
      },
    }),
  );
}

function killTool(tasks: BackgroundTasks): Tool {
  return builtIn(
    tool({
      name: "shell_kill",
      description: "Ends a background command with everything it started.",
      input: z.object({ task: taskId }),
      kind: "other",
      title: ({ task }) => `End ${task}`,
      needs: () => [],
      rerun: "safe",
      async execute({ task: id }, { session }) {
        const task = tasks.find(session.id, id);
        if (task === undefined) return unknownTask(tasks, session.id, id);
        task.stop.abort();
        await task.ended;
        return textOutput(`${id}: ${task.said}`);
      },
    }),
  );
}

function unknownTask(tasks: BackgroundTasks, sessionId: string, id: string): ToolOutput {
  const known = tasks.of(sessionId).map((task) => task.id);
  return failure(
    `There is no background command ${JSON.stringify(cutAt(id, 80))} here; there are: ${known.join(", ") || "none"}. ` +
      "Those of a process that ended were ended with it.",
  );
}

function shown(task: BackgroundTask, after: number): ToolOutput {
  const { text: written, next } = task.output.from(after, TOOL_LIMITS.shellCharacters);
  const more = next < task.output.length ? `; ${task.output.length - next} characters more` : "";
  const gap = written === "" || written.endsWith("\n") ? "" : "\n";
  return textOutput(`${stripVTControlCharacters(written)}${gap}[${task.id}: ${task.said}; cursor ${next}${more}]`);
}

/** Until the promise settles, at most `ms`. An interrupt ends the wait only. */
async function atMost(clock: Clock, promise: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const wait = sleep(clock, ms, AbortSignal.any([signal, over.signal])).catch(() => undefined);
  await Promise.race([promise, wait]);
  over.abort();
}
