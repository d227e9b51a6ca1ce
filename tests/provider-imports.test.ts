import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const PROVIDERS = ["anthropic", "openai", "openai-chat", "gemini", "ai-sdk", "demo"] as const;

/** The modules that a fresh process has loaded when the program has run. */
async function loadedBy(program: string): Promise<readonly string[]> {
  const source = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    ${program};
    console.log(JSON.stringify(urls));`;
  const args = ["--conditions=capstan-source", "--input-type=module", "--eval", source];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  return JSON.parse(stdout) as readonly string[];
}

/** The providers of which any module was loaded. */
function providersIn(urls: readonly string[]): readonly string[] {
  return PROVIDERS.filter((name) => urls.some((url) => new RegExp(`/models/src/${name}(\\.ts$|/)`).test(url)));
}

function vendorsIn(urls: readonly string[]): readonly string[] {
  return urls.filter((url) => url.includes("/node_modules/"));
}

describe("importing an entry", () => {
  for (const name of PROVIDERS) {
    it(`MODEL-11 @capstan/models/${name} loads no other provider and no foreign package`, async () => {
      const urls = await loadedBy(`await import("@capstan/models/${name}")`);
      expect(urls.some((url) => url.endsWith(`/models/src/${name}.ts`))).toBe(true);
      expect(providersIn(urls)).toEqual([name]);
      expect(vendorsIn(urls)).toEqual([]);
    });
  }

  it("MODEL-21 the converters load no provider, only its names for things", async () => {
    const urls = await loadedBy(`await import("@capstan/models/convert")`);
    const entries = PROVIDERS.map((name) => `/models/src/${name}.ts`);
    expect(urls.filter((url) => entries.some((entry) => url.endsWith(entry)))).toEqual([]);
    expect(vendorsIn(urls)).toEqual([]);
  });

  it("MODEL-11 the root of the models loads no provider, and by name the one that is named only", async () => {
    const root = `const models = await import("@capstan/models");`;
    const [bare, named] = await Promise.all([
      loadedBy(root),
      loadedBy(`${root} await models.resolveModel("gemini", { GEMINI_API_KEY: "k" })`),
    ]);
    expect([providersIn(bare), providersIn(named)]).toEqual([[], ["gemini"]]);
    expect([vendorsIn(bare), vendorsIn(named)]).toEqual([[], []]); // prices neither, before they are asked for
  });

  it("MODEL-11 a model that was made, and capstan's own entry of it, loads no more", async () => {
    const made = `const { openrouter } = await import("capstan/models/openai-chat"); openrouter("a/b", { apiKey: "k" })`;
    const urls = await loadedBy(made);
    expect(providersIn(urls)).toEqual(["openai-chat"]);
    expect(vendorsIn(urls)).toEqual([]);
  });
});
