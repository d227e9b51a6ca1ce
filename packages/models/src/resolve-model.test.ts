import { describe, expect, it } from "vitest";
import { resolveModel } from "./resolve-model.ts";

const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_MODEL: "claude-from-env" };

describe("resolveModel", () => {
  it("takes provider/model, and the provider alone for its default", async () => {
    expect((await resolveModel("anthropic/claude-x", env)).id).toBe("anthropic/claude-x");
    expect((await resolveModel("anthropic", env)).id).toBe("anthropic/claude-from-env");
    expect((await resolveModel("anthropic/", env)).id).toBe("anthropic/claude-from-env");
  });

  it("keeps further slashes in the model's id", async () => {
    expect((await resolveModel("anthropic/vendor/claude-x", env)).id).toBe("anthropic/vendor/claude-x");
  });

  it("LOOP-29 names the known providers when it does not know one", async () => {
    for (const name of ["", "nobody/x", "toString", "__proto__/x"]) {
      await expect(resolveModel(name, env)).rejects.toMatchObject({
        code: "model-unknown",
        message: expect.stringContaining("anthropic, demo"),
      });
    }
  });

  it("MODEL-06 tells a missing key", async () => {
    await expect(resolveModel("anthropic", {})).rejects.toMatchObject({ code: "model-key-missing" });
  });
});
