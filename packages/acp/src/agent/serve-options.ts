/** What the ACP agent is opened with. */

import type { Readable, Writable } from "node:stream";
import type { McpServer } from "@agentclientprotocol/sdk";
import type { Actor, Agent, Runtime } from "@capstan/core";
import type { AcpCommand } from "@capstan/wire/acp";
import type { ModelChoice } from "./session-config.ts";

export type ServeAcpOptions = {
  /** Stays open when the door closes. */
  readonly runtime: Runtime;
  /** Whose sessions are begun and listed here. */
  readonly agent: Agent<unknown> | string;
  /** Default: the standard streams of this process. Both end with the door. */
  readonly input?: Readable;
  readonly output?: Writable;
  /** Stamped on what comes in by this door; it sees the sessions of its tenant only. Default: as the runtime was given. */
  readonly actor?: Actor;
  /** What the editor may choose; the agent's own model is always among them. */
  readonly models?: readonly ModelChoice[];
  /** Slash commands of the agent; they come as text of a prompt. */
  readonly commands?: readonly AcpCommand[];
  /** Connects the MCP servers that the editor names. Without it they are not connected, and the log says so. */
  readonly mcpServers?: McpHook;
  /** One line for people. Default: standard error. */
  readonly log?: (line: string) => void;
};
/** `servers` as the editor gave them, checked for their shape only. What it returns ends with the session, or with the connection. */
export type McpHook = (
  servers: readonly McpServer[],
  session: { readonly id: string; readonly cwd: string },
) => Promise<AsyncDisposable | void>;
