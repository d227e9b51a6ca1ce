import { describe, expect, it } from "vitest";
import { agent, type Fact, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { call } from "../file-world.ts";
import { type Trace, traceHtml, traceOf } from "./index.ts";

const HOSTILE = `</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>"'&\u202e\u001b[2J\u{e0041}<a href="javascript:x">`;
const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ to: z.string() }),
  permission: "ask",
  rerun: "safe",
  title: ({ to }) => `Pay ${to}`,
  execute: ({ to }) => `paid ${to}`,
});

async function factsOf(text: string): Promise<readonly Fact[]> {
  const model = scriptedModel([
    { calls: [call("pay", { to: text }), call("nope", {})] },
    { text, usage: { inputTokens: 3, outputTokens: 2, costMicroUsd: 50 } },
  ]);
  const worker = agent({ name: "worker", model, instructions: "x", tools: [pay] });
  const runtime = await testRuntime({
    agents: [worker],
    permission: { mode: "ask" },
    onRequest: async () => ({ type: "permission", allow: true }),
  });
  const run = await runtime.send(worker, text, { title: text });
  await run.result();
  await runtime.close();
  return runtime.store.read(run.session.id, { after: 0, limit: 1_000 });
}

/** Names of kinds and their ends, indented by depth; what lies beside each other in the order of its letters. */
function shape(trace: Trace): readonly string[] {
  return trace.runs.flatMap(({ kind, name, status, detail, children }) => [
    `${kind} ${name} ${status} ${detail}`,
    ...children.map((child) => `  ${child.kind} ${child.name} ${child.status} ${child.detail}`).toSorted(),
  ]);
}

describe("traceOf", () => {
  it("OBS-05 is the tree of runs, model calls, tools and requests with their ends and usage", async () => {
    const trace = traceOf(await factsOf("ann"));
    expect(shape(trace)).toEqual([
      "run run ok end-turn",
      "  model scripted/model ok stop",
      "  model scripted/model ok tool-calls",
      "  request permission: Pay ann ok allowed by on-request",
      "  tool nope error error",
      "  tool pay ok ok",
    ]);
    expect(trace).toMatchObject({ version: 1, agent: "worker", title: "ann", usage: { costMicroUsd: 50 } });
    expect(trace.runs[0]).toMatchObject({ input: "ann" });
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
  });

  it("OBS-05 shows what goes on and what was cut", async () => {
    const facts = await factsOf("ann");
    const until = facts.findIndex(({ type }) => type === "tool.started");
    expect(shape(traceOf(facts.slice(0, until + 1)))).toContain("  tool pay open undefined");
    const end = facts.at(-1);
    if (end?.type !== "run.finished") throw new Error("the log ends with the run");
    expect(shape(traceOf([...facts.slice(0, until + 1), end]))).toContain("  tool pay error cut by the end of the run");
  });
});

describe("traceHtml", () => {
  it("OBS-05 G20 is one inert file, whatever the model, a tool or a person wrote", async () => {
    const html = traceHtml(traceOf(await factsOf(HOSTILE), HOSTILE));
    const tags = new Set(Array.from(html.matchAll(/<\/?([a-zA-Z!][\w-]*)/g), ([, name = ""]) => name.toLowerCase()));
    expect([...tags].toSorted()).toEqual(
      "!doctype body dd details div dl dt h1 h2 head html meta p pre rect span style summary svg title".split(" "),
    );
    const attributes = new Set(
      Array.from(html.matchAll(/<[a-z][^<>]*>/g), ([tag]) => tag).flatMap((tag) =>
        Array.from(tag.matchAll(/ ([\w-]+)="/g), ([, name = ""]) => name),
      ),
    );
    expect([...attributes].filter((name) => /^(?:on|href|src|style|srcdoc|action)/.test(name))).toEqual([]);
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(html).toContain("\\u{202e}\\u{1b}[2J\\u{e0041}");
    expect(html.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(html).toMatch(
      /Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'"/,
    );
  });
});
