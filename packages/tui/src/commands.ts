/** The terminal's own slash commands: their names, and what they take. */

import type { CommandInfo } from "./options.ts";

export const COMMANDS = {
  help: "keys and commands",
  sessions: "the sessions there are: open, rename, fork, delete",
  new: "begin a new session",
  fork: "go on in a copy of this session",
  rename: "give this session another name",
  model: "use another model in this session",
  mode: "how calls are permitted: ask, accept-edits, plan, bypass",
  stats: "tokens, cost, cache and tools of this session, and over days",
  theme: "how this terminal looks",
  queue: "send something for after this run",
  quit: "leave; what runs goes on when the session is opened again",
} as const;
export type CommandName = keyof typeof COMMANDS;

export type Typed =
  | { readonly type: "own"; readonly name: CommandName; readonly argument: string }
  /** A command of the agent's plugins, or plain text. */
  | { readonly type: "send"; readonly text: string }
  | { readonly type: "unknown"; readonly name: string };

export function typed(text: string, others: readonly CommandInfo[]): Typed {
  const [, name, argument = ""] = /^\/([A-Za-z][\w:-]*)(?:\s+([^]*))?$/.exec(text) ?? [];
  if (name === undefined) return { type: "send", text };
  if (Object.hasOwn(COMMANDS, name)) return { type: "own", name: name as CommandName, argument: argument.trim() }; // one of its keys
  if (others.some((other) => other.name === name || other.name.endsWith(`:${name}`))) return { type: "send", text };
  return { type: "unknown", name };
}

export function allCommands(others: readonly CommandInfo[]): readonly CommandInfo[] {
  const own = Object.entries(COMMANDS).map(([name, description]) => ({ name, description }));
  return [...own, ...others.filter(({ name }) => !Object.hasOwn(COMMANDS, name))];
}

const KEYS: readonly (readonly [key: string, does: string])[] = [
  ["enter", "sends; while a run works, it steers it at its next turn"],
  ["shift+enter", "begins a line (also alt+enter, or \\ before enter)"],
  ["esc", "interrupts the run"],
  ["ctrl+c", "clears the editor; twice leaves"],
  ["shift+tab", "the next mode: ask, accept-edits, plan"],
  ["ctrl+o", "unfolds and folds tools and reasoning"],
  ["ctrl+q", "sends for after this run"],
  ["alt+up", "takes back what waits"],
  ["@", "completes a file, / a command, tab both"],
  ["ctrl+z", "suspends; fg comes back"],
  ["ctrl+l", "draws everything anew"],
];

export function helpText(others: readonly CommandInfo[]): string {
  const rows = [...KEYS, ...allCommands(others).map(({ name, description }) => [`/${name}`, description] as const)];
  return rows.map(([name, does]) => `${name.padEnd(13)} ${does}`).join("\n");
}
