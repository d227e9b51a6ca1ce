import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

/** The modules that a fresh process has loaded after an import. */
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

describe("openai's entry", () => {
  it("loads no other provider and no foreign package", async () => {
    const urls = await loadedBy("./openai.ts");
    expect(urls.some((url) => url.endsWith("/models/src/openai/body.ts"))).toBe(true);
    expect(
      urls.filter(
        (url) => /\/(anthropic|gemini|openai-chat|ai-sdk|demo)[./-]/.test(url) || url.includes("/node_modules/@"),
      ),
    ).toEqual([]);
  });
});
