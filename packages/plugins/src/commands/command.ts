/** A slash command: a text with places for its arguments, or a function of code. */

import type { SessionState } from "@capstan/core";

/** In the order of precedence; what is built in comes before all of them. */
export const COMMAND_SOURCES = ["project", "user", "inline"] as const;
export type CommandSource = (typeof COMMAND_SOURCES)[number];

export type CommandCall = {
  /** All that stands behind the name on its line. */
  readonly text: string;
  /** Its words; quotes keep several together. */
  readonly words: readonly string[];
  readonly sessionId: string;
  readonly state: SessionState;
  readonly signal: AbortSignal;
};
/** `prompt` stands in place of the command; `answer` ends the run without a model. Both texts. */
export type CommandResult = { readonly prompt: string } | { readonly answer: string };

export type Command = {
  /** Letters, digits, `_` and `-`; folders of a file stand before it with `:` between. */
  readonly name: string;
  readonly description: string;
  /** What may stand behind the name, for people. */
  readonly hint?: string;
  readonly source: CommandSource;
  readonly action:
    | { readonly type: "template"; readonly text: string }
    | { readonly type: "run"; readonly run: (call: CommandCall) => Promise<CommandResult> | CommandResult };
};
/** A command of code: either `template`, as a file would hold it, or `run`. */
export type InlineCommand = { readonly name: string; readonly description?: string; readonly hint?: string } & (
  | { readonly template: string }
  | { readonly run: (call: CommandCall) => Promise<CommandResult> | CommandResult }
);

export type CommandDiagnostic = {
  readonly code:
    | "field-unknown"
    | "front-matter-invalid"
    | "name-invalid"
    | "name-reserved"
    | "name-shadowed"
    | "project-untrusted"
    | "shell-not-run"
    | "unreadable";
  /** Name or path of the command. */
  readonly command: string;
  readonly message: string;
};

export const COMMAND_NAME: RegExp = /^[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)*$/;
/** Answered by the plugin itself. */
export const BUILT_IN: ReadonlySet<string> = new Set(["help", "reset", "session"]);
