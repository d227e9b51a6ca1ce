import { flowTool, jsonSchema, type Json, tool, type Tool } from "@capstan/core";
import { crashSweep, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, play, workerOf } from "../file-world.ts";
import { dedup, type DedupOptions } from "./index.ts";

const input = z.object({ q: z.string(), page: z.number().default(1) });
function countingTool(
  name: string,
  ran: string[],
  definition: { readonly rerun?: "safe" | "never"; readonly fails?: boolean } = {},
): Tool {
  return tool({
    name,
    description: "Counts.",
    input,
    rerun: definition.rerun ?? "safe",
    execute({ q, page }) {
      ran.push(`${name} ${q} ${page}`);
      if (definition.fails === true) throw new Error(`failed ${ran.length}`);
      return `${name} ${q} is ${ran.length}`;
    },
  });
}
const turn = (name: string, q: string, page?: number): ScriptedReply => ({
  calls: [call(name, { q, ...(page !== undefined && { page }) })],
});

describe("dedup", () => {
  it("TOOL-19 answers an equal call with the earlier result and does not make it", async () => {
    const ran: string[] = [];
    const { results } = await play({
      tools: [countingTool("find", ran)],
      plugins: [dedup({ tools: { find: true } })],
      turns: [turn("find", "a"), turn("find", "b"), turn("find", "a", 1), turn("find", "a", 2)],
    });
    expect(results).toEqual([
      "find ok: find a is 1",
      "find ok: find b is 2",
      "find ok: find a is 1",
      "find ok: find a is 3",
    ]);
    expect(ran).toEqual(["find a 1", "find b 1", "find a 2"]);
  });

  it("TOOL-19 compares by the tool's own function, which can leave calls out", async () => {
    const ran: string[] = [];
    const key = (given: Json): string | undefined => {
      const { q } = given as { readonly q: string };
      return q.includes("now") ? undefined : q.trim().toLowerCase();
    };
    await play({
      tools: [countingTool("find", ran), countingTool("other", ran)],
      plugins: [dedup({ tools: { find: key } })],
      turns: [
        turn("find", "A "),
        turn("find", "a"),
        turn("find", "now"),
        turn("find", "now"),
        turn("other", "a"),
        turn("other", "a"),
      ],
    });
    expect(ran.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "find A",
      "find now",
      "find now",
      "other a",
      "other a",
    ]);
  });

  it("TOOL-19 never leaves out a call with effects unless it was told to", async () => {
    const ran: string[] = [];
    const flow = flowTool({ name: "flow", description: "Flows.", input, flow: ({ q }) => void ran.push(`flow ${q}`) });
    await play({
      tools: [countingTool("pay", ran, { rerun: "never" }), countingTool("plan", ran, { rerun: "never" }), flow],
      plugins: [dedup({ tools: { pay: true, flow: true, plan: { effects: true } } })],
      turns: ["pay", "pay", "flow", "flow", "plan", "plan"].map((name) => turn(name, "a")),
    });
    expect(ran).toEqual(["pay a 1", "pay a 1", "flow a", "flow a", "plan a 1"]);
  });

  it("TOOL-19 makes a call again after one with effects, unless its results last", async () => {
    const ran: string[] = [];
    await play({
      tools: [countingTool("find", ran), countingTool("sum", ran), countingTool("edit", ran, { rerun: "never" })],
      plugins: [dedup({ tools: { find: true, sum: { lasting: true } } })],
      turns: [turn("find", "a"), turn("sum", "a"), turn("edit", "x"), turn("find", "a"), turn("sum", "a")],
    });
    expect(ran).toEqual(["find a 1", "sum a 1", "edit x 1", "find a 1"]);
  });

  it("TOOL-19 keeps nothing of a call that failed, and nothing beyond the run", async () => {
    const ran: string[] = [];
    const { results } = await play({
      tools: [countingTool("find", ran), countingTool("fail", ran, { fails: true })],
      plugins: [dedup({ tools: { find: true, fail: true } })],
      inputs: ["one", "two"],
      turns: [
        turn("fail", "a"),
        turn("fail", "a"),
        turn("find", "a"),
        { text: "ok" },
        turn("find", "a"),
        { text: "ok" },
      ],
    });
    expect(results).toEqual([
      "fail error: failed 1",
      "fail error: failed 2",
      "find ok: find a is 3",
      "find ok: find a is 4",
    ]);
  });

  it("TOOL-19 gives back the whole result: files, structure, labels, whatever its size", async () => {
    const base64 = Buffer.alloc(40_000, 7).toString("base64");
    const rich = tool({
      name: "rich",
      description: "Rich.",
      input: jsonSchema({ type: "object" }),
      rerun: "safe",
      execute: () => ({
        content: [
          { type: "text" as const, text: "x".repeat(100_000) },
          { type: "file" as const, mediaType: "image/png", data: { type: "base64" as const, base64 } },
        ],
        labels: ["web"],
        truncated: true,
      }),
    });
    const { log } = await play({
      tools: [rich],
      plugins: [dedup({ tools: { rich: true } })],
      turns: [{ calls: [call("rich", {})] }, { calls: [call("rich", {})] }],
    });
    const [first, second] = log.filter((fact) => fact.type === "tool.finished");
    expect(second?.output).toEqual(first?.output);
    expect(log.filter((fact) => fact.type === "tool.started")).toHaveLength(1);
  });

  it("TOOL-19 comes to the same end after a crash at any write", async () => {
    const { worker } = workerOf({
      tools: [
        countingTool("find", []),
        tool({ name: "same", description: "Same.", input, rerun: "safe", execute: ({ q }) => q }),
      ],
      plugins: [dedup({ tools: { same: true } })],
      turns: [turn("same", "a"), { calls: [call("same", { q: "a" }), call("same", { q: "b" })] }, turn("same", "b")],
    });
    await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }) });
  });

  it("refuses what is no way to compare calls", () => {
    for (const find of ["yes", null, { key: 5 }]) {
      const options = { tools: { find } } as unknown as DedupOptions;
      expect(() => dedup(options)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    }
  });
});
