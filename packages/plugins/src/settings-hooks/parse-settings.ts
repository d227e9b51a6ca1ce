/** Reads the `hooks` of a settings file: `{ hooks: { Event: [{ matcher?, hooks: [{ type: "command", command }] }] } }`. */

import { CapstanError, messageOf, sha256 } from "@capstan/core";
import { type HookEvent, toHookEvent } from "./event-names.ts";

export type HookCommand = {
  /** Of its place and text: names the step that runs it. */
  readonly id: string;
  readonly command: string;
  /** With arguments the command is a program and no shell runs it. */
  readonly args?: readonly string[];
  readonly matcher?: RegExp;
  readonly timeoutMs: number;
  /** What its failure does; without it a guard blocks and anything else goes on. */
  readonly onFailure?: "continue" | "block";
  /** Started and left alone: what it says is not heard. */
  readonly async: boolean;
};
export type HookSettings = {
  readonly commands: ReadonlyMap<HookEvent, readonly HookCommand[]>;
  /** Names of moments in the file that never come here. */
  readonly ignored: readonly string[];
};

const DEFAULT_TIMEOUT_SECONDS = 60;
const MAX_TIMEOUT_SECONDS = 600;
/** Members that change when or how a command runs and are not kept: to pass over them would be to run it wrongly. */
const UNSUPPORTED = ["if", "once", "asyncRewake"];

/** Throws `plugin-invalid` that names the place for whatever it cannot keep: a guard must not be lost in silence. */
export function parseHookSettings(settings: unknown): HookSettings {
  const commands = new Map<HookEvent, HookCommand[]>();
  const ignored: string[] = [];
  const file = membersOf(settings, "the settings");
  if (file["disableAllHooks"] === true || file["hooks"] === undefined) return { commands, ignored };
  for (const [name, groups] of Object.entries(membersOf(file["hooks"], "hooks"))) {
    const event = toHookEvent(name);
    if (event === undefined) throw invalid(`hooks.${name}`, "is no moment that is known");
    const parsed = itemsOf(groups, `hooks.${name}`).flatMap((group, index) => parseGroup(group, `${name}/${index}`));
    if (event === "none") ignored.push(name);
    else commands.set(event, [...(commands.get(event) ?? []), ...parsed]);
  }
  return { commands, ignored };
}

function parseGroup(value: unknown, id: string): HookCommand[] {
  const where = `hooks.${id}`;
  const group = membersOf(value, where);
  const matcher = parseMatcher(group["matcher"], where);
  return itemsOf(group["hooks"], `${where}.hooks`).map((hook, index) => {
    const parsed = parseCommand(membersOf(hook, `${where}/${index}`), `${where}/${index}`);
    const mark = sha256(JSON.stringify([parsed.command, parsed.args ?? []])).slice(0, 8);
    return { ...parsed, id: `${id}/${index}/${mark}`, ...(matcher !== undefined && { matcher }) };
  });
}

/** A regular expression for the whole name; nothing, `""` and `"*"` mean every one. */
function parseMatcher(value: unknown, where: string): RegExp | undefined {
  if (value === undefined || value === "" || value === "*") return undefined;
  if (typeof value !== "string") throw invalid(`${where}.matcher`, "must be text");
  try {
    return new RegExp(`^(?:${value})$`, "u");
  } catch (error) {
    throw invalid(`${where}.matcher`, `is no regular expression: ${messageOf(error)}`);
  }
}

function parseCommand(hook: Members, where: string): Omit<HookCommand, "id" | "matcher"> {
  const { type, command, args, timeout = DEFAULT_TIMEOUT_SECONDS, onFailure, async = false, shell = "bash" } = hook;
  if (type !== "command") throw invalid(`${where}.type`, `must be "command"; ${JSON.stringify(type)} is not supported`);
  if (typeof command !== "string" || command.trim() === "") throw invalid(`${where}.command`, "must be text");
  if (args !== undefined && !(Array.isArray(args) && args.every((item) => typeof item === "string")))
    throw invalid(`${where}.args`, "must be a list of texts");
  if (typeof timeout !== "number" || !(timeout > 0) || timeout > MAX_TIMEOUT_SECONDS)
    throw invalid(`${where}.timeout`, `must be seconds, at most ${MAX_TIMEOUT_SECONDS}`);
  if (onFailure !== undefined && onFailure !== "continue" && onFailure !== "block")
    throw invalid(`${where}.onFailure`, 'must be "continue" or "block"');
  if (typeof async !== "boolean") throw invalid(`${where}.async`, "must be true or false");
  if (shell !== "bash") throw invalid(`${where}.shell`, 'must be "bash"');
  const unsupported = UNSUPPORTED.find((name) => hook[name] !== undefined && hook[name] !== false);
  if (unsupported !== undefined) throw invalid(`${where}.${unsupported}`, "is not supported");
  return {
    command,
    timeoutMs: Math.ceil(timeout * 1_000),
    async,
    ...(args !== undefined && { args: [...(args as readonly string[])] }), // looked at above
    ...(onFailure !== undefined && { onFailure }),
  };
}

type Members = { readonly [name: string]: unknown };

function membersOf(value: unknown, where: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(where, "must be an object");
  return value as Members; // any object has members
}

function itemsOf(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(where, "must be a list");
  return value;
}

function invalid(where: string, problem: string): CapstanError {
  return new CapstanError("plugin-invalid", `Hooks of the settings: ${where} ${problem}`);
}
