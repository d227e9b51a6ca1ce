import { describe, expect, it } from "vitest";
import { fakeClock, scriptedModel } from "@capstan/core/testing";
import { deferredModel } from "./deferred-model.ts";
import { collectEvents, modelRequest, partsOf } from "./testing/index.ts";

const HELLO = modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] }]);
const made = (name: string) => scriptedModel([{ text: name }], { id: `acme/${name}` });

describe("deferredModel", () => {
  it("MODEL-11 makes the model at the first call, once for all calls that wait", async () => {
    let times = 0;
    const model = deferredModel("acme/late", () => Promise.resolve(made(`number ${++times}`)), {
      capabilities: { images: true },
    });
    expect([times, model.id, model.capabilities]).toEqual([0, "acme/late", { images: true }]);
    const answers = await Promise.all([1, 2, 3].map(() => collectEvents(model, HELLO)));
    expect(answers.map((events) => partsOf(events))).toEqual([1, 2, 3].map(() => [{ type: "text", text: "number 1" }]));
    expect(times).toBe(1);
  });

  it("MODEL-11 makes it again when it is too old", async () => {
    const clock = fakeClock();
    let times = 0;
    const model = deferredModel("acme/late", () => made(`number ${++times}`), { maxAgeMs: 1_000, clock });
    const answer = async () => partsOf(await collectEvents(model, HELLO))[0];
    expect(await answer()).toMatchObject({ text: "number 1" });
    await clock.advance(999);
    expect(await answer()).toMatchObject({ text: "number 1" });
    await clock.advance(1);
    expect(await answer()).toMatchObject({ text: "number 2" });
  });

  it("MODEL-11 fails the call with the error of `make`, and tries again for the next", async () => {
    let times = 0;
    const model = deferredModel("acme/late", () => {
      times += 1;
      if (times === 1) throw new Error("the vault is sealed");
      return made("there");
    });
    await expect(collectEvents(model, HELLO)).rejects.toThrow("the vault is sealed");
    expect(partsOf(await collectEvents(model, HELLO))).toEqual([{ type: "text", text: "there" }]);
  });

  it("makes nothing for a call that was aborted before", async () => {
    const model = deferredModel("acme/late", () => Promise.reject(new Error("made")));
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(collectEvents(model, { ...HELLO, signal })).rejects.toThrow("stopped");
  });
});
