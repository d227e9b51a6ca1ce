import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import type { Json } from "../words/json.ts";
import type { Part } from "../words/message.ts";
import { plugin, type PluginDefinition } from "../ports/plugin.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { flowTool, tool } from "../ports/tool.ts";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

/** Values that the types forbid and JavaScript does not. */
const REFUSED: { readonly [name: string]: unknown } = { cyclic, "a BigInt": 10n, "a BigInt inside": { sums: [1n] } };
const WRITTEN: readonly (readonly [name: string, value: unknown, json: Json])[] = [
  ["undefined", undefined, null],
  ["a function", () => 1, null],
  ["NaN", Number.NaN, null],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["a member that is undefined", { a: 1, b: undefined }, { a: 1 }],
];

/** A flow whose first step gives the value, beside a step that gives a text. */
async function play(value: unknown) {
  let seen: unknown;
  const work = flowTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    async flow(_input, { step }) {
      const [first, second] = await Promise.allSettled([
        step("odd", { rerun: "safe" }, () => value as Json),
        step("plain", { rerun: "safe" }, () => "plain"),
      ]);
      seen = first.status === "fulfilled" ? first.value : undefined;
      if (first.status === "rejected") throw first.reason;
      return second.status === "fulfilled" ? second.value : "lost";
    },
  });
  const model = scriptedModel([{ calls: [{ name: "work", input: {} }] }, { text: "Ok." }]);
  const guide = agent({ name: "guide", model, instructions: "x", tools: [work] });
  const runtime = await testRuntime({ agents: [guide] });
  const run = await runtime.send(guide, "Go");
  const text = await soon(run.text());
  const log = await logOf(runtime.store, run.session.id);
  await runtime.close();
  return { text, seen, end: ofType(log, "tool.finished")[0], steps: ofType(log, "step.finished") };
}

describe("the value of a step", () => {
  for (const [name, value, json] of WRITTEN) {
    it(`EDGE-02 is ${JSON.stringify(json)} for ${name}, now as after a restart`, async () => {
      const { text, seen, steps, end } = await play(value);
      expect(seen).toEqual(json);
      expect(steps.find((step) => step.name.endsWith("/odd"))?.value).toEqual(json);
      expect(end?.status).toBe("ok");
      expect(text).toBe("Ok.");
    });
  }

  for (const [name, value] of Object.entries(REFUSED)) {
    it(`EDGE-02 that is ${name} fails its step by name, and no other write of the session`, async () => {
      const { text, steps, end } = await play(value);
      const problem = expect.stringMatching(/step\/odd returned something that cannot be written as JSON/);
      expect(end).toMatchObject({ status: "error", output: { isError: true, content: [{ text: problem }] } });
      expect(steps.map((step) => [step.name.split("/").at(-1), step.value, step.failed])).toEqual(
        expect.arrayContaining([
          ["odd", null, problem],
          ["plain", "plain", undefined],
        ]),
      );
      expect(text).toBe("Ok.");
    });
  }
});

describe("what a plugin or a tool gives", () => {
  const run = async (more: Partial<PluginDefinition<undefined>>, execute: () => unknown = () => "echo") => {
    const echo = tool({
      name: "echo",
      description: "Echoes.",
      input: z.any(),
      rerun: "safe",
      execute: execute as () => string,
    });
    const odd = plugin({ name: "odd", ...more });
    const model = scriptedModel([{ calls: [{ name: "echo", input: {} }] }, { text: "Ok." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [echo], plugins: [odd] });
    const runtime = await testRuntime({ agents: [guide] });
    const started = await runtime.send(guide, "Go");
    const result = await soon(started.result());
    const log = await logOf(runtime.store, started.session.id);
    const next = await soon((await started.session.send("Again")).result());
    await runtime.close();
    return { result, end: ofType(log, "tool.finished")[0], data: ofType(log, "data"), next };
  };
  const problem = expect.stringContaining("cannot be written as JSON");

  for (const [name, value] of Object.entries(REFUSED)) {
    const bad = value as Json;

    it(`HOOK-14 a record that is ${name} fails its hook, not the session`, async () => {
      const { result, data, next } = await run({ prepare: (_request, context) => context.record(bad) });
      expect(result).toMatchObject({ status: "finished", reason: "error", error: { message: problem } });
      expect(data).toEqual([]);
      expect(next.status).toBe("finished");
    });

    it(`HOOK-14 an input with ${name} in it fails the run, not the session`, async () => {
      const { result, next } = await run({
        input: (message, _context, then) =>
          then({ ...message, parts: [{ type: "text", text: "x", odd: bad } as Part] }),
      });
      expect(result).toMatchObject({ status: "finished", reason: "error", error: { message: problem } });
      expect(next.status).toBe("finished");
    });

    it(`HOOK-14 TOOL-19 an output of a hook with ${name} in it is left for the tool's own`, async () => {
      const { result, end } = await run({
        async tool(call, _context, then) {
          await then(call);
          return { content: [], output: bad };
        },
      });
      expect(end).toMatchObject({ status: "ok", output: { content: [{ text: "echo" }] } });
      expect(result.text).toBe("Ok.");
    });

    it(`HOOK-07 HOOK-14 arguments that a hook changed to ${name} refuse the call`, async () => {
      const { result, end } = await run({ tool: (call, _context, then) => then({ ...call, input: bad }) });
      expect(end).toMatchObject({ status: "denied", output: { content: [{ text: problem }] } });
      expect(result.text).toBe("Ok.");
    });

    it(`TOOL-04 a ready output with ${name} in it is an error of the tool`, async () => {
      const { result, end } = await run({}, () => ({ content: [], output: value }));
      expect(end).toMatchObject({ status: "error", output: { content: [{ text: problem }] } });
      expect(result.text).toBe("Ok.");
    });
  }
});
