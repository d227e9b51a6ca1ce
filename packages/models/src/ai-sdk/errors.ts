/** What AI SDK providers throw, as typed errors. Known by name and members, not by class: several versions may be installed. */

import { CapstanError, type ErrorCode } from "@capstan/core";
import { OTHER_MODEL, type ProviderName, protocolError, refusedError, shown } from "../provider/errors.ts";

type Foreign = {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly retryable: boolean | undefined;
};

/** Errors that carry no status, by the end of their name. */
const NAMED: readonly (readonly [RegExp, ErrorCode, string])[] = [
  [/LoadAPIKeyError$/, "model-key-missing", "Pass the key to the AI SDK provider or set its variable."],
  [/LoadSettingError$/, "config-invalid", "Pass the setting to the AI SDK provider."],
  [/NoSuch(Model|Provider)\w*Error$/, "model-not-found", "Check the model id."],
  [/UnsupportedFunctionalityError$/, "model-invalid-request", OTHER_MODEL],
  [/(InvalidPrompt|InvalidArgument)Error$/, "model-invalid-request", "Change the request."],
];
const BROKEN = /(TypeValidation|JSONParse|InvalidResponseData|EmptyResponseBody|NoContentGenerated|NoOutput\w*)Error$/;
/** What `fetch` says of an address that is none, itself or as the cause of a failed connection. */
const BAD_URL = /\b(ERR_INVALID_URL|Failed to parse URL|Invalid URL|unknown scheme)\b/i;
const NETWORK = /^(ECONN|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|UND_ERR)|^TypeError: (fetch failed|terminated)/;

/** `key` is removed from what is shown. */
export function aiError(provider: ProviderName, error: unknown, key: string): CapstanError {
  if (CapstanError.is(error)) return error;
  const foreign = read(error);
  if (foreign.status !== undefined) return refusal(provider, foreign, key);
  const { name, message } = foreign;
  for (const [pattern, code, advice] of NAMED) {
    if (pattern.test(name))
      return new CapstanError(code, `${provider.label}: ${shown(message, key)} ${advice}`, { provider: provider.id });
  }
  if (BROKEN.test(name)) {
    return protocolError(provider, `sent what its AI SDK provider cannot read: ${shown(message, key)}`, {
      retryable: true,
    });
  }
  if (BAD_URL.test(`${codeOf(error)} ${message}`)) {
    const text = `The base URL for ${provider.label} is not an http or https URL. Correct it in the AI SDK provider.`;
    return new CapstanError("config-invalid", text, { provider: provider.id });
  }
  if (name.endsWith("APICallError") || NETWORK.test(codeOf(error)) || NETWORK.test(`${name}: ${message}`)) {
    const text = `${provider.label} cannot be reached: ${shown(message, key)}. Check the network and the base URL.`;
    return new CapstanError("model-network", text, { provider: provider.id, retryable: foreign.retryable ?? true });
  }
  // what an `error` part of the stream holds is the provider's own error, often as plain data
  if (!(error instanceof Error)) return refusedError(provider, { headers: {}, body: asBody(error), key });
  return new CapstanError("model-failed", `${provider.label} failed: ${shown(message, key)}`, {
    provider: provider.id,
    retryable: foreign.retryable ?? false,
  });
}

function refusal(provider: ProviderName, foreign: Foreign, key: string): CapstanError {
  const { status = 500, headers, body, message, retryable } = foreign;
  const advised = retryable === undefined ? headers : { "x-should-retry": String(retryable), ...headers };
  return refusedError(provider, { status, headers: advised, body: body ?? message, key });
}

function read(error: unknown): Foreign {
  const found = unwrapped(error);
  const { name, message, statusCode, responseHeaders, responseBody, isRetryable } = found;
  return {
    name: typeof name === "string" ? name : "",
    message: typeof message === "string" ? message : typeof error === "string" ? error : "no reason given",
    status: typeof statusCode === "number" && statusCode >= 300 ? statusCode : undefined,
    headers: lowerCase(responseHeaders),
    body: typeof responseBody === "string" && responseBody.trim() !== "" ? responseBody : undefined,
    retryable: typeof isRetryable === "boolean" ? isRetryable : undefined,
  };
}

/** Retries of the AI SDK wrap the error that counts. */
function unwrapped(error: unknown): Readonly<Record<string, unknown>> {
  const outer = asRecord(error);
  const { lastError } = outer;
  return typeof lastError === "object" && lastError !== null ? asRecord(lastError) : outer;
}

function codeOf(error: unknown): string {
  const { code, cause } = asRecord(error);
  const inner = asRecord(cause)["code"];
  return typeof code === "string" ? code : typeof inner === "string" ? inner : "";
}

function lowerCase(headers: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(asRecord(headers)).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function asBody(error: unknown): string {
  if (typeof error === "string") return error;
  try {
    return JSON.stringify("error" in asRecord(error) ? error : { error }) ?? "";
  } catch {
    return "";
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}; // members stay unknown
}
