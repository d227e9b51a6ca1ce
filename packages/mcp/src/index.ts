/** MCP client: tools of MCP servers as tools of an agent. */

export {};
