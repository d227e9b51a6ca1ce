import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toStoreError } from "./database.ts";
import { lackOfFiles, unwritable } from "./file-errors.ts";

function thrown(code: string): Error {
  return Object.assign(new Error(`${code}: said by the system`), { code, syscall: "open" });
}

describe("unwritable", () => {
  it.each([
    ["ENOSPC", "store-full", true],
    ["EDQUOT", "store-full", true],
    ["EMFILE", "store-failed", true],
    ["ENFILE", "store-failed", true],
    ["EIO", "store-failed", true],
    ["EACCES", "store-readonly", false],
    ["EROFS", "store-readonly", false],
    ["ENOTDIR", "store-readonly", false],
  ])("EDGE-13 says of %s what can be done: %s", (code, expected, retryable) => {
    expect(unwritable("/x/store.db", thrown(code))).toMatchObject({ code: expected, retryable });
  });
});

describe("toStoreError", () => {
  it("EDGE-13 gives what the file system threw a code of ours", () => {
    expect(toStoreError(thrown("EMFILE"), "/x/store.db")).toMatchObject({
      code: "store-failed",
      message: expect.stringContaining("too many files are open"),
    });
  });
});

describe("lackOfFiles", () => {
  it("finds none where files can be opened, or where only this one cannot", () => {
    expect(lackOfFiles(join(tmpdir(), "store.db"))).toBeUndefined();
    expect(lackOfFiles(join(tmpdir(), "is-not-there", "store.db"))).toBeUndefined();
  });
});
