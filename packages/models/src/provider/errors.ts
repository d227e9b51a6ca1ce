/** Refusals of providers as `CapstanError`s: typed, one line, without secrets. */

import { CapstanError, type ErrorCode, type Json, systemClock } from "@capstan/core";
import { listOf, lookUp, memberOf, parseJson } from "./json.ts";

export type Refusal = {
  /** Undefined for an error inside a stream. */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body's text, or the data of the event. */
  readonly body: string;
  /** Removed from everything that is shown. */
  readonly key: string;
};

/** How a provider is named: `id` in `error.provider`, `label` to people. */
export type ProviderName = { readonly id: string; readonly label: string };

const MAX_SHOWN = 500;
/** A shorter word is no key and may well stand in a message. */
const MIN_KEY = 6;
const CONTEXT =
  /prompt is too long|context (window|length|limit)|context_length_exceeded|maximum context|too many (input )?tokens|input token count|reduce the length|exceeds? .{0,40}context/i;
const SPEND =
  /spend[_ ]limit|credit balance|ramp_limit_exceeded|insufficient_quota|exceeded your current quota|insufficient credits/i;
const MODEL_MISSING =
  /model_not_found|unknown_model|model .{0,80}(does not exist|not found)|no such model|not a valid model|no endpoints found for/i;
