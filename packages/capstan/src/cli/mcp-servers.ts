/** Which MCP servers a command works with: the user's own in `mcp.json`, and those of a trusted folder's `.mcp.json` (G19). */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CapstanError, messageOf, type Plugin } from "@capstan/core";
import type { ConfigProblem, McpServerConfig } from "@capstan/mcp";
import { type Env, homeFolders } from "../home-folders.ts";
import type { Trust } from "../trust.ts";
import type { Note } from "./definitions.ts";
import { inertLine } from "./inert.ts";
import { approvedDefinitions } from "./mcp-approved.ts";

/** Of a folder; the same file that other programs read. */
export const MCP_FILE = ".mcp.json";

export type FoundServer = { readonly server: McpServerConfig; readonly from: "user" | "project" };
export type FoundServers = { readonly servers: readonly FoundServer[]; readonly notes: readonly Note[] };

/** Written by `capstan mcp add`. */
export function mcpFile(env: Env): string {
  return join(homeFolders(env).settings, "mcp.json");
}

/** Where sign-ins are kept. */
export function signInFolder(env: Env, dataFolder: string = homeFolders(env).data): string {
  return join(dataFolder, "mcp");
}

/** A server of the user comes before one of the folder with its name. Throws `config-invalid` for a file of the user that is no JSON. */
export async function foundServers(trust: Trust | undefined, env: Env = process.env): Promise<FoundServers> {
  const user = await readUserFile(env);
  const bytes = await trust?.read(MCP_FILE);
  if (user === undefined && bytes === undefined) return { servers: [], notes: [] };
  const { hasSameTools, normalizeServers } = await import("@capstan/mcp");
  const variables = (name: string): string | undefined => env[name];
  const own = normalizeServers(user, { variables });
  const notes: Note[] = [...problemNotes(mcpFile(env), own.problems)];
  const servers: FoundServer[] = own.servers.map((server) => ({ server, from: "user" }));
  if (trust === undefined || bytes === undefined) return { servers, notes };
  const file = join(trust.folder, MCP_FILE);
  const project = normalizeServers(jsonOrNothing(bytes), { variables, folder: trust.folder });
  notes.push(...problemNotes(file, project.problems));
  for (const server of project.servers) {
    const same = servers.find((other) => hasSameTools(other.server.name, server.name));
    if (same === undefined) servers.push({ server, from: "project" });
    else {
      const line = `${file}: the server ${server.name} is not used: you have one of that name`;
      const like =
        same.server.name === server.name ? "" : `, or so alike that nobody could tell them apart: ${same.server.name}`;
      notes.push({ line: inertLine(`${line}${like}`), verbose: like === "" });
    }
  }
  return { servers, notes };
}

/** The plugin with all that are found, and what is to be said of them. No plugin when there is none. */
export async function mcpPlugins(
  trust: Trust | undefined,
  dataFolder: string | undefined,
  env: Env = process.env,
): Promise<{ readonly plugins: readonly Plugin[]; readonly notes: readonly Note[] }> {
  const { servers, notes } = await foundServers(trust, env);
  const enabled = servers.map(({ server }) => server).filter((server) => server.enabled);
  if (enabled.length === 0) return { plugins: [], notes };
  const { mcp, mcpAuth } = await import("@capstan/mcp");
  const plugin = mcp({
    servers: enabled,
    auth: mcpAuth({ folder: signInFolder(env, dataFolder) }),
    approved: approvedDefinitions(dataFolder ?? homeFolders(env).data),
    reading: { resources: true },
  });
  const names = enabled.map(({ name }) => name).join(", ");
  return { plugins: [plugin], notes: [...notes, { line: `MCP servers: ${names}`, verbose: true }] };
}

async function readUserFile(env: Env): Promise<unknown> {
  const path = mcpFile(env);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw new CapstanError("config-invalid", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CapstanError("config-invalid", `${path}: not JSON: ${messageOf(cause)}; correct it or move it away`, {
      cause,
    });
  }
}

/** A text that is no JSON is a configuration that nobody can read, which is said as one. */
function jsonOrNothing(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return "not JSON";
  }
}

function problemNotes(file: string, problems: readonly ConfigProblem[]): readonly Note[] {
  return problems.map(({ server, message, fatal }) => {
    const what = server === undefined ? "" : ` server ${server}:`;
    return { line: inertLine(`${file}:${what} ${message}`), verbose: !fatal };
  });
}
