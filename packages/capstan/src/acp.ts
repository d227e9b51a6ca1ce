/** capstan/acp: editors drive agents over the Agent Client Protocol, and agents of others work for yours. */

export { acpAgent, acpClient, serveAcp } from "@capstan/acp";
export type {
  AcpAgentOptions,
  AcpClient,
  AcpClientOptions,
  AcpDoor,
  AcpEvent,
  AgentProgram,
  ApproveRule,
  AutoApprove,
  ChunkCallback,
  Environment,
  EnvironmentUpdate,
  ExternalAgent,
  McpHook,
  ModelChoice,
  PermissionAsk,
  PermissionRecord,
  PromptEnd,
  ServeAcpOptions,
  UiChunk,
  UiMessage,
  UiPart,
} from "@capstan/acp";
