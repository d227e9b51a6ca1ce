/** MCP client: tools of MCP servers as tools of an agent. */

export { loginMcp, type LoginOptions, logoutMcp } from "./auth/login.ts";
export { mcpAuth, type McpAuthOptions } from "./auth/oauth-provider.ts";
export { normalizeServers, type NormalizedServers, type NormalizeOptions } from "./config/normalize-servers.ts";
export {
  CONFIG_PROBLEMS,
  type ConfigProblem,
  type McpServerConfig,
  type McpTransport,
  type Refreshed,
  type Refresher,
  type RemoteTool,
  type ToolView,
} from "./config/server-config.ts";
export { hasSameTools } from "./config/server-name.ts";
export type { Sampling } from "./connect/answer-requests.ts";
export type { ServerAuth } from "./connect/open-transport.ts";
export type { ServiceStatus } from "./connect/service.ts";
export { MCP_LIMITS } from "./limits.ts";
export { McpClient, mcpClient, type McpClientOptions, type ServerInfo } from "./mcp-client.ts";
export type { McpEvent, McpListener } from "./mcp-event.ts";
export { type BeforeCall, type McpCall, mcpHookName, type McpHooks } from "./mcp-hooks.ts";
export { mcp, type McpOptions, type McpPlugin } from "./mcp-plugin.ts";
export { inProcessServer, type InProcessServer } from "./serve/in-process.ts";
export type { ApprovedDefinitions } from "./tools/approved-definitions.ts";
