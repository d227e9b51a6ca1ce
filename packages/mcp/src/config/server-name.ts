/** Names: of servers as people write them, and of tools as rules know them. */

import { MCP_LIMITS } from "../limits.ts";

/** The name that a server of this written name has here; undefined when nothing is left of it. */
export function legalName(given: string): string | undefined {
  const plain = given
    .trim()
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "-")
    .replaceAll(/_{2,}/g, "_") // two of them part server and tool in a model's name for it
    .replaceAll(/^[-_.]+|[-_.]+$/g, "");
  if (!/[A-Za-z0-9]/.test(plain)) return undefined;
  const named = /^[A-Za-z]/.test(plain) ? plain : `mcp-${plain}`;
  return named.slice(0, MCP_LIMITS.serverName).replaceAll(/[-_.]+$/g, "");
}

/** Two servers of one stem would have tools of one name. */
export function stem(server: string): string {
  return server.toLowerCase().replaceAll(".", "_");
}

/** Whether two servers of these names could not both be used: nobody could tell their tools apart. */
export function hasSameTools(one: string, other: string): boolean {
  return stem(one) === stem(other);
}

/** Name for rules, logs and people. */
export function canonicalName(server: string, tool: string): string {
  return `mcp:${server}/${tool}`;
}

/** Whether a tool's name can stand in rules and logs; the specification asks for these characters, and at most 128. */
export function isToolName(name: string): boolean {
  return /^[A-Za-z0-9_./-]{1,128}$/.test(name);
}
