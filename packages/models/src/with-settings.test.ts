import { describe, expect, it } from "vitest";
import { scriptedModel } from "@capstan/core/testing";
import { collectEvents, modelRequest } from "./testing/index.ts";
import { withSettings } from "./with-settings.ts";

const HELLO = modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] }]);

describe("withSettings", () => {
  it("MODEL-08 asks the same model under its own id, its settings beneath those of the request", async () => {
    const model = {
      ...scriptedModel([{ text: "Hi" }], { id: "acme/one", capabilities: { images: true } }),
      price: () => ({ input: 1, output: 2 }),
    };
    const short = withSettings(model, { maxOutputTokens: 500, temperature: 0.2, extraBody: { a: 1, b: { c: 2 } } });
    expect([short.id, short.capabilities, short.price?.()]).toEqual([model.id, model.capabilities, model.price()]);
    await collectEvents(short, { ...HELLO, settings: { temperature: 1, extraBody: { b: 3 } } });
    await collectEvents(short, HELLO);
    expect(model.requests.map(({ settings }) => settings)).toEqual([
      { maxOutputTokens: 500, temperature: 1, extraBody: { a: 1, b: 3 } },
      { maxOutputTokens: 500, temperature: 0.2, extraBody: { a: 1, b: { c: 2 } } },
    ]);
  });

  it("MODEL-08 nests: the outer settings win", async () => {
    const model = scriptedModel([{ text: "Hi" }]);
    await collectEvents(withSettings(withSettings(model, { reasoning: "high" }), { reasoning: "low" }), HELLO);
    expect(model.requests[0]?.settings).toEqual({ reasoning: "low" });
  });

  it("lets an extraBody that is no object replace the other", async () => {
    const model = scriptedModel([{ text: "Hi" }]);
    await collectEvents(withSettings(model, { extraBody: { a: 1 } }), { ...HELLO, settings: { extraBody: null } });
    expect(model.requests[0]?.settings).toEqual({ extraBody: null });
  });
});
