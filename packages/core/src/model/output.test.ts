import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import type { ModelCapabilities } from "../ports/model.ts";
import { FINAL_TOOL } from "../ports/output-spec.ts";
import { jsonSchema } from "../words/schema.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { transcript } from "../testing/transcript.ts";
import { tool } from "../ports/tool.ts";

const Weather = z.object({ city: z.string(), degrees: z.number().transform((value) => Math.round(value)) });
const NATIVE: ModelCapabilities = { structured: true };
const oslo = { city: "Oslo", degrees: 11.6 };
const look = tool({
  name: "look",
  description: "Looks out of the window.",
  input: z.object({}),
  rerun: "safe",
  execute: () => "rain",
});

function guide(replies: readonly ScriptedReply[], capabilities: ModelCapabilities, output: typeof Weather | undefined) {
  const model = scriptedModel(replies, { capabilities });
  const made = agent({
    name: "guide",
    model,
    instructions: "Tell the weather.",
    tools: [look],
    ...(output !== undefined && { output }),
  });
  return { model, made: made as typeof made & { output?: typeof Weather } };
}

async function ran(replies: readonly ScriptedReply[], capabilities: ModelCapabilities = {}) {
  const { model, made } = guide(replies, capabilities, Weather);
  await using runtime = await testRuntime({ agents: [made] });
  const run = await runtime.send(made, "Oslo?");
  const result = await run.result();
  const output: unknown = await run.output().catch((error: unknown) => error);
  return { model, result, output, log: await transcript(run) };
}

const finalCall = (input: object): ScriptedReply => ({
  calls: [{ name: FINAL_TOOL, input: JSON.parse(JSON.stringify(input)) }],
});

describe("structured output", () => {
  it("OUT-01 gives the schema to a model that takes one, and the parsed value to the caller", async () => {
    const { model, output, result } = await ran([{ text: JSON.stringify(oslo) }], NATIVE);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
    expect(result).toMatchObject({ reason: "end-turn", turns: 1, output: { degrees: 12 } });
    expect(model.requests[0]?.settings.outputSchema).toMatchObject({ type: "object", required: ["city", "degrees"] });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
  });

  it("OUT-01 writes the value into run.finished", async () => {
    const { made } = guide([{ text: JSON.stringify(oslo) }], NATIVE, Weather);
    await using runtime = await testRuntime({ agents: [made] });
    const run = await runtime.send(made, "Oslo?");
    for await (const { event } of run.events()) {
      if (event.type === "run.finished") expect(event.output).toEqual({ city: "Oslo", degrees: 12 });
    }
    expect.assertions(1);
  });

  it("OUT-03 lets a model without schemas work with tools first and then give its answer by a last tool", async () => {
    const { model, output, result } = await ran([{ calls: [{ name: "look", input: {} }] }, finalCall(oslo)]);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
    expect(result).toMatchObject({ reason: "end-turn", turns: 2, text: JSON.stringify(oslo) });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look", FINAL_TOOL]);
    expect(model.requests[0]?.settings.outputSchema).toBeUndefined();
  });

  it("OUT-03 waits for calls beside the last tool", async () => {
    const both: ScriptedReply = {
      calls: [
        { name: FINAL_TOOL, input: oslo },
        { name: "look", input: {} },
      ],
    };
    const { result, output, log } = await ran([both]);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
    expect(result.reason).toBe("end-turn");
    expect(log).toContain("rain");
  });

  it("OUT-02 tells the model once what does not fit, and takes the repaired answer", async () => {
    const { model, output } = await ran([{ text: "Rain, 12 degrees." }, { text: JSON.stringify(oslo) }], NATIVE);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1)?.parts)).toContain("it is not JSON");
  });

  it("OUT-02 asks for the last tool by name after an answer without it", async () => {
    const { model, output } = await ran([{ text: "Rain." }, finalCall(oslo)]);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
    expect(model.requests[1]?.settings.toolChoice).toEqual({ tool: FINAL_TOOL });
  });

  it("OUT-02 refuses wrong arguments of the last tool like those of any tool", async () => {
    const { output } = await ran([finalCall({ city: "Oslo" }), finalCall(oslo)]);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
  });

  for (const [name, capabilities] of [
    ["a model that takes schemas", NATIVE],
    ["a model that takes none", {}],
  ] as const) {
    it(`OUT-02 ends in output-invalid when the repair of ${name} fails too`, async () => {
      const { output, result } = await ran(
        [{ text: "Rain." }, { text: '{"city":1}' }, { text: "never asked" }],
        capabilities,
      );
      expect(CapstanError.is(output, "output-invalid")).toBe(true);
      expect(result).toMatchObject({ reason: "error", turns: 2, error: { code: "output-invalid", retryable: false } });
    });
  }

  it("OUT-01 takes a schema with one send, also as JSON Schema text", async () => {
    const { made, model } = guide(
      [{ text: "[1,2]" }, { text: '{"answer":[1,2]}' }, { text: '{"a":true}' }],
      NATIVE,
      undefined,
    );
    await using runtime = await testRuntime({ agents: [made] });
    const first = await runtime.send(made, "Numbers?", { output: z.array(z.number()) });
    expect(await first.output()).toEqual([1, 2]);
    expect(model.requests[0]?.settings.outputSchema).toMatchObject({ type: "object", required: ["answer"] });
    const schema = { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] };
    const second = await first.session.send("And?", { output: jsonSchema<{ a: boolean }>(schema) });
    expect((await second.output()).a).toBe(true);
  });

  it("reads JSON in one fenced block", async () => {
    const { output } = await ran([{ text: `\`\`\`json\n${JSON.stringify(oslo)}\n\`\`\`` }], NATIVE);
    expect(output).toEqual({ city: "Oslo", degrees: 12 });
  });

  it("EDGE-01 ends the same way whenever it crashes", async () => {
    const { made } = guide([{ calls: [{ name: "look", input: {} }] }, { text: "Rain." }, finalCall(oslo)], {}, Weather);
    const { crashes } = await crashSweep({
      agents: [made],
      journey: async (runtime) => (await runtime.send(made, "Oslo?", { idempotencyKey: "one" })).output(),
    });
    expect(crashes).toBeGreaterThan(10);
  });
});
