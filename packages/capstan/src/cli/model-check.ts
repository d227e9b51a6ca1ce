/** The lines of `capstan doctor` on the models that would be used: their keys, and whether each can be made. */

import { type Agent, CapstanError } from "@capstan/core";
import type { Config } from "../config.ts";
import type { Settings } from "./settings.ts";

type Said = string | { readonly hint: string };

/** Of the configuration's agents, else of the coding agent. A model given in code brings its own. */
export function namedModels(config: Config | undefined, settings: Settings): readonly string[] {
  if (config === undefined) return [settings.model ?? "anthropic"];
  const agents = config.agents as readonly Agent<unknown>[]; // only their outputs differ in type
  return [...new Set(agents.flatMap(({ model }) => (typeof model === "string" ? [model] : [])))];
}

/** Never shows a key. */
export async function keyCheck(name: string, models: readonly string[]): Promise<Said> {
  if (models.length === 0) return "the configuration brings its own models";
  const { usableModels } = await import("@capstan/models");
  const known = await usableModels();
  const said = models.map((model) => {
    const [provider = ""] = model.split("/");
    const { key = "not-needed", keyVariables = [] } = known.find((row) => row.provider === provider) ?? {};
    if (key === "not-needed") return { text: `${provider} needs none`, missing: false };
    const set = keyVariables.find((variable) => (process.env[variable] ?? "").trim() !== "");
    return set === undefined
      ? { text: `${keyVariables.join(" or ")} is not set; set it to use ${model}`, missing: true }
      : { text: `${set} is set`, missing: false };
  });
  const line = [...new Set(said.map(({ text }) => text))].join("; ");
  return said.some(({ missing }) => missing) ? { hint: `${line} ("${name} demo" needs none)` } : line;
}

export async function modelCheck(models: readonly string[]): Promise<Said> {
  const { resolveModel } = await import("../open-runtime.ts");
  const ids: string[] = [];
  const waiting: string[] = [];
  for (const wanted of models) {
    try {
      ids.push((await resolveModel(wanted)).id);
    } catch (error) {
      if (!CapstanError.is(error, "model-key-missing")) throw error;
      waiting.push(wanted);
    }
  }
  if (waiting.length > 0) return { hint: `${waiting.join(", ")}, once its key is set` };
  return ids.length === 0 ? "of the configuration" : ids.join(", ");
}
