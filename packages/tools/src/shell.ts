/** The tool `shell`: one bash command in the workspace, ended with everything it started. */

import { accessSync, constants, statSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { builtIn, text, tool, type RunOutcome, type Tool, type ToolContext, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { visibleOutput } from "./overwritten-lines.ts";
import { shellNeeds } from "./shell-needs/shell-needs.ts";
import { answering, count, cutAt, failure, shownPath } from "./tool-answer.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";
import { textWindow, type TextWindow } from "./text-window.ts";

/** The only places bash is taken from: never PATH, which a project may have changed. */
const BASH_PATHS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];

const input = z.object({
  command: z.string().describe("Its standard input is empty."),
  timeoutMs: z
    .int()
    .min(1)
    .max(TOOL_LIMITS.shellMaxTimeoutMs)
    .optional()
    .describe(`Default ${TOOL_LIMITS.shellTimeoutMs}.`),
});
type Input = z.infer<typeof input>;

/** First bash of these absolute paths that can be run. */
export function findBash(paths: readonly string[] = BASH_PATHS): string | undefined {
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** The tool `shell`; none when there is no bash at these absolute paths. */
export function shellTools(paths: readonly string[] = BASH_PATHS): readonly Tool[] {
  const bash = findBash(paths);
  return bash === undefined ? [] : [shellTool(bash)];
}

function shellTool(bash: string): Tool {
  return builtIn(
    tool({
      name: "shell",
      description:
        "Runs a bash command in the workspace folder and returns its output. What it leaves running is ended when it ends. " +
        `Output beyond ${TOOL_LIMITS.shellCharacters} characters is cut in the middle.`,
      input,
      kind: "execute",
      title: ({ command }) => `Run ${shownPath(cutAt(command, 200))}`,
      needs: ({ command }) => shellNeeds(command),
      rerun: "never",
      timeoutMs: TOOL_LIMITS.shellMaxTimeoutMs + 10_000, // its own comes first
      execute: (call, context) => answering(() => run(bash, call, context)),
    }),
  );
}

async function run(
  bash: string,
  { command, timeoutMs = TOOL_LIMITS.shellTimeoutMs }: Input,
  context: ToolContext,
): Promise<ToolOutput> {
  const problem = commandProblem(command);
  if (problem !== undefined) return failure(problem);
  const window = textWindow(TOOL_LIMITS.shellCharacters);
  const output = visibleOutput((shown) => window.push(shown));
  const progress = liveOutput(context);
  const outcome = await context.workspace.run([bash, "--noprofile", "--norc", "-c", command], {
    timeoutMs,
    maxOutputBytes: 0, // what the model sees is kept here, both streams in the order they came
    signal: context.signal,
    onOutput(stream, chunk) {
      output.push(stream, chunk);
      progress(stream, chunk);
    },
  });
  output.end();
  return answer(window, [...overwrittenNote(output.dropped), ...notesOf(outcome, timeoutMs)], outcome);
}

/** Why the system cannot start such a command. */
export function commandProblem(command: string): string | undefined {
  if (command.includes("\0")) return "The command contains a NUL character. Send it without.";
  const bytes = Buffer.byteLength(command);
  if (bytes <= TOOL_LIMITS.shellCommandBytes) return undefined;
  const most = count(TOOL_LIMITS.shellCommandBytes, "byte");
  return `The command has ${count(bytes, "byte")}; at most ${most} can be started. Write it to a file and run that.`;
}

/** Control sequences are for terminals: colours would cost tokens and stand in the way of copies. */
function answer(window: TextWindow, notes: readonly string[], { exitCode, killedBy }: RunOutcome): ToolOutput {
  const output = stripVTControlCharacters(window.text());
  const shown = output === "" && notes.length === 0 ? "(no output)" : output;
  const gap = shown === "" || shown.endsWith("\n") || notes.length === 0 ? "" : "\n";
  const failed = exitCode !== 0 || killedBy !== null;
  return {
    content: [text(shown + gap + notes.join("\n"))],
    ...(failed && { isError: true }),
    ...(window.truncated && { truncated: true }),
  };
}

function overwrittenNote(dropped: number): readonly string[] {
  return dropped === 0 ? [] : [`[${count(dropped, "character")} left out that carriage returns overwrote]`];
}

function notesOf({ exitCode, exitSignal, killedBy, leftover = 0 }: RunOutcome, timeoutMs: number): readonly string[] {
  const notes: string[] = [];
  if (killedBy === "timeout") notes.push(`[timed out after ${timeoutMs} ms and was ended with everything it started]`);
  else if (killedBy === "abort") notes.push("[interrupted and ended with everything it started]");
  else if (exitSignal !== null) notes.push(`[ended by ${exitSignal}]`);
  else if (exitCode !== 0) notes.push(`[exit code ${exitCode}]`);
  if (leftover > 0) {
    const what = leftover === 1 ? "1 background process" : `${leftover} background processes`;
    notes.push(`[${what} still ran when the command ended, and had to be ended]`);
  }
  return notes;
}

/** Shows output while it comes, up to a bound: a flood helps nobody. */
function liveOutput(context: ToolContext): (stream: "stdout" | "stderr", chunk: string) => void {
  let left: number = TOOL_LIMITS.shellProgressCharacters;
  return (stream, chunk) => {
    if (left <= 0) return;
    const shown = cutAt(chunk, left);
    left -= chunk.length;
    context.progress({ stream, chunk: shown });
    if (left <= 0) context.progress({ message: "Further output is not shown live" });
  };
}
