/** `--config`: a module whose default export is `config({ ... })`, or a JSON file of agents. Naming it is the decision to trust it. */

import { spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { extname, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { agent, CapstanError, messageOf } from "@capstan/core";
import { z } from "zod";
import type { Config } from "../config.ts";
import { readJsonFile } from "./json-file.ts";
import { permissionSchema } from "./settings.ts";

/** Throws `config-invalid` with the file and, as far as it can be known, the line. */
export async function loadConfig(path: string): Promise<Config> {
  const file = resolve(path);
  if (extname(file) === ".json") return fromJson(file);
  await requireFile(file);
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
  } catch (cause) {
    throw new CapstanError("config-invalid", `${placeOf(cause, file)}: ${firstLine(messageOf(cause))}`, { cause });
  }
  const found = module.default;
  if (isConfig(found)) return found;
  throw new CapstanError("config-invalid", `${file}: it needs "export default config({ agents: [...] })"`);
}

const jsonSchema = z.strictObject({
  agents: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        description: z.string().exactOptional(),
        model: z.string().min(1),
        instructions: z.string().min(1),
        /** Names of the coding tools; default all of them. */
        tools: z.array(z.string()).exactOptional(),
        permission: permissionSchema.exactOptional(),
        limits: z
          .strictObject({ turns: z.int().min(1).exactOptional(), usd: z.number().positive().exactOptional() })
          .exactOptional(),
      }),
    )
    .min(1),
  dataFolder: z.string().min(1).exactOptional(),
  permission: permissionSchema.exactOptional(),
});

async function fromJson(file: string): Promise<Config> {
  const found = await readJsonFile(file, jsonSchema);
  if (found === undefined) throw missing(file);
  const { codingTools } = await import("@capstan/tools");
  const all = codingTools();
  const agents = found.agents.map(({ tools, ...definition }, at) => {
    const names = all.map(({ name }) => name);
    const unknown = tools?.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const message = `${file}: agents.${at}.tools: there is no tool ${JSON.stringify(unknown)}; there are ${names.join(", ")}`;
      throw new CapstanError("config-invalid", message);
    }
    return agent({ ...definition, tools: tools === undefined ? all : all.filter(({ name }) => tools.includes(name)) });
  });
  const { dataFolder, permission } = found;
  return { agents, ...(dataFolder !== undefined && { dataFolder }), ...(permission !== undefined && { permission }) };
}

function isConfig(value: unknown): value is Config {
  if (typeof value !== "object" || value === null || !("agents" in value) || !Array.isArray(value.agents)) return false;
  return (
    value.agents.length > 0 &&
    value.agents.every((item: unknown) => typeof item === "object" && item !== null && "name" in item && "hash" in item)
  );
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) throw missing(file);
}

function missing(file: string): CapstanError {
  return new CapstanError("config-invalid", `There is no file ${file}; name the configuration file with --config`);
}

/** The file and line that an error of loading names. A syntax error of plain JavaScript says its line only to `--check`. */
function placeOf(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const checked =
    error instanceof SyntaxError ? spawnSync(process.execPath, ["--check", file], { encoding: "utf8" }).stderr : "";
  for (const said of [stack, checked]) {
    const head = /^(file:\/\/\S+|\/\S+):(\d+)\n/.exec(said);
    if (head?.[1] !== undefined) return `${shownFile(head[1])}:${head[2]}`;
  }
  const url = pathToFileURL(file).href;
  const frame = stack.split("\n").find((line) => line.includes(url) || line.includes(file));
  const place = frame === undefined ? null : /:(\d+):\d+\)?$/.exec(frame);
  return place === null ? shownFile(file) : `${shownFile(file)}:${place[1]}`;
}

function shownFile(name: string): string {
  const path = name.startsWith("file:") ? fileURLToPath(name) : name;
  const near = relative(process.cwd(), path);
  return near.startsWith("..") ? path : near;
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? text;
}
