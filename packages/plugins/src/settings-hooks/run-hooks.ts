/** Runs the commands of one moment, one after the other: each sees what the one before it changed, the first to block is the last. */

import type { Json } from "@capstan/core";
import type { HookEvent } from "./event-names.ts";
import type { HookCommand } from "./parse-settings.ts";
import { readAnswer } from "./read-answer.ts";
import { type CommandEnd, type CommandPlace, runCommand } from "./run-command.ts";
import { type SpokenTool, spokenTool } from "./tool-names.ts";

/** The session in which something happens, as commands are told of it. */
export type Scene = {
  readonly sessionId: string;
  readonly agent: string;
  readonly isChild: boolean;
  readonly cwd: string;
  readonly mode?: string;
};
export type Moment = {
  readonly event: HookEvent;
  readonly scene: Scene;
  readonly call?: { readonly callId: string; readonly tool: string; readonly input: Json };
  /** What matchers are held against where there is no call. */
  readonly subject?: string;
  readonly fields?: { readonly [name: string]: Json };
};
export type HookRun = {
  readonly commands: readonly HookCommand[];
  readonly env: { readonly [name: string]: string };
  /** Performs one command, once as far as anyone can know. */
  perform(id: string, run: (signal: AbortSignal) => Promise<CommandEnd>): Promise<CommandEnd>;
  /** Starts one that nobody waits for. */
  background(run: (signal: AbortSignal) => Promise<CommandEnd>): void;
};
/** What the commands of a moment said together. */
export type Said = {
  readonly block?: string;
  readonly verdict?: "allow" | "ask";
  readonly contexts: readonly string[];
  /** The call's arguments after all changes. */
  readonly input: Json;
  readonly output?: Json;
  readonly says: readonly string[];
};

export async function runHooks(moment: Moment, run: HookRun): Promise<Said> {
  let said: Said = { contexts: [], input: moment.call?.input ?? null, says: [] };
  for (const command of run.commands) {
    const tool = moment.call === undefined ? undefined : spokenTool(command.matcher, moment.call.tool);
    const isMeant =
      moment.call !== undefined ? tool !== undefined : command.matcher?.test(moment.subject ?? "") !== false;
    if (!isMeant) continue;
    const place = placeOf(moment, said.input, tool, run.env);
    const perform = (signal: AbortSignal): Promise<CommandEnd> => runCommand(command, { ...place, signal });
    if (command.async) {
      run.background(perform);
      continue;
    }
    const end = await run.perform(`${moment.event}/${command.id}`, perform);
    const { block, verdict, context, input, output, say } = readAnswer(moment.event, command, end);
    said = {
      contexts: context === undefined ? said.contexts : [...said.contexts, context],
      input: input === undefined ? said.input : (tool?.toOurs(input) ?? input),
      says: say === undefined ? said.says : [...said.says, say],
      ...spread("verdict", said.verdict === "ask" ? "ask" : (verdict ?? said.verdict)),
      ...spread("output", output ?? said.output),
      ...spread("block", block),
    };
    if (block !== undefined) break;
  }
  return said;
}

function spread<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: Value }; // one member, or none
}

const MODES: { readonly [mode: string]: string } = {
  ask: "default",
  "accept-edits": "acceptEdits",
  bypass: "bypassPermissions",
  "never-ask": "dontAsk",
};

function placeOf(
  { event, scene, call, fields }: Moment,
  input: Json,
  tool: SpokenTool | undefined,
  env: HookRun["env"],
): Omit<CommandPlace, "signal"> {
  const { sessionId, agent, isChild, cwd, mode } = scene;
  const told = {
    session_id: sessionId,
    transcript_path: "",
    cwd,
    ...(mode !== undefined && { permission_mode: MODES[mode] ?? mode }),
    agent_type: agent,
    ...(isChild && { agent_id: sessionId }),
    hook_event_name: event,
    ...fields,
    ...(call !== undefined &&
      tool !== undefined && { tool_name: tool.name, tool_input: tool.toTheirs(input), tool_use_id: call.callId }),
  };
  return { cwd, env: { CAPSTAN_PROJECT_DIR: cwd, CLAUDE_PROJECT_DIR: cwd, ...env }, input: JSON.stringify(told) };
}
