import { describe, expect, it } from "vitest";
import { refusedError, type Refusal } from "./errors.ts";

const toAnthropicError = (refused: Refusal) => refusedError({ id: "anthropic", label: "Anthropic" }, refused);

function refusal(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  type = "x",
  details?: object,
) {
  const body = JSON.stringify({ type: "error", error: { type, message, ...(details !== undefined && { details }) } });
  return toAnthropicError({ status, headers, body, key: "opaque-key-1" });
}

describe("refusedError", () => {
  for (const [status, message, code, retryable] of [
    [400, "messages.0: text must not be empty", "model-invalid-request", false],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", "model-context-exceeded", false],
    [
      400,
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
      "model-context-exceeded",
      false,
    ],
    [400, "Your credit balance is too low to access the Anthropic API", "model-billing", false],
    [401, "invalid x-api-key", "model-auth", false],
    [402, "pay", "model-billing", false],
    [403, "not allowed", "model-auth", false],
    [404, "model: claude-9", "model-not-found", false],
    [408, "timeout", "model-failed", true],
    [409, "conflict", "model-failed", true],
    [413, "too large", "model-context-exceeded", false],
    [422, "cannot", "model-invalid-request", false],
    [429, "slow down", "model-rate-limited", true],
    [429, "You have reached your specified API spend limit", "model-billing", false],
    [500, "internal", "model-failed", true],
    [502, "bad gateway", "model-failed", true],
    [529, "overloaded", "model-overloaded", true],
  ] as const) {
    it(`LOOP-29 types status ${status} "${message.slice(0, 30)}" as ${code}`, () => {
      expect(refusal(status, message)).toMatchObject({ code, retryable, status, provider: "anthropic" });
    });
  }

  it("LOOP-29 goes by the details' code where there is one", () => {
    const error = refusal(429, "No", {}, "rate_limit_error", { error_code: "contract_spend_limit_reached" });
    expect(error).toMatchObject({ code: "model-billing", retryable: false });
    expect(refusal(503, "Busy", {}, "overloaded_error").code).toBe("model-overloaded");
  });

  it("MODEL-12 obeys x-should-retry, but never retries what waiting does not cure", () => {
    expect(refusal(400, "odd", { "x-should-retry": "true" }).retryable).toBe(true);
    expect(refusal(529, "busy", { "x-should-retry": "false" }).retryable).toBe(false);
    expect(refusal(402, "pay", { "x-should-retry": "true" }).retryable).toBe(false);
  });

  it("MODEL-12 reads the retry hint in milliseconds, seconds and as a date", () => {
    const hint = (headers: Readonly<Record<string, string>>): number | undefined =>
      refusal(429, "slow", headers).retryAfterMs;
    expect(hint({ "retry-after-ms": "1500.4", "retry-after": "9" })).toBe(1500);
    expect(hint({ "retry-after": "2" })).toBe(2000);
    expect(hint({ "retry-after": "0.5" })).toBe(500);
    const soon = hint({ "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    expect(soon).toBeGreaterThan(50_000);
    expect(soon).toBeLessThanOrEqual(60_000);
    expect(hint({ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })).toBe(0);
    for (const nonsense of ["soon", "-5", "", "NaN", "Infinity"])
      expect(hint({ "retry-after": nonsense })).toBeUndefined();
    expect(hint({})).toBeUndefined();
  });

  it("says in one line what happened and what to do", () => {
    expect(refusal(401, "invalid\n x-api-key\u001b[31m").message).toBe(
      "Anthropic answered 401: invalid x-api-key [31m. Check the API key and what it may do.",
    );
  });

  it("cuts the provider's text to 500 characters", () => {
    const { message } = refusal(500, "é".repeat(2_000));
    expect(message.match(/é/g)).toHaveLength(500);
    expect(message.endsWith("... Try again.")).toBe(true);
  });

  it("G23 shows no key, whatever its form", () => {
    for (const text of [
      "key is sk-ant-abc123def",
      "x-api-key: hunter2hunter2",
      "bearer abc.def.ghi",
      "it was opaque-key-1.",
    ]) {
      expect(refusal(400, text).message).not.toMatch(/abc|hunter2|opaque-key/);
    }
  });

  it("survives every kind of body", () => {
    for (const body of [
      "",
      "null",
      "[]",
      '"x"',
      '{"error":null}',
      '{"error":"text"}',
      '{"error":{"message":5}}',
      "<html>no</html>",
      "\uD800",
    ]) {
      expect(toAnthropicError({ status: 500, headers: {}, body, key: "" })).toMatchObject({ code: "model-failed" });
    }
  });
});
