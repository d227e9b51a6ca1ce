import { describe, expect, it } from "vitest";
import { tool } from "@capstan/core";
import { z } from "zod";
import { dedup } from "../dedup/index.ts";
import { call, play } from "../file-world.ts";
import { toolUsage } from "./index.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ n: z.int() }),
  rerun: "safe",
  execute: () => "seen",
});
const guarded = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ n: z.int() }),
  permission: "ask",
  execute: () => "paid",
});

describe("toolUsage", () => {
  it("OBS-07 counts calls, ends, questions, repetitions and plugin answers by agent and tool over sessions", async () => {
    const usage = toolUsage();
    for (let session = 0; session < 2; session++) {
      const { log } = await play({
        tools: [look, guarded],
        plugins: [dedup({ tools: { look: true } })],
        turns: [
          { calls: [call("look", { n: 1 }), call("pay", { n: 1 })] },
          { calls: [call("look", { n: 1 }), call("look", { n: 2 }), call("nope", {})] },
          { text: "ok" },
        ],
      });
      for (const fact of log) usage.add(fact);
    }
    const [first, ...others] = usage.report();
    expect(first).toEqual({
      agent: "worker",
      tool: "look",
      calls: 6,
      ends: { ok: 6 },
      asked: 0,
      allowed: 0,
      repeated: 2,
      decidedByPlugins: 2,
      p50Ms: 0,
      p95Ms: 0,
      maxMs: 0,
      outputCharacters: expect.any(Number),
    });
    expect(others.map(({ tool: name, calls, ends }) => [name, calls, ends])).toEqual([
      ["pay", 2, { denied: 2 }],
      ["nope", 2, { error: 2 }],
    ]);
  });

  it("OBS-07 tells times apart from those of calls that did not run", () => {
    const usage = toolUsage();
    const base = { key: "k", seq: 1, at: 1 };
    for (let n = 1; n <= 100; n++)
      usage.add({
        ...base,
        type: "tool.finished",
        callId: `c${n}`,
        name: "look",
        status: "ok",
        durationMs: n,
        output: { content: [{ type: "text", text: "12345" }] },
      });
    usage.add({
      ...base,
      type: "tool.finished",
      callId: "d",
      name: "look",
      status: "denied",
      durationMs: 9_999,
      output: { content: [] },
    });
    usage.add({
      ...base,
      type: "request.opened",
      requestId: "r",
      expiresAt: 1,
      request: {
        type: "permission",
        callId: "d",
        tool: "look",
        input: {},
        title: "",
        binding: { inputHash: "", toolHash: "" },
        remember: [],
      },
    });
    usage.add({
      ...base,
      type: "request.resolved",
      requestId: "r",
      answer: { type: "permission", allow: true },
      by: { id: "ann", door: "x" },
    });
    expect(usage.report()[0]).toMatchObject({
      p50Ms: 50,
      p95Ms: 95,
      maxMs: 100,
      asked: 1,
      allowed: 1,
      outputCharacters: 500,
    });
  });
});
