/** A model by name, as settings and command lines give it. Loads only the provider that is named. */

import { CapstanError, type Model } from "@capstan/core";

type Env = Readonly<Record<string, string | undefined>>;
type Provider = (modelId: string | undefined, env: Env) => Promise<Model>;

const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: async (modelId, env) => (await import("./anthropic.ts")).anthropicFrom(env, modelId),
  demo: async (modelId) => (await import("./demo.ts")).demo(modelId),
};

/**
 * `provider/model`, or `provider` for its default model. Throws `model-unknown` for a provider that is not known and
 * `model-key-missing` when the environment holds no key for it.
 */
export async function resolveModel(name: string, env: Env = process.env): Promise<Model> {
  const slash = name.indexOf("/");
  const provider = slash === -1 ? name : name.slice(0, slash);
  const modelId = slash === -1 ? "" : name.slice(slash + 1);
  if (!Object.hasOwn(PROVIDERS, provider)) {
    const known = Object.keys(PROVIDERS).join(", ");
    const message = `There is no model provider "${provider}". Name one of: ${known}, as provider/model.`;
    throw new CapstanError("model-unknown", message);
  }
  const load = PROVIDERS[provider] as Provider; // hasOwn has seen it
  return load(modelId === "" ? undefined : modelId, env);
}
