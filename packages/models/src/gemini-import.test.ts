import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

/** The modules of this package, and of no other but core, that a fresh process has loaded after an import. */
async function loadedBy(file: string): Promise<readonly string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    await import(${JSON.stringify(new URL(file, import.meta.url).href)});
    console.log(JSON.stringify(urls));`;
  const args = ["--conditions=capstan-source", "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as readonly string[];
}

describe("gemini's entry", () => {
  it("loads no other provider and no foreign package", async () => {
    const urls = await loadedBy("./gemini.ts");
    expect(urls.some((url) => url.endsWith("/models/src/gemini.ts"))).toBe(true);
    expect(
      urls.filter((url) => /\/(anthropic|openai|ai-sdk|demo)[./-]/.test(url) || url.includes("/node_modules/@")),
    ).toEqual([]);
  });
});
