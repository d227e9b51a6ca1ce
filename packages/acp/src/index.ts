/** @capstan/acp: Capstan as an ACP agent, and other ACP agents for Capstan. */

export { serveAcp, type AcpDoor } from "./agent/serve-acp.ts";
export type { McpHook, ServeAcpOptions } from "./agent/serve-options.ts";
export type { ModelChoice } from "./agent/session-config.ts";
export { acpAgent } from "./client/acp-agent.ts";
export type { AcpAgentOptions } from "./client/agent-work.ts";
export { acpClient, type AcpClient, type AcpClientOptions } from "./client/acp-client.ts";
export type { AcpEvent } from "./client/acp-events.ts";
export type { AgentProgram } from "./client/agent-process.ts";
export type { Environment } from "./client/agent-env.ts";
export type { ApproveRule, AutoApprove, PermissionAsk, PermissionRecord } from "./client/auto-approve.ts";
export type { ChunkCallback, EnvironmentUpdate, ExternalAgent, PromptEnd } from "./client/external-agent.ts";
export type { UiChunk, UiMessage, UiPart } from "@capstan/wire/acp";
