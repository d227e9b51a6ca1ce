import { describe, expect, it } from "vitest";
import { z } from "zod";
import { builtIn, flowTool, tool, type ToolDefinition } from "./tool.ts";

const input = z.object({ city: z.string() });
const define = (change: Partial<ToolDefinition<{ city: string }>> = {}) =>
  tool({ name: "weather", description: "Weather.", input, execute: () => "rain", ...change });

describe("tool", () => {
  it("TOOL-01 has careful defaults", () => {
    expect(define()).toMatchObject({
      name: "weather",
      description: "Weather.",
      kind: "other",
      rerun: "never",
      parallel: false,
      interruptible: true,
      builtIn: false,
      body: { type: "execute" },
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    });
    expect(define()).not.toHaveProperty("permission");
    expect(define().needs({ city: "x" })).toEqual([{ type: "other", what: "weather" }]);
    expect(define().title({ city: "x" })).toBe("weather");
    expect(Object.isFrozen(define())).toBe(true);
  });

  it("TOOL-10 without a body it is a client tool", () => {
    expect(tool({ name: "map", description: "Map.", input }).body).toEqual({ type: "client" });
  });

  it("TOOL-01 refuses names that providers refuse", () => {
    for (const name of ["", " ", "1a", "a b", "a.b", "ä", "a/b", "_a", "a".repeat(65)])
      expect(() => define({ name })).toThrow(expect.objectContaining({ code: "tool-invalid" }));
    for (const name of ["a", "read_file", "x-1", "a".repeat(64)]) expect(define({ name }).name).toBe(name);
  });

  it("TOOL-01 needs a description, and a schema that can be written down", () => {
    expect(() => define({ description: " " })).toThrow(expect.objectContaining({ code: "tool-invalid" }));
    const mute = { "~standard": { version: 1, vendor: "mute", validate: (value: unknown) => ({ value }) } } as const;
    expect(() => tool({ name: "x", description: "x", input: mute })).toThrow(/cannot render JSON Schema/);
  });

  it("EDGE-06 its hash changes with name, description, schema and rerun, and not with its code", () => {
    const { hash } = define();
    expect(define({ execute: () => "sun", title: () => "T", timeoutMs: 5 }).hash).toBe(hash);
    for (const change of [
      { name: "other" },
      { description: "Other." },
      { input: z.object({ city: z.number() }) as never },
      { rerun: "safe" as const },
    ]) {
      expect(define(change).hash).not.toBe(hash);
    }
  });

  it("a flow is safe to run again, because each of its steps is recorded", () => {
    const made = flowTool({ name: "deploy", description: "Deploys.", input, flow: async () => "ok" });
    expect(made).toMatchObject({ rerun: "safe", interruptible: true, body: { type: "flow" } });
  });

  it("builtIn marks a copy", () => {
    const made = define();
    expect(builtIn(made)).toEqual({ ...made, builtIn: true });
    expect(made.builtIn).toBe(false);
  });
});
