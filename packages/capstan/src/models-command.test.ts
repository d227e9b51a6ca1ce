import { describe, expect, it } from "vitest";
import { commandHome } from "./command-child.ts";

const NOBODY = { OLLAMA_BASE_URL: "http://127.0.0.1:1/v1", VLLM_BASE_URL: "http://127.0.0.1:1/v1" };

describe.concurrent("capstan models", { timeout: 120_000 }, () => {
  it("MODEL-06 lists what can be used first, then what is missing for the rest, and shows no key", async () => {
    await using at = await commandHome({ ...NOBODY, ANTHROPIC_API_KEY: "sk-ant-secret-key" });
    const end = await at.run(["models"]);
    expect([end.code, end.stderr]).toEqual([0, ""]);
    const lines = end.stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^MODEL +KEY +CONTEXT +\$ PER MILLION +TAKES +MISSING$/);
    expect(lines[1]).toMatch(/^anthropic\/\S+ +found +1M +2 \/ 10 +images pdf schema reasoning$/);
    expect(lines[2]).toMatch(/^demo\/scripted +not needed +free$/);
    expect(lines.find((line) => line.startsWith("openai/"))).toMatch(/ missing .* Set OPENAI_API_KEY\.$/);
    expect(end.stdout).not.toContain("secret");
  });

  it("writes one JSON object a line", async () => {
    await using at = await commandHome(NOBODY);
    const end = await at.run(["models", "--json"]);
    const models = end.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly provider: string; readonly usable: boolean });
    expect(models.filter(({ usable }) => usable).map(({ provider }) => provider)).toEqual(["demo"]);
    expect(models.length).toBeGreaterThan(8);
  });

  it("loads no store and leaves nothing behind", async () => {
    await using at = await commandHome(NOBODY);
    await at.run(["models"]);
    const { readdir } = await import("node:fs/promises");
    await expect(readdir(at.home)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
