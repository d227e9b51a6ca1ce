import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveToken } from "./serve-command-token.ts";

describe("serveToken", () => {
  it("STREAM-05 G22 is one and whole for all that start at once, in a file of the user alone", async () => {
    const home = mkdtempSync(join(tmpdir(), "capstan-token-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const all = await Promise.all(Array.from({ length: 20 }, () => serveToken({ CAPSTAN_HOME: home })));
    expect(new Set(all.map(({ token }) => token)).size).toBe(1);
    expect(all[0]?.token).toMatch(/^[\w-]{43}$/);
    const file = all[0]?.file ?? "";
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(file, ".."))).toEqual(["serve.token"]);
  });
});
