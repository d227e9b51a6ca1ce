/** MCP server: agents and tools for MCP clients. */

export {};
