/** What the terminal is opened with. */

import type { Clock, PermissionMode, Runtime, SessionSummary } from "@capstan/core";
import type { Theme } from "./themes.ts";
import type { ColorDepth } from "./view/style.ts";

export type TerminalOptions = {
  /** Also a remote one. Stays open when the terminal ends. Its actor is whose the inputs and answers are. */
  readonly runtime: Runtime;
  /** Whose the new sessions are. */
  readonly agent: string;
  /** Opened at once; without one a session begins with the first input. */
  readonly sessionId?: string | undefined;
  /** Of new sessions, and where `@` finds files. */
  readonly folder?: string | undefined;
  /** Of new sessions. */
  readonly mode?: PermissionMode | undefined;
  /** What the agent's model is called, until the first turn tells. */
  readonly model?: string | undefined;
  /** Slash commands that the agent's plugins take up. */
  readonly commands?: readonly CommandInfo[];
  /** Shown above the first input. */
  readonly notes?: readonly string[];
  readonly look: Look;
  readonly host?: TerminalHost;
};
export type CommandInfo = { readonly name: string; readonly description: string };
export type Look = {
  readonly depth: ColorDepth;
  readonly isUnicode: boolean;
  readonly theme?: string | undefined;
  readonly themes?: readonly Theme[];
};
/** What only the program around the terminal can do. */
export type TerminalHost = {
  /** What a new session is called, of its first input. Default its first line. */
  readonly title?: (input: string) => string;
  readonly models?: () => Promise<readonly CommandInfo[]>;
  /** Rejects with what is wrong with a model. */
  readonly checkModel?: (name: string) => Promise<unknown>;
  /** False for a session that needs another runtime: the terminal then ends with its id. Default: all can be opened. */
  readonly canOpen?: (session: SessionSummary) => boolean;
  /** Keeps the theme that was chosen. */
  readonly keepTheme?: (name: string) => Promise<void>;
  /** The agent takes `<attachment>path</attachment>` for a file: `@path` then says so. */
  readonly attaches?: boolean;
  readonly clock?: Clock;
};

/** `leave` with 130 after two Ctrl-C, else 0. A run that is not finished goes on when its session is opened again. */
export type TerminalEnd =
  | {
      readonly type: "leave";
      readonly code: 0 | 130;
      readonly sessionId: string | undefined;
      readonly isRunning: boolean;
    }
  /** `from`: the session that was shown. */
  | { readonly type: "open"; readonly sessionId: string; readonly from: string | undefined };
