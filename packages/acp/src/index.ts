/** @capstan/acp: Capstan as an ACP agent, and other ACP agents for Capstan. */

export { serveAcp, type AcpDoor, type ServeAcpOptions } from "./agent/serve-acp.ts";
export type { McpHook } from "./agent/open-sessions.ts";
export type { ModelChoice } from "./agent/session-config.ts";
export { acpAgent, type AcpAgentOptions } from "./client/acp-agent.ts";
export { acpClient, type AcpClient, type AcpClientOptions } from "./client/acp-client.ts";
export type { AcpEvent } from "./client/acp-events.ts";
export type { AgentProgram } from "./client/agent-process.ts";
export type { Environment } from "./client/agent-env.ts";
export type { ApproveRule, AutoApprove, PermissionAsk, PermissionRecord } from "./client/auto-approve.ts";
export type { ChunkCallback, EnvironmentUpdate, ExternalAgent, PromptEnd } from "./client/external-agent.ts";
export type { UiChunk, UiMessage, UiPart } from "@capstan/wire/acp";
