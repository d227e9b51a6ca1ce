import { describe, expect, it } from "vitest";
import { agent, type Fact, type Json, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { rewriteErrors, type RewriteOptions } from "./index.ts";

const query = tool({
  name: "query",
  description: "Queries.",
  input: z.object({ sql: z.string() }),
  rerun: "safe",
  execute: ({ sql }) => {
    if (sql === "drop") throw new Error("ORA-00942: table or view does not exist");
    return `rows of ${sql}`;
  },
});
const forbidden = tool({
  name: "forbidden",
  description: "x",
  input: z.object({}),
  permission: "deny",
  execute: () => "x",
});

function one(options: RewriteOptions, ...calls: readonly { readonly name: string; readonly input: Json }[]) {
  const model = scriptedModel([{ calls }, { text: "Done." }]);
  return agent({ name: "one", model, instructions: "x", tools: [query, forbidden], plugins: [rewriteErrors(options)] });
}
async function ended(options: RewriteOptions, name: string, input: Json): Promise<readonly unknown[]> {
  const subject = one(options, { name, input });
  await using runtime = await testRuntime({ agents: [subject] });
  await (await runtime.send(subject, "Go")).result();
  const log: readonly Fact[] = await runtime.store.read("ses_1", { after: 0, limit: 100 });
  return log.flatMap((fact) => (fact.type === "tool.finished" ? [fact.status, textOf(fact.output.content)] : []));
}

describe("rewriteErrors", () => {
  const error: RewriteOptions = { error: (text, { name }) => `${name}: ${text.replace(/^ORA-\d+: /, "")}` };

  it("TOOL-15 rewrites errors of tools, of refusals and of calls that could not be made", async () => {
    expect(await ended(error, "query", { sql: "drop" })).toEqual(["error", "query: table or view does not exist"]);
    expect(await ended(error, "query", {})).toEqual(["error", expect.stringMatching(/^query: Wrong arguments/)]);
    expect(await ended(error, "missing", {})).toEqual(["error", expect.stringMatching(/^missing: There is no tool/)]);
    expect(await ended(error, "query", { sql: "a" })).toEqual(["ok", "rows of a"]);
    expect(await ended({ error: () => undefined }, "query", { sql: "drop" })).toEqual([
      "error",
      "ORA-00942: table or view does not exist",
    ]);
  });

  it("TOOL-15 transforms results, and leaves errors to `error`", async () => {
    const output: RewriteOptions = { output: (given) => textOf(given.content).toUpperCase() };
    expect(await ended(output, "query", { sql: "a" })).toEqual(["ok", "ROWS OF A"]);
    expect(await ended(output, "query", { sql: "drop" })).toEqual(["error", "ORA-00942: table or view does not exist"]);
    expect(await ended({ output: (given) => ({ ...given, isError: true }) }, "query", { sql: "a" })).toEqual([
      "error",
      "rows of a",
    ]);
  });

  it("keeps what there was when a function throws", async () => {
    const broken: RewriteOptions = {
      output: () => {
        throw new Error("broken");
      },
    };
    expect(await ended(broken, "query", { sql: "a" })).toEqual(["ok", "rows of a"]);
  });

  it("comes to the same results after a crash at every write", async () => {
    const subject = one(error, { name: "query", input: { sql: "drop" } }, { name: "missing", input: {} });
    const report = await crashSweep({
      agents: [subject],
      journey: async (runtime) => (await runtime.send(subject, "Go", { idempotencyKey: "1" })).result(),
    });
    expect(report.crashes).toBeGreaterThan(10);
  }, 60_000);
});
