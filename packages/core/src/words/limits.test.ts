import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { keepBytes } from "./blobs.ts";
import { LIMITS } from "./limits.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { retryDelay } from "../model/retry.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { tool } from "../ports/tool.ts";
import { toOutput } from "../ports/tool-output.ts";

describe("LIMITS", () => {
  it("holds whole, positive numbers", () => {
    for (const value of Object.values(LIMITS)) expect(Number.isInteger(value) && value > 0).toBe(true);
  });

  it("turnsPerRun is what an agent has that says nothing", () => {
    const made = agent({ name: "a", model: scriptedModel([]), instructions: "x" });
    expect(made.limits.turns).toBe(LIMITS.turnsPerRun);
  });

  it("modelAttempts, modelRetryBaseMs, modelRetryMaxMs and modelRetryBudgetMs shape the waits of a turn", () => {
    const problem = { code: "model-cut", message: "x", retryable: true };
    expect(retryDelay(LIMITS.modelAttempts - 1, problem, undefined, 0)).toBeDefined();
    expect(retryDelay(LIMITS.modelAttempts, problem, undefined, 0)).toBeUndefined();
    expect(retryDelay(1, problem, undefined, 0)).toBe(LIMITS.modelRetryBaseMs);
    expect(retryDelay(1, problem, undefined, LIMITS.modelRetryBudgetMs)).toBeUndefined();
    expect(LIMITS.modelRetryBaseMs * 2 ** (LIMITS.modelAttempts - 2)).toBeLessThanOrEqual(LIMITS.modelRetryMaxMs);
  });

  it("inlineBytes and blobBytes bound what a part holds and what a store takes", async () => {
    const part = (bytes: number) =>
      ({
        type: "file",
        mediaType: "x/y",
        data: { type: "base64", base64: Buffer.alloc(bytes).toString("base64") },
      }) as const;
    const put: number[] = [];
    const store = { putBlob: async (bytes: Uint8Array) => `hash ${put.push(bytes.length)}` };
    const small = [part(LIMITS.inlineBytes - 2)];
    expect(await keepBytes(store, small)).toBe(small);
    expect(await keepBytes(store, [part(LIMITS.inlineBytes + 1)])).toEqual([
      { type: "file", mediaType: "x/y", data: { type: "blob", hash: "hash 1", size: LIMITS.inlineBytes + 1 } },
    ]);
    expect(put).toEqual([LIMITS.inlineBytes + 1]);
    await expect(keepBytes(store, [part(LIMITS.blobBytes + 1)])).rejects.toMatchObject({ code: "blob-too-large" });
    await expect(memoryStore().putBlob("h", new Uint8Array(LIMITS.blobBytes + 1))).rejects.toMatchObject({
      code: "blob-too-large",
    });
  });

  it("toolOutputBytes bounds the text of a result: first and last half, and how much is missing", async () => {
    const long = tool({ name: "long", description: "Long.", input: z.object({}), execute: () => "" });
    const whole = await toOutput(long, "x".repeat(LIMITS.toolOutputBytes));
    expect(whole).not.toHaveProperty("truncated");
    const cut = await toOutput(long, `a${"x".repeat(LIMITS.toolOutputBytes)}z`);
    const [part] = cut.content;
    if (part?.type !== "text") throw new Error("no text");
    expect(cut.truncated).toBe(true);
    expect(part.text.startsWith("axx")).toBe(true);
    expect(part.text.endsWith("xxz")).toBe(true);
    expect(part.text).toContain("\n[... 2 characters left out ...]\n");
    const emoji = await toOutput(long, "\u{1F600}".repeat(LIMITS.toolOutputBytes));
    expect(emoji.content[0]?.type === "text" && emoji.content[0].text.isWellFormed()).toBe(true);
  });
});
