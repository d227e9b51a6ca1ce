import { describe, expect, it } from "vitest";
import { agent, type Plugin, textOf, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { nearestNames, unknownTool } from "./index.ts";

const readFile = tool({
  name: "read_file",
  description: "Reads.",
  input: z.object({ path: z.string() }),
  rerun: "safe",
  execute: () => "text",
});

/** Status and text of one call. */
async function ended(plugin: Plugin, name: string, input = {}): Promise<readonly unknown[]> {
  const model = scriptedModel([{ calls: [{ name, input }] }, { text: "Done." }]);
  const one = agent({ name: "one", model, instructions: "x", tools: [readFile], plugins: [plugin] });
  await using runtime = await testRuntime({ agents: [one] });
  await (await runtime.send(one, "Go")).result();
  const log = await runtime.store.read("ses_1", { after: 0, limit: 100 });
  return log.flatMap((fact) => (fact.type === "tool.finished" ? [fact.status, textOf(fact.output.content)] : []));
}

describe("unknownTool", () => {
  it("TOOL-14 names the nearest tools, and leaves the standard answer when none is near", async () => {
    expect(await ended(unknownTool(), "readFile")).toEqual([
      "error",
      'There is no tool named "readFile". Did you mean read_file? Nothing was done.',
    ]);
    expect(await ended(unknownTool(), "deploy")).toEqual([
      "error",
      'There is no tool named "deploy". Available: read_file.',
    ]);
  });

  it("TOOL-14 gives the answer of the author, as an error or as a result", async () => {
    const told: unknown[] = [];
    const plugin = unknownTool((call) => {
      told.push(call);
      if (call.name === "help") return { content: [{ type: "text", text: "42" }] };
      return call.name === "ask" ? "Ask the user in words." : undefined;
    });
    expect(await ended(plugin, "help", { topic: "x" })).toEqual(["ok", "42"]);
    expect(await ended(plugin, "ask")).toEqual(["error", "Ask the user in words."]);
    expect((await ended(plugin, "read-file"))[1]).toMatch(/Did you mean read_file/);
    expect(told[0]).toEqual({
      callId: expect.any(String) as string,
      name: "help",
      input: { topic: "x" },
      cause: "unknown-tool",
      known: ["read_file"],
    });
  });

  it("leaves wrong arguments to others, and its own failure changes nothing", async () => {
    expect(
      (
        await ended(
          unknownTool(() => "x"),
          "read_file",
        )
      )[1],
    ).toMatch(/^Wrong arguments for read_file/);
    const broken = unknownTool(() => {
      throw new Error("broken");
    });
    expect((await ended(broken, "deploy"))[1]).toBe('There is no tool named "deploy". Available: read_file.');
  });

  it("finds names by case, punctuation, parts and few letters", () => {
    const known = ["read_file", "write_file", "shell", "grep", "multi_edit"];
    expect(nearestNames("ReadFile", known)).toEqual(["read_file"]);
    expect(nearestNames("read", known)).toEqual(["read_file"]);
    expect(nearestNames("file", known)).toEqual(["read_file", "write_file"]);
    expect(nearestNames("shel", known)).toEqual(["shell"]);
    expect(nearestNames("grpe", known)).toEqual(["grep"]);
    expect(nearestNames("browser", known)).toEqual([]);
    expect(nearestNames("", known)).toEqual([]);
    expect(nearestNames("x".repeat(100_000), known)).toEqual([]);
  });
});
