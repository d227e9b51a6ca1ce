import { agent, CapstanError, type Json, type ToolContext, type ToolOutput } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { dynamicTool, jsonSchema, tool as aiTool, zodSchema } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdk, fromAiTools } from "./ai-sdk.ts";
import { scriptedAiModel } from "./testing/index.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const city = z.object({ city: z.string() });

const context = { callId: "c1", signal: new AbortController().signal, progress: () => {} } as unknown as ToolContext; // what the conversion uses of it

type AnyTool = Parameters<typeof fromAiTools>[0][string];

async function run(
  definition: AnyTool,
  input: Json = { city: "Oslo" },
  given: ToolContext = context,
): Promise<ToolOutput> {
  const [made] = fromAiTools({ weather: definition });
  if (made?.body.type !== "execute") throw new Error("it has no body");
  return (await made.body.execute(input, given)) as ToolOutput;
}

describe("fromAiTools", () => {
  it("MODEL-11 keeps name, description, schema and title, and runs nothing twice unless told", () => {
    const definition = aiTool({
      description: "Tells the weather.",
      title: "Weather",
      inputSchema: city,
      execute: () => "rain",
    });
    const [made, other] = fromAiTools({ weather: definition, other: definition }, { rerun: { other: "safe" } });
    expect(made).toMatchObject({
      name: "weather",
      description: "Tells the weather.",
      rerun: "never",
      body: { type: "execute" },
    });
    expect(made?.inputSchema).toMatchObject({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    });
    expect([made?.title({}), other?.rerun]).toEqual(["Weather", "safe"]);
  });

  it("takes every kind of schema of the AI SDK, with its check", async () => {
    const plain = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
    const strict = jsonSchema<{ city: string }>(plain, {
      validate: (value) =>
        typeof value === "object" && value !== null && "city" in value
          ? { success: true, value: value as { city: string } }
          : { success: false, error: new Error("no city") },
    });
    for (const inputSchema of [strict, zodSchema(city), () => strict, city]) {
      const [made] = fromAiTools({ weather: { inputSchema, execute: () => "rain" } });
      expect(made?.inputSchema).toMatchObject(plain);
      expect(await made?.schema["~standard"].validate({ city: "Oslo" })).toMatchObject({ value: { city: "Oslo" } });
      expect((await made?.schema["~standard"].validate({}))?.issues).toHaveLength(1);
    }
    const [unchecked] = fromAiTools({
      weather: dynamicTool({ description: "x", inputSchema: jsonSchema(plain), execute: () => Promise.resolve(1) }),
    });
    expect(await unchecked?.schema["~standard"].validate({ city: "Oslo", any: 1 })).toEqual({
      value: { city: "Oslo", any: 1 },
    });
  });

  it("TOOL-04 gives text, values, nothing and content with images as outputs", async () => {
    const of = (result: unknown): AnyTool => ({ inputSchema: city, execute: () => result });
    expect(await run(of("rain"))).toEqual({ content: [{ type: "text", text: "rain" }] });
    expect(await run(of(Promise.resolve({ degrees: 3 })))).toEqual({
      content: [{ type: "text", text: '{"degrees":3}' }],
    });
    // a value that looks like an output of ours is still a value
    expect(await run(of({ content: [{ type: "text", text: "x" }] }))).toEqual({
      content: [{ type: "text", text: '{"content":[{"type":"text","text":"x"}]}' }],
    });
    expect(await run(of(undefined))).toEqual({ content: [{ type: "text", text: "Done." }] });
    expect(await run(of(10n))).toMatchObject({ isError: true });
    const typed = (value: unknown): AnyTool => ({
      inputSchema: city,
      outputSchema: z.object({ degrees: z.number() }),
      execute: () => value,
    });
    expect(await run(typed({ degrees: 3 }))).toEqual({
      content: [{ type: "text", text: '{"degrees":3}' }],
      output: { degrees: 3 },
    });
    expect(await run(typed({ degrees: "3" }))).toMatchObject({ isError: true });
    const shot = aiTool({
      inputSchema: city,
      execute: () => ({ png: new Uint8Array(Buffer.from(PNG, "base64")) }),
      toModelOutput: ({ toolCallId, input, output }) => ({
        type: "content",
        value: [
          { type: "text", text: `${toolCallId} ${input.city}` },
          { type: "file", data: { type: "data", data: output.png }, mediaType: "image/png" },
        ],
      }),
    });
    expect(await run(shot)).toEqual({
      content: [
        { type: "text", text: "c1 Oslo" },
        { type: "file", mediaType: "image/png", data: { type: "base64", base64: PNG } },
      ],
    });
  });

  it("hands over the call's id and signal, and lets errors through", async () => {
    const given = await new Promise<object>(
      (resolve) => void run({ inputSchema: city, execute: (_input, options) => resolve(options) }),
    );
    expect(given).toMatchObject({ toolCallId: "c1", messages: [], abortSignal: context.signal });
    await expect(run({ inputSchema: city, execute: () => Promise.reject(new Error("no net")) })).rejects.toThrow(
      "no net",
    );
  });

  it("shows what a generator gives before its last value", async () => {
    const shown: unknown[] = [];
    const steps = async function* (): AsyncGenerator<string> {
      yield "looking";
      yield* ["found", "rain"];
      await Promise.resolve();
    };
    const output = await run(
      { inputSchema: city, execute: steps },
      {},
      { ...context, progress: (update) => shown.push(update) },
    );
    expect([output.content, shown]).toEqual([
      [{ type: "text", text: "rain" }],
      [{ message: "looking" }, { message: "found" }],
    ]);
  });

  it("asks where the AI SDK would ask for approval", () => {
    const permissionOf = (needsApproval: NonNullable<AnyTool["needsApproval"]>) => {
      const [made] = fromAiTools({ weather: { inputSchema: city, needsApproval, execute: () => "rain" } });
      return typeof made?.permission === "function" ? made.permission({ city: "Oslo" }) : made?.permission;
    };
    expect([permissionOf(true), permissionOf(false)]).toEqual(["ask", undefined]);
    expect(permissionOf(({ city: where }: { city: string }) => where === "Oslo")).toBe("ask");
    expect(permissionOf(({ city: where }: { city: string }) => where === "Rome")).toBe("allow");
    expect(permissionOf(() => Promise.resolve(false))).toBe("ask");
    expect(permissionOf(() => Promise.reject(new Error("x")))).toBe("ask");
  });

  it("leaves tools without a body to clients and refuses those of a provider", () => {
    expect(
      fromAiTools({ pick: aiTool({ description: "Asks.", inputSchema: city, outputSchema: z.string() }) })[0]?.body,
    ).toEqual({ type: "client" });
    const theirs = { type: "provider", inputSchema: city } as const;
    for (const wrong of [
      { search: theirs },
      { "bad name": { inputSchema: city } },
      { late: { inputSchema: { jsonSchema: Promise.resolve({}) } } },
      { none: { inputSchema: undefined } },
    ]) {
      expect(() => fromAiTools(wrong)).toThrow(CapstanError);
    }
  });

  it("MODEL-11 OUT-03 runs in an agent with a model of the AI SDK, tools and a typed output together", async () => {
    const usage = { inputTokens: { total: 5 }, outputTokens: { total: 5 } };
    const call = { type: "tool-call", toolCallId: "call_1", toolName: "weather", input: '{"city":"Oslo"}' };
    const text = (delta: string): readonly object[] => [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta },
      { type: "text-end", id: "0" },
    ];
    const source = scriptedAiModel("v4", [
      { parts: [call, { type: "finish", usage, finishReason: { unified: "tool-calls", raw: "tool_calls" } }] },
      { parts: [...text('{"degrees":3}'), { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } }] },
    ]);
    const weather = aiTool({
      description: "Tells the weather.",
      inputSchema: city,
      execute: ({ city: where }) => `${where}: 3 degrees`,
    });
    const guide = agent({
      name: "guide",
      model: aiSdk(source),
      instructions: "Answer.",
      tools: [...fromAiTools({ weather })],
      output: z.object({ degrees: z.number() }),
    });
    await using runtime = await testRuntime({ agents: [guide] });
    const started = await runtime.send(guide, "How warm is it in Oslo?");
    const deltas: string[] = [];
    for await (const { text: delta } of started.deltas()) deltas.push(delta);
    expect([await started.output(), deltas.join("")]).toEqual([{ degrees: 3 }, '{"degrees":3}']);
    expect(
      source.calls.map((asked) => [
        Array.isArray(asked["tools"]),
        (asked["responseFormat"] as { readonly type: string }).type,
      ]),
    ).toEqual([
      [true, "json"],
      [true, "json"],
    ]);
    expect(source.calls[1]?.prompt.slice(2)).toMatchObject([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "call_1", input: { city: "Oslo" } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "call_1", output: { type: "text", value: "Oslo: 3 degrees" } }],
      },
    ]);
  });
});
