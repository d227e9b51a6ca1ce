/** Names of tools: those of code, `mcp:server/tool` of MCP servers, and what the model reads in their place. */

import { sha256 } from "./json.ts";

const OWN = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;
const OF_SERVER = /^mcp:([A-Za-z0-9_.-]{1,64})\/([A-Za-z0-9_./-]{1,128})$/;
/** The longest name that every provider takes. */
const MAX_MODEL_NAME = 64;
const HASH_CHARS = 8;

export function isToolName(name: string): boolean {
  return OWN.test(name) || OF_SERVER.test(name);
}

/** The MCP server in the name of one of its tools; `undefined` for any other name. */
export function serverOf(name: string): string | undefined {
  return OF_SERVER.exec(name)?.[1];
}

/** `server__tool` for a tool of an MCP server, as every provider takes it; any other name is itself. */
export function modelName(name: string): string {
  const [, server, tool] = OF_SERVER.exec(name) ?? [];
  if (server === undefined) return name;
  const plain = `${server}__${tool}`.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const legal = /^[a-zA-Z]/.test(plain) ? plain : `m_${plain}`; // some want a letter first
  if (legal.length <= MAX_MODEL_NAME) return legal;
  return `${legal.slice(0, MAX_MODEL_NAME - HASH_CHARS - 1)}_${sha256(name).slice(0, HASH_CHARS)}`;
}
