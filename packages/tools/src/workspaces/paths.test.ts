import assert from "node:assert/strict";
import { CapstanError } from "@capstan/core";
import { describe, it } from "vitest";
import { toPathError } from "./paths.ts";

const failed = (code: string): Error => Object.assign(new Error(code), { code, syscall: "write" });

describe("toPathError", () => {
  it("says what to do about a full disk", () => {
    for (const code of ["ENOSPC", "EDQUOT"]) {
      const error = toPathError(failed(code), "a.txt");
      assert.ok(CapstanError.is(error, "tool-failed"));
      assert.equal(error.message, 'There is no space left for "a.txt". Tell the user');
    }
  });

  it("passes on what is no error of a system call, and names the others", () => {
    const other = new Error("other");
    assert.equal(toPathError(other, "a"), other);
    const unknown = toPathError(failed("EIO"), "a");
    assert.ok(CapstanError.is(unknown, "tool-failed"));
    assert.equal(unknown.message, '"a": the system answered EIO');
  });
});
