/** Tools from the modules of a folder: what a module exports by default is a tool, or a list of them. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, type Tool } from "@capstan/core";
import { type DefinitionFolder, diskFolder } from "../definition-folder.ts";
import { plainLine } from "../plain-line.ts";

export type ToolDiagnostic = { readonly file: string; readonly message: string };
export type LoadedTools = { readonly tools: readonly Tool[]; readonly diagnostics: readonly ToolDiagnostic[] };

const MODULE = /^[^/]+\.(?:m?[jt]s)$/;
const SKIPPED = /\.(?:test|spec|d)\.m?[jt]s$/;
const MAX_BYTES = 4_194_304;
const MAX_MODULES = 200;
/** A module that never ends to load does not keep the others. */
const LOAD_MS = 10_000;

/**
 * Runs the code of every module directly in the folder, by name: give only a folder whose author is trusted. A module that
 * fails, or exports no tool, is told; of two tools of one name the first is used.
 */
export async function loadTools(folder: string | DefinitionFolder): Promise<LoadedTools> {
  const place = typeof folder === "string" ? diskFolder(folder) : folder;
  const names = (await place.list()).filter((name) => MODULE.test(name) && !SKIPPED.test(name)).slice(0, MAX_MODULES);
  const tools = new Map<string, Tool>();
  const diagnostics: ToolDiagnostic[] = [];
  for (const file of names) {
    const say = (message: string): void => void diagnostics.push({ file, message });
    try {
      for (const tool of await toolsOf(place, file)) {
        if (tools.has(tool.name)) say(`another file has a tool ${tool.name} already`);
        else tools.set(tool.name, tool);
      }
    } catch (error) {
      say(plainLine(messageOf(error), 500));
    }
  }
  return { tools: [...tools.values()], diagnostics };
}

async function toolsOf(folder: DefinitionFolder, file: string): Promise<readonly Tool[]> {
  // only what may be read is run: it lies in the folder, and is what was trusted
  if ((await folder.read(file, MAX_BYTES)) === undefined)
    throw new Error("it is no file of this folder, or may not be read");
  const found = await loaded(pathToFileURL(join(folder.path, file)).href);
  const given = Array.isArray(found) ? (found as readonly unknown[]) : [found];
  const tools = given.filter(isTool);
  if (tools.length === 0 || tools.length < given.length)
    throw new Error('it needs "export default tool({ ... })", or a list of tools');
  return tools;
}

async function loaded(url: string): Promise<unknown> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it took longer than ${LOAD_MS} ms to load`)), LOAD_MS);
  try {
    const module = (await Promise.race([import(url), late.promise])) as { readonly default?: unknown };
    return module.default;
  } finally {
    clearTimeout(timer);
  }
}

/** What `tool()` and `flowTool()` make, also those of another copy of the library. */
function isTool(value: unknown): value is Tool {
  if (typeof value !== "object" || value === null) return false;
  const { name, description, inputSchema, schema, hash, body } = value as Partial<Record<keyof Tool, unknown>>;
  return (
    [name, description, hash].every((member) => typeof member === "string") &&
    [inputSchema, schema, body].every((member) => typeof member === "object" && member !== null)
  );
}
