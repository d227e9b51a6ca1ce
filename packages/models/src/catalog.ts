/** What can be used here: the models of all known providers, as this environment and this machine have them. */

import { CapstanError, messageOf, type Model, type ModelCapabilities, type Price } from "@capstan/core";
import { isLoopback, servedModels } from "./local-servers.ts";
import { type Env, nonEmpty } from "./provider/credentials.ts";
import { PROVIDERS, resolveModel } from "./resolve-model.ts";

/** One model of a provider: its default, or one that a server on this machine offers. Plain data, without any key. */
export type CatalogModel = {
  readonly provider: string;
  /** As `resolveModel` takes it. Absent when the provider has no default: name one behind its slash. */
  readonly model?: string;
  /** Whether `resolveModel` gives it; for a server of this machine also that it answers. */
  readonly usable: boolean;
  /** Why it is not usable, and what to do. */
  readonly problem?: string;
  readonly key: "found" | "missing" | "not-needed";
  /** Variables of which one holds the key. */
  readonly keyVariables: readonly string[];
  readonly contextTokens?: number;
  readonly price?: Price;
  readonly capabilities: ModelCapabilities;
};
export type CatalogOptions = {
  /** How long servers of this machine (Ollama, vLLM) may take to answer. Default 300. */
  readonly probeMs?: number;
};

/** Presets for servers that may run on this machine. */
const LOCAL = ["ollama", "vllm"] as const;

/**
 * Providers in the order of their names. Nothing is asked of any provider; only servers on the loopback are, which are
 * listed with what they offer when they answer, and else only when their variables are set.
 */
export async function usableModels(
  env: Env = process.env,
  { probeMs = 300 }: CatalogOptions = {},
): Promise<readonly CatalogModel[]> {
  const listed = Object.keys(PROVIDERS).map(async (provider) => {
    const local = LOCAL.find((name) => name === provider);
    return local === undefined ? [await defaultModel(provider, env)] : localModels(local, env, probeMs);
  });
  return (await Promise.all(listed)).flat();
}

async function defaultModel(provider: string, env: Env): Promise<CatalogModel> {
  const keyVariables = PROVIDERS[provider]?.keys ?? [];
  const has = keyVariables.some((name) => nonEmpty(env[name]) !== undefined);
  const key = keyVariables.length === 0 ? "not-needed" : has ? "found" : "missing";
  const [variable] = keyVariables;
  // a key that is missing does not hide what its model could do
  const filled = key === "missing" && variable !== undefined ? { ...env, [variable]: "missing" } : env;
  const made = await attempt(provider, filled);
  const problem = key === "missing" ? `Set ${keyVariables.join(" or ")}.` : made.problem;
  return row({ provider, keyVariables, key, usable: problem === undefined }, made.model, problem);
}

async function localModels(
  provider: (typeof LOCAL)[number],
  env: Env,
  probeMs: number,
): Promise<readonly CatalogModel[]> {
  const { PRESETS } = await import("./openai-chat/presets.ts");
  const { baseUrl: own, variables } = PRESETS[provider];
  const named = nonEmpty(env[variables.model]);
  const given = nonEmpty(env[variables.baseUrl]);
  const baseUrl = given ?? own;
  const key = variables.key === undefined ? undefined : nonEmpty(env[variables.key]);
  const served = await servedModels(baseUrl, { key, deadlineMs: probeMs });
  const base = { provider, keyVariables: [], key: "not-needed" } as const;
  if (served !== undefined) {
    const made = await Promise.all(served.map((id) => attempt(`${provider}/${id}`, env)));
    return Promise.all(
      made.map(({ model, problem }) => row({ ...base, usable: problem === undefined }, model, problem)),
    );
  }
  if (named === undefined && given === undefined) return [];
  const { model, problem } = await attempt(provider, env);
  const silent = isLoopback(baseUrl) ? `No server answers at ${baseUrl}. Start it.` : undefined;
  return [await row({ ...base, usable: (problem ?? silent) === undefined }, model, problem ?? silent)];
}

type Attempt = { readonly model?: Model; readonly problem?: string };

async function attempt(name: string, env: Env): Promise<Attempt> {
  try {
    return { model: await resolveModel(name, env) };
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    return { problem: messageOf(error) };
  }
}

async function row(
  base: Omit<CatalogModel, "model" | "capabilities">,
  model: Model | undefined,
  problem: string | undefined,
): Promise<CatalogModel> {
  const said = problem === undefined ? {} : { problem };
  if (model === undefined) return { ...base, ...said, capabilities: {} };
  const { id, capabilities } = model;
  const price = await model.price?.();
  return {
    ...base,
    model: id,
    ...said,
    ...(capabilities.contextTokens !== undefined && { contextTokens: capabilities.contextTokens }),
    ...(price !== undefined && { price }),
    capabilities,
  };
}
