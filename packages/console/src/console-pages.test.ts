import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsolePages, consolePages } from "./console-pages.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-console-"));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<!doctype html>");
  await writeFile(join(folder, "assets/index-1.js"), "export {};");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const ask = (pages: ConsolePages, path: string, init?: RequestInit): Promise<Response | undefined> =>
  pages(new Request(`http://127.0.0.1${path}`, init));

describe("consolePages", () => {
  it("WEB-01 gives the files under a policy without anything inline or from elsewhere", async () => {
    const pages = consolePages({ folder });
    const page = await ask(pages, "/console/");
    expect(await page?.text()).toBe("<!doctype html>");
    expect(Object.fromEntries(page?.headers ?? [])).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    const policy = page?.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    const script = await ask(pages, "/console/assets/index-1.js");
    expect(script?.headers.get("cache-control")).toContain("immutable");
    const etag = page?.headers.get("etag") ?? "";
    expect((await ask(pages, "/console/", { headers: { "if-none-match": etag } }))?.status).toBe(304);
  });

  it("WEB-01 gives no file that is not of the console, however it is named", async () => {
    const pages = consolePages({ folder });
    for (const path of ["..%2f..%2fetc/passwd", "assets/", "nothing.js", "index.html%00"])
      expect((await ask(pages, `/console/${path}`))?.status).toBe(404);
  });

  it("WEB-01 leaves the routes of the door alone", async () => {
    const pages = consolePages({ folder, basePath: "/api/agents/" });
    expect(await ask(pages, "/api/agents/sessions")).toBeUndefined();
    expect(await ask(pages, "/console/")).toBeUndefined();
    expect(await ask(pages, "/api/agents/console/", { method: "POST" })).toBeUndefined();
    expect((await ask(pages, "/api/agents/console"))?.headers.get("location")).toBe("/api/agents/console/");
    expect(await ask(pages, "/api/agents/")).toBeUndefined();
    const browser = await ask(pages, "/api/agents/", { headers: { accept: "text/html" } });
    expect([browser?.status, browser?.headers.get("location")]).toEqual([302, "/api/agents/console/"]);
  });
});
