/** Refusals of the Messages API (protocols.md section 1.2) as `CapstanError`s: typed, one line, without secrets. */

import { CapstanError, type ErrorCode, systemClock } from "@capstan/core";

export type Refusal = {
  /** Undefined for an `error` event inside a stream. */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body's text, or the data of the event. */
  readonly body: string;
  /** Removed from everything that is shown. */
  readonly key: string;
};

const PROVIDER = "anthropic";
const MAX_SHOWN = 500;
/** A shorter word is no key and may well stand in a message. */
const MIN_KEY = 6;
const CONTEXT =
  /prompt is too long|context (window|length|limit)|maximum context|too many (input )?tokens|exceeds? .{0,40}context/i;
const SPEND = /spend[_ ]limit|credit balance|ramp_limit_exceeded/i;

/** Status that HTTP gives each `error.type`, for errors inside a stream. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
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

/** The error for an answer that is not a stream, or for an `error` event. */
export function toAnthropicError(refusal: Refusal): CapstanError {
  const { type, detail, text } = parseError(refusal.body);
  const status = refusal.status ?? STATUS_OF_TYPE[type ?? ""] ?? 500;
  const code = codeOf(status, type, `${detail} ${text}`);
  const said = shown(text, refusal.key);
  const subject = refusal.status === undefined ? "Anthropic broke off the answer" : `Anthropic answered ${status}`;
  const message = `${subject}${said === "" ? "" : `: ${said}`}${/[.!?]$/.test(said) ? "" : "."} ${WHAT_TO_DO[code] ?? ""}`;
  const retryAfterMs = retryAfter(refusal.headers);
  return new CapstanError(code, message.trim(), {
    provider: PROVIDER,
    status,
    retryable: isRetryable(code, refusal.headers["x-should-retry"]),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** What came was not the Messages protocol. */
export function protocolError(
  what: string,
  options: { readonly retryable: boolean; readonly cause?: unknown },
): CapstanError {
  const hint = options.retryable ? "Try again." : WHAT_TO_DO["model-protocol"];
  return new CapstanError("model-protocol", `Anthropic ${what}. ${hint}`, { provider: PROVIDER, ...options });
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
    .replaceAll(/\b(sk|pk)-[\w-]{6,}/g, "[key]")
    .replaceAll(/\b(bearer|x-api-key:?)\s+[^\s,;"']+/gi, "$1 [key]")
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return clean.length > MAX_SHOWN ? `${clean.slice(0, MAX_SHOWN).toWellFormed()}...` : clean;
}

type ParsedError = { readonly type?: string; readonly detail: string; readonly text: string };

function parseError(body: string): ParsedError {
  const error = member(parse(body), "error");
  const text = member(error, "message");
  if (typeof text !== "string") return { detail: "", text: /^\s*</.test(body) ? "(a web page)" : body };
  const type = member(error, "type");
  const detail = member(member(error, "details"), "error_code");
  return { detail: typeof detail === "string" ? detail : "", text, ...(typeof type === "string" && { type }) };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function codeOf(status: number, type: string | undefined, text: string): ErrorCode {
  if (type === "overloaded_error" || status === 529) return "model-overloaded";
  if (status === 402 || type === "billing_error") return "model-billing";
  if ((status === 429 || status === 400 || status === 403) && SPEND.test(text)) return "model-billing";
  if (status === 401 || status === 403) return "model-auth";
  if (status === 404) return "model-not-found";
  if (status === 413 || (status === 400 && CONTEXT.test(text))) return "model-context-exceeded";
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
