import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { describe, it } from "vitest";
import { CapstanError, ERROR_CODES, messageOf, toProblem } from "./errors.ts";

describe("ERROR_CODES", () => {
  it("is sorted and names each code once", () => {
    assert.deepEqual([...new Set(ERROR_CODES)].toSorted(), [...ERROR_CODES]);
    for (const code of ERROR_CODES) assert.match(code, /^[a-z]+(-[a-z]+)*$/);
  });

  it("is what docs/errors.md explains, each code with a cause and a cure", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/errors.md"), "utf8");
    const rows = [...page.matchAll(/^\| `([^`]+)` \|(.*)\|(.*)\|$/gm)];
    assert.deepEqual(
      rows.map(([, code]) => code),
      [...ERROR_CODES],
    );
    for (const [, code, cause = "", cure = ""] of rows) {
      assert.ok(cause.trim().length > 20 && cure.trim().length > 10, `${code} says too little`);
    }
  });
});

describe("CapstanError", () => {
  it("carries its code, its cause and what a provider said", () => {
    const cause = new Error("socket closed");
    const options = { cause, retryable: true, provider: "anthropic", status: 529, retryAfterMs: 1_500 };
    const error = new CapstanError("model-overloaded", "Anthropic is overloaded", options);
    const { name, message, code, retryable, provider, status, retryAfterMs } = error;
    assert.deepEqual(
      { name, message, code, cause: error.cause, retryable, provider, status, retryAfterMs },
      { name: "CapstanError", message: "Anthropic is overloaded", code: "model-overloaded", ...options },
    );
  });

  it("has only what was given", () => {
    const error = new CapstanError("usage", "wrong");
    const { retryable, provider, status, retryAfterMs } = error;
    assert.deepEqual([retryable, provider, status, retryAfterMs], [false, undefined, undefined, undefined]);
    assert.ok(!("cause" in error));
    assert.deepEqual(toProblem(error), { code: "usage", message: "wrong", retryable: false });
  });

  it("is recognised by code, also from another copy of the package", async () => {
    // a query makes Node load the file once more, as two installed versions would
    const file = "./errors.ts?copy";
    const other = (await import(/* @vite-ignore */ file)) as { readonly CapstanError: typeof CapstanError };
    const error: unknown = new other.CapstanError("timeout", "late");
    assert.equal(CapstanError.is(error), true);
    assert.equal(CapstanError.is(error, "timeout"), true);
    assert.equal(CapstanError.is(error, "usage", "timeout"), true);
    assert.equal(CapstanError.is(error, "usage"), false);
    assert.equal(other.CapstanError === CapstanError, false);
  });

  it("is not anything else", () => {
    const others = [
      undefined,
      null,
      "timeout",
      new Error("timeout"),
      { code: "timeout", message: "late" },
      JSON.parse('{"capstan.error":true}'),
    ];
    for (const other of others) assert.equal(CapstanError.is(other), false);
  });
});

describe("toProblem", () => {
  it("keeps code, message, provider and status, and drops the cause", () => {
    const error = new CapstanError("model-auth", "The key was refused", {
      cause: new Error("secret"),
      provider: "openai",
      status: 401,
    });
    assert.deepEqual(toProblem(error), {
      code: "model-auth",
      message: "The key was refused",
      retryable: false,
      provider: "openai",
      status: 401,
    });
  });

  it("makes run-failed of a foreign error, with its message only", () => {
    assert.deepEqual(toProblem(new TypeError("x is not a function")), {
      code: "run-failed",
      message: "x is not a function",
      retryable: false,
    });
    assert.deepEqual(toProblem("plain text"), { code: "run-failed", message: "plain text", retryable: false });
  });
});

describe("messageOf", () => {
  it("is the message of an error, else the value as text", () => {
    assert.equal(messageOf(new Error("a")), "a");
    assert.equal(messageOf(undefined), "undefined");
    assert.equal(messageOf(7), "7");
    assert.equal(messageOf(runInNewContext("String('b')")), "b");
  });
});
