/** What a command's end means: exit code 0 with an answer in JSON or text, 2 to block, anything else a failure. */

import { type Json, messageOf } from "@capstan/core";
import type { HookEvent } from "./event-names.ts";
import type { HookCommand } from "./parse-settings.ts";
import type { CommandEnd } from "./run-command.ts";

export type HookAnswer = {
  /** Why what is about to happen must not; after the fact: what the model is told. */
  readonly block?: string;
  readonly verdict?: "allow" | "ask";
  /** For the model to read. */
  readonly context?: string;
  /** In place of the call's arguments. */
  readonly input?: Json;
  /** In place of the call's result. */
  readonly output?: Json;
  /** For people. */
  readonly say?: string;
};

/** Moments at which a command is a guard: one that cannot speak blocks. */
const GUARDS: readonly HookEvent[] = ["PreToolUse", "UserPromptSubmit"];
/** Moments at which plain text on standard output is for the model. */
const LISTENED: readonly HookEvent[] = ["UserPromptSubmit", "SessionStart", "SubagentStart"];
/** Moments at which to block is to go on. */
const ENDS: readonly HookEvent[] = ["Stop", "SubagentStop"];
/** Exit codes of a shell that could not run the command at all. */
const NOT_RUN: readonly number[] = [126, 127];
const MAX_SHOWN = 2_000;
/** A program that the command runs may speak first: the decision of a guard must not be lost in what it says. */
const DECISION_BEHIND_TEXT = /^[^{\s][^]*"(?:permissionDecision|decision|continue)"\s*:/;

/** Pure: the same end always means the same. */
export function readAnswer(event: HookEvent, command: HookCommand, end: CommandEnd): HookAnswer {
  const name = JSON.stringify(command.command.slice(0, 80).toWellFormed());
  const fail = (problem: string, isBroken: boolean): HookAnswer => {
    const said = `The ${event} hook ${name} failed: ${problem}`;
    const policy = command.onFailure ?? (isBroken && GUARDS.includes(event) ? "block" : "continue");
    return policy === "block" ? { block: said } : { say: said };
  };
  if (end.type === "failed") return fail(end.problem, true);
  const { exitCode, stdout, stderr } = end;
  const told = shown(stderr) || shown(stdout);
  if (exitCode === 2) return { block: told || `Blocked by the ${event} hook ${name}` };
  if (exitCode !== 0) return fail(`exit code ${exitCode}${told === "" ? "" : `, ${told}`}`, NOT_RUN.includes(exitCode));
  const text = stdout.trim();
  if (GUARDS.includes(event) && DECISION_BEHIND_TEXT.test(text))
    return fail("its answer cannot be read: other text comes before the JSON", true);
  if (!text.startsWith("{")) return text !== "" && LISTENED.includes(event) ? { context: text } : {};
  try {
    return answerOf(event, membersOf(JSON.parse(text)) ?? {});
  } catch (error) {
    return fail(`its answer cannot be read: ${messageOf(error)}`, true);
  }
}

type Members = { readonly [name: string]: unknown };

/** Members stand in `hookSpecificOutput`, and the older ones beside it. Throws for a decision that is none. */
function answerOf(event: HookEvent, answer: Members): HookAnswer {
  const specific = { ...answer, ...membersOf(answer["hookSpecificOutput"]) };
  const decided = event === "PermissionRequest" ? membersOf(specific["decision"]) : undefined;
  const word = decided?.["behavior"] ?? specific["permissionDecision"] ?? specific["decision"];
  const verdict = VERDICTS.get(word);
  if (verdict === undefined && word !== undefined) throw new Error(`${JSON.stringify(word)} is no decision`);
  const reason =
    textIn(decided?.["message"]) ?? textIn(specific["permissionDecisionReason"]) ?? textIn(specific["reason"]);
  const { continue: goesOn = true } = answer;
  if (typeof goesOn !== "boolean") throw new Error(`"continue" is ${JSON.stringify(goesOn)}, not true or false`);
  const stopped = !goesOn;
  if (stopped && ENDS.includes(event)) return {}; // it may end, whatever else is said
  const block = stopped ? (textIn(answer["stopReason"]) ?? reason) : reason;
  const say = textIn(answer["systemMessage"]);
  const context = textIn(specific["additionalContext"]);
  const input = decided?.["updatedInput"] ?? specific["updatedInput"];
  const output = specific["updatedToolOutput"];
  return {
    ...((stopped || verdict === "deny") && { block: block ?? `Blocked by a ${event} hook` }),
    ...((verdict === "allow" || verdict === "ask") && { verdict }),
    ...(context !== undefined && { context }),
    ...(input !== undefined && { input: input as Json }), // parsed JSON
    ...(output !== undefined && { output: output as Json }),
    ...(say !== undefined && answer["suppressOutput"] !== true && { say }),
  };
}

/** `defer` leaves the call to somebody else: here that is a person. */
const VERDICTS: ReadonlyMap<unknown, "allow" | "ask" | "deny"> = new Map([
  ["allow", "allow"],
  ["approve", "allow"],
  ["ask", "ask"],
  ["defer", "ask"],
  ["deny", "deny"],
  ["block", "deny"],
]);

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function shown(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= MAX_SHOWN ? trimmed : `${trimmed.slice(0, MAX_SHOWN).toWellFormed()} [...]`;
}

function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined; // any object has members
}
