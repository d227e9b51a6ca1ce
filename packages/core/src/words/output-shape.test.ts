import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "./limits.ts";
import { plugin } from "../ports/plugin.ts";
import { isOutput } from "./output-shape.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { ofType, logOf, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { type Tool, tool, type ToolResult } from "../ports/tool.ts";

const TEXT = { type: "text", text: "x" };

/** Outputs that claim to be ready, as JavaScript may give them. */
const BROKEN: { readonly [what: string]: unknown } = {
  "labels that are no list": { content: [TEXT], labels: 5 },
  "labels that are no texts": { content: [TEXT], labels: [5] },
  "a part that is null": { content: [null] },
  "a text that is none": { content: [{ type: "text", text: 5 }] },
  "a file without bytes": { content: [{ type: "file", mediaType: "image/png" }] },
  "a file of bytes that are none": {
    content: [{ type: "file", mediaType: "a/b", data: { type: "base64", base64: 5 } }],
  },
  "an unknown part": { content: [{ type: "video" }] },
  "a flag that is none": { content: [TEXT], isError: "yes" },
};

const turns = [{ calls: [{ name: "act", input: {} }] }, { text: "Ok." }];
const act = { name: "act", description: "Acts.", input: z.object({}), permission: "allow" } as const;

function guideOf(act: Tool, plugins: Parameters<typeof agent>[0]["plugins"] = []) {
  return agent({ name: "guide", model: scriptedModel(turns), instructions: "x", tools: [act], plugins });
}

/** What became of the one call, and whether the session goes on after it. */
async function resultOf(guide: ReturnType<typeof guideOf>) {
  const runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session<string>({ agent: "guide" });
  expect(await soon((await session.send("Go")).text())).toBe("Ok.");
  expect(await soon((await session.send("More")).text())).toBe("Done.");
  expect((await session.messages()).length).toBe(6);
  const [finished] = ofType(await logOf(runtime.store, session.id), "tool.finished");
  await runtime.close({ graceMs: 0 });
  return finished;
}

describe("an output with", () => {
  for (const [what, output] of Object.entries(BROKEN)) {
    it(`TOOL-04 G4 ${what} is none`, () => expect(isOutput(output)).toBe(false));

    it(`TOOL-04 G4 ${what} is an error of the tool that gave it, and the session goes on`, async () => {
      const broken = tool({ ...act, execute: () => output as ToolResult });
      expect(await resultOf(guideOf(broken))).toMatchObject({ status: "error" });
    });

    it(`HOOK-14 G4 ${what} from a hook is left for the tool's own`, async () => {
      const fine = tool({ ...act, execute: () => "fine" });
      const hook = plugin({ name: "hook", tool: async (call, _context, next) => (await next(call), output as never) });
      expect(await resultOf(guideOf(fine, [hook]))).toMatchObject({ output: { content: [{ text: "fine" }] } });
    });

    it(`DUR-06 G4 ${what} is no answer of a client`, async () => {
      const world = new World();
      const runtime = await world.open({ agents: [guideOf(tool(act))] });
      const run = await runtime.send("guide", "Go");
      await until(async () => ofType(await world.log(), "request.opened").length === 1);
      const [{ requestId } = { requestId: "" }] = ofType(await world.log(), "request.opened");
      const answer = { type: "client-tool", output } as never;
      await expect(run.session.respond(requestId, answer)).rejects.toMatchObject({ code: "request-invalid" });
      await soon(run.session.respond(requestId, { type: "client-tool", output: { content: [] } }));
      expect(await soon(run.text())).toBe("Ok.");
      await world.close();
    });
  }

  it("TOOL-04 takes all parts that there are", () => {
    const content = [
      TEXT,
      { type: "file", mediaType: "a/b", data: { type: "url", url: "https://x" }, name: "b" },
      { type: "file", mediaType: "a/b", data: { type: "blob", hash: "00", size: 1 } },
      { type: "diff", path: "a", before: "b", after: "c" },
    ];
    expect(isOutput({ content, labels: ["web"], isError: false, truncated: true, output: { any: 1 } })).toBe(true);
  });
});

describe("a long output", () => {
  const limit = LIMITS.toolOutputBytes;
  const LONG: { readonly [what: string]: () => ToolResult } = {
    "of many small texts": () => ({ content: Array.from({ length: limit / 8 }, () => ({ type: "text", text: "y" })) }),
    "that is an error": () => {
      throw new Error("z".repeat(2 * limit));
    },
  };
  for (const [what, execute] of Object.entries(LONG)) {
    it(`TOOL-04 G12 ${what} is cut, with a word on how much is missing`, async () => {
      const finished = await resultOf(guideOf(tool({ ...act, execute })));
      const text = JSON.stringify(finished?.output);
      expect(text.length).toBeLessThan(3 * limit);
      expect(text).toMatch(/\[\.\.\. \d+ (more texts|characters) left out \.\.\.\]/);
    });
  }

  it("TOOL-04 G12 of a hook is cut too", async () => {
    const hook = plugin({ name: "hook", tool: async (_call, context) => context.answer("y".repeat(2 * limit)) });
    const finished = await resultOf(guideOf(tool({ ...act, execute: () => "fine" }), [hook]));
    expect(JSON.stringify(finished?.output).length).toBeLessThan(limit + 200);
  });
});

describe("a tool of an author who", () => {
  const thrown: { readonly [what: string]: unknown } = {
    nothing: undefined,
    "an object without a prototype": Object.create(null),
    "an error whose message is none": Object.assign(new Error("x"), { message: { at: 5n } }),
    "an error whose message throws": Object.defineProperty(new Error("x"), "message", {
      get: () => {
        throw new Error("no");
      },
    }),
  };
  for (const [what, error] of Object.entries(thrown)) {
    it(`LOOP-29 G13 throws ${what} has a failed call, and the run goes on`, async () => {
      const execute = (): never => {
        throw error; // as JavaScript may
      };
      expect(await resultOf(guideOf(tool({ ...act, execute })))).toMatchObject({ status: "error" });
    });
  }

  it("PERM-05 G13 cannot say what a call touches has it denied, and the run goes on", async () => {
    const fails = (): never => {
      throw new Error("no");
    };
    for (const needs of [fails, () => [null], () => [{ type: "read", path: 5n }], () => [{ type: "all" }]])
      expect(await resultOf(guideOf(tool({ ...act, needs: needs as never, execute: () => "x" })))).toMatchObject({
        status: "denied",
      });
    for (const permission of [fails, () => "maybe" as never])
      expect(await resultOf(guideOf(tool({ ...act, permission, execute: () => "x" })))).toMatchObject({
        status: "denied",
      });
  });

  it("STREAM-01 G13 gives a title that is none has the tool's name shown", async () => {
    const titled = tool({ ...act, title: () => 5n as never, execute: () => "x" });
    expect(await resultOf(guideOf(titled))).toMatchObject({ status: "ok" });
  });
});
