/** Claude models: `POST {baseUrl}/v1/messages` (protocols.md section 1), answered as server-sent events. */

import type { Model, ModelRequest } from "@capstan/core";
import { ANTHROPIC } from "./anthropic/blocks.ts";
import { bodyEncoder, counted } from "./anthropic/body.ts";
import { messageDecoder } from "./anthropic/decode.ts";
import { type AnthropicOptions, anthropicSettings } from "./anthropic/settings.ts";
import type { Env } from "./provider/credentials.ts";
import { protocolError } from "./provider/errors.ts";
import { httpModel } from "./provider/http-model.ts";
import { postJson } from "./provider/http-stream.ts";
import { memberOf, parseJson } from "./provider/json.ts";

export type { AnthropicOptions } from "./anthropic/settings.ts";

/** Without `modelId`: `ANTHROPIC_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. */
export function anthropic(modelId?: string, options: AnthropicOptions = {}): Model {
  return anthropicFrom(process.env, modelId, options);
}

/** As `anthropic`, with the variables of a given environment. */
export function anthropicFrom(env: Env, modelId?: string, options: AnthropicOptions = {}): Model {
  const { body, ...settings } = anthropicSettings(env, modelId, options, "/messages");
  return httpModel({ ...settings, encode: bodyEncoder(body), decoder: messageDecoder });
}

/** The parts of a `ModelRequest` that count; what is left out is empty. */
export type AnthropicTokenRequest = Pick<ModelRequest, "messages"> & Partial<ModelRequest>;

/**
 * Counts the input tokens of a request before it is sent, as the provider will count them; nothing is charged for it.
 * Takes what `anthropic` takes and throws what its models throw.
 */
export function anthropicTokens(
  modelId?: string,
  options: AnthropicOptions = {},
): (request: AnthropicTokenRequest) => Promise<number> {
  const { body, endpoint } = anthropicSettings(process.env, modelId, options, "/messages/count_tokens");
  const encode = bodyEncoder(body, counted);
  return async ({ signal = new AbortController().signal, ...request }) => {
    const whole = { ...NOTHING, ...request, signal };
    const count = memberOf(parseJson(await postJson(endpoint, await encode(whole), signal)), "input_tokens");
    if (typeof count === "number") return count;
    throw protocolError(ANTHROPIC, "sent no count of tokens", { retryable: false });
  };
}

const NOTHING: Omit<ModelRequest, "messages" | "signal"> = {
  system: "",
  tools: [],
  settings: {},
  cache: [],
  sessionId: "",
  blob: (hash) => Promise.reject(new Error(`The request names the blob ${hash} and brings no bytes of it`)),
};