/** The model is there, but it does not read images, or cannot do another thing that was asked of it. */
const UNABLE =
  /no endpoints found that support|not a multimodal model|(image|vision) (input|modality).{0,40}\bnot\b|does(n't| not) support (image|vision|multimodal)|images? (is|are) not supported/i;
const BAD_KEY = /invalid_api_key|api key not valid|api_key_invalid|incorrect api key/i;

/** What to do about a model that cannot do what was asked of it. */
export const OTHER_MODEL =
  "Take a model that can do it; capabilities: { images: false } puts a text in the place of images.";

/** Status that HTTP gives each word for an error, for errors inside a stream and those whose status says too little. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  overloaded: 529,
  server_is_overloaded: 529,
  slow_down: 529,
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

const WHAT_TO_DO: Readonly<Partial<Record<ErrorCode, string>>> = {
  "model-auth": "Check the API key and what it may do.",
  "model-billing": "Add credit or raise the spend limit of the account; waiting does not help.",
  "model-context-exceeded": "Compact the conversation or send less.",
  "model-failed": "Try again.",
  "model-invalid-request": "Change the request; the same one fails again.",
  "model-not-found": "Check the model id and the base URL.",
  "model-overloaded": "Try again later or use another model.",
  "model-protocol": "Check the base URL and any proxy in between.",
  "model-rate-limited": "Wait, or send fewer tokens a minute.",
};

/** The error for an answer that is not a stream, or for an error inside one. Reads the error bodies of all known providers. */
export function refusedError(provider: ProviderName, refusal: Refusal): CapstanError {
  const { words, text, numeric, retryAfterMs: told } = parseError(refusal.body);
  const named = words.map((word) => lookUp(STATUS_OF_WORD, word)).find((found) => found !== undefined);
  const status = refusal.status ?? named ?? numeric ?? 500;
  const code = codeOf(status, `${words.join(" ")} ${text}`, told !== undefined);
  const said = shown(text, refusal.key);
  const subject =
    refusal.status === undefined ? `${provider.label} broke off the answer` : `${provider.label} answered ${status}`;
  const message = `${subject}${said === "" ? "" : `: ${said}`}${/[.!?]$/.test(said) ? "" : "."} ${adviceOn(code, text)}`;
  const retryAfterMs = retryAfter(refusal.headers) ?? told;
  return new CapstanError(code, message.trim(), {
    provider: provider.id,
    status,
    retryable: isRetryable(code, refusal.headers["x-should-retry"]),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function adviceOn(code: ErrorCode, text: string): string {
  if (code !== "model-invalid-request" || !UNABLE.test(text)) return WHAT_TO_DO[code] ?? "";
  return OTHER_MODEL;
}

/** What came was not the provider's protocol; `what` goes on after its name. */
export function protocolError(
  provider: ProviderName,
  what: string,
  options: { readonly retryable: boolean; readonly cause?: unknown },
): CapstanError {
  const hint = options.retryable ? "Try again." : WHAT_TO_DO["model-protocol"];
  return new CapstanError("model-protocol", `${provider.label} ${what}. ${hint}`, {
    provider: provider.id,
    ...options,
  });
}

/** The request cannot be put into the provider's words; `what` is one sentence that says what to change. */
export function requestError(provider: ProviderName, what: string): CapstanError {
  return new CapstanError("model-invalid-request", what, { provider: provider.id });
}

/** Why a request is not sent at all: providers refuse an empty conversation. */
export function nothingToSend(provider: ProviderName): CapstanError {
  const what = "The conversation holds nothing that can be sent to the model. Send a text that is not empty.";
  return requestError(provider, what);
}

/** One line without control characters, keys and overlong text. */
export function shown(text: string, key: string): string {
  let clean = text;
  if (key.length >= MIN_KEY) {
    for (const form of new Set([key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])) {
      clean = clean.replaceAll(form, "[key]");
    }
  }
  clean = clean
    .replaceAll(/\b(sk|pk|csk|gsk)[-_][\w-]{6,}/g, "[key]")
    .replaceAll(/\bAIza[\w-]{20,}/g, "[key]")
    .replaceAll(/\b(bearer|x-api-key:?|x-goog-api-key:?)\s+[^\s,;"']+/gi, "$1 [key]")
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return clean.length > MAX_SHOWN ? `${clean.slice(0, MAX_SHOWN).toWellFormed()}...` : clean;
}

type ParsedError = {
  /** Words the provider has for the error, the most specific first. */
  readonly words: readonly string[];
  readonly text: string;
  /** A number of HTTP given as the code. */
  readonly numeric?: number;
  readonly retryAfterMs?: number;
};

/** `{error: {message, type, code, status}}`, the same in a list, `{error: "text"}` and `{message, type}`. */
function parseError(body: string): ParsedError {
  const parsed = parseJson(body);
  const outer = Array.isArray(parsed) ? listOf(parsed)[0] : parsed;
  const error = memberOf(outer, "error") ?? memberOf(memberOf(outer, "response"), "error") ?? outer;
  if (typeof error === "string" && error !== outer) return { words: [], text: error };
  const text = memberOf(error, "message");
  if (typeof text !== "string") return { words: [], text: /^\s*</.test(body) ? "(a web page)" : body };
  const named = [
    memberOf(memberOf(error, "details"), "error_code"),
    ...["code", "status", "type"].map((name) => memberOf(error, name)),
  ];
  const words = named.filter((word) => typeof word === "string");
  const numeric = named.find((word) => typeof word === "number" && word >= 400 && word < 600);
  const told = retryDelayOf(memberOf(error, "details")) ?? waitIn(text);
  return {
    words,
    text,
    ...(typeof numeric === "number" && { numeric }),
    ...(told !== undefined && { retryAfterMs: told }),
  };
}

/** Google tells the wait in a detail of the error: `{retryDelay: "34.5s"}`. */
function retryDelayOf(details: Json | undefined): number | undefined {
  for (const detail of listOf(details)) {
    const delay = memberOf(detail, "retryDelay");
    if (typeof delay === "string" && /^\d+(\.\d+)?s$/.test(delay)) return Math.ceil(Number.parseFloat(delay) * 1000);
  }
  return undefined;
}

/** OpenAI tells the wait in the text: "Please try again in 1.2s". */
function waitIn(text: string): number | undefined {
  const [, wait, unit] = /try again in (\d+(?:\.\d+)?) ?(ms|s)\b/i.exec(text) ?? [];
  return wait === undefined ? undefined : Math.ceil(Number.parseFloat(wait) * (unit?.toLowerCase() === "s" ? 1000 : 1));
}

/** `waits`: the body says when to try again, so that a quota is one that fills up by itself. */
function codeOf(status: number, said: string, waits: boolean): ErrorCode {
  if (status === 529 || status === 503 || /overloaded/i.test(said)) return "model-overloaded";
  if (status === 402 || ((status === 429 || status === 400 || status === 403) && !waits && SPEND.test(said)))
    return "model-billing";
  if (status === 401 || status === 403 || (status === 400 && BAD_KEY.test(said))) return "model-auth";
  if (status === 404 && UNABLE.test(said)) return "model-invalid-request";
  if (status === 404 || (status === 400 && MODEL_MISSING.test(said))) return "model-not-found";
  if (status === 413 || (status === 400 && CONTEXT.test(said))) return "model-context-exceeded";
  if (status === 429) return "model-rate-limited";
  if (status === 408 || status === 409 || status >= 500) return "model-failed";
  return status >= 400 ? "model-invalid-request" : "model-protocol";
}

function isRetryable(code: ErrorCode, shouldRetry: string | undefined): boolean {
  if (code === "model-billing") return false;
  if (shouldRetry === "true") return true;
  if (shouldRetry === "false") return false;
  return code === "model-rate-limited" || code === "model-overloaded" || code === "model-failed";
}

function retryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const ms = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (ms >= 0) return Math.round(ms);
  const value = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Math.round(Number(value) * 1000);
  const at = /^[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - systemClock.now());
}
