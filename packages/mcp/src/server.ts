/** MCP server: agents and tools for MCP clients. */

export { listenMcp, type ListeningMcp, type ListenOptions } from "./serve/listen.ts";
export {
  mcpHandler,
  type McpHandler,
  type McpHandlerOptions,
  type McpStdio,
  type McpStdioOptions,
  serveMcp,
  type ServeMcpOptions,
} from "./serve/serve-mcp.ts";
