import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

/** The modules that a fresh process has loaded when the program has run. */
async function loadedBy(program: string): Promise<readonly string[]> {
  const source = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    const models = await import(${JSON.stringify(new URL("./index.ts", import.meta.url).href)});
    ${program};
    console.log(JSON.stringify(urls));`;
  const args = ["--conditions=capstan-source", "--input-type=module", "--eval", source];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as readonly string[];
}

const providersIn = (urls: readonly string[]): readonly string[] => [
  ...new Set(
    urls.flatMap((url) => /\/models\/src\/(anthropic|openai|openai-chat|gemini|ai-sdk|demo)\.ts$/.exec(url)?.[1] ?? []),
  ),
];

describe("the root of the models", () => {
  it("MODEL-11 loads no provider, and by name the one that is named only; no prices before they are asked for", async () => {
    const [bare, named] = await Promise.all([
      loadedBy(""),
      loadedBy('await models.resolveModel("gemini", { GEMINI_API_KEY: "k" })'),
    ]);
    expect(providersIn(bare)).toEqual([]);
    expect(providersIn(named)).toEqual(["gemini"]);
    expect([...bare, ...named].filter((url) => url.includes("genai-prices"))).toEqual([]);
  });
});
