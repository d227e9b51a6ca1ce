import { agent, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, play, resultsOf, workerOf } from "../file-world.ts";
import { outputLimit, type OutputLimitOptions } from "./index.ts";

const long = (text: string) =>
  tool({ name: "long", description: "Long.", input: z.object({}), rerun: "safe", execute: () => text });
const text = Array.from({ length: 3_000 }, (_, index) => `line ${index}`).join("\n");
/** The id in the newest result that the model has read. */
const idIn = (heard: string): string => /"id": "(out-[0-9a-f]{12})"/.exec(heard)?.[1] ?? "none";

describe("outputLimit", () => {
  it("TOOL-20 shows head and tail, and the whole can be read back part by part", async () => {
    let id = "";
    const parts: string[] = [];
    const read =
      (offset: number) => (request: { readonly messages: readonly { readonly parts: readonly unknown[] }[] }) => {
        const said = JSON.stringify(request.messages.at(-1)).replaceAll('\\"', '"');
        if (id === "") id = idIn(said);
        return { calls: [call("read_output", { id, offset, limit: 10_000 })] };
      };
    const { log, results, heard } = await play({
      tools: [long(text)],
      plugins: [outputLimit({ maxCharacters: 10_000 })],
      turns: [{ calls: [call("long", {})] }, read(0), read(10_000), read(20_000), { text: "Done." }],
    });
    const shown = results[0] ?? "";
    expect(shown.length).toBeLessThan(10_300);
    expect(shown.startsWith("long ok: line 0\nline 1\n")).toBe(true);
    expect(shown.endsWith("line 2998\nline 2999")).toBe(true);
    expect(shown).toContain(`characters left out: read them with read_output { "id": "${id}", "offset": 5000 }`);
    for (const result of results.slice(1))
      parts.push(result.replace(/^read_output ok: /, "").replace(/\n\(characters .*\)$/, ""));
    expect(parts.join("")).toBe(text);
    expect(results[1]).toContain("(characters 0 to 10000 of");
    expect(heard).toHaveLength(5);
    expect(log.find((fact) => fact.type === "tool.finished")).toMatchObject({ output: { truncated: true } });
  });

  it("TOOL-20 leaves what is short enough, other parts of a result, and tools with a bound of their own", async () => {
    const { results } = await play({
      tools: [long("x".repeat(1_500))],
      plugins: [outputLimit({ maxCharacters: 1_000, tools: { long: 2_000 } })],
      turns: [{ calls: [call("long", {})] }],
    });
    expect(results).toEqual([`long ok: ${"x".repeat(1_500)}`]);
    const whole = await play({
      tools: [long(text)],
      plugins: [outputLimit({ tools: { long: false } })],
      turns: [{ calls: [call("long", {})] }],
    });
    expect(whole.results).toEqual([`long ok: ${text}`]);
  });

  it("TOOL-20 cuts no character in two, and keeps errors errors", async () => {
    const faces = tool({
      name: "long",
      description: "Long.",
      input: z.object({}),
      rerun: "safe",
      execute: () => ({ content: [{ type: "text" as const, text: `x${"😀".repeat(1_000)}` }], isError: true }),
    });
    const { log } = await play({
      tools: [faces],
      plugins: [outputLimit({ maxCharacters: 1_000 })],
      turns: [{ calls: [call("long", {})] }],
    });
    const finished = log.find((fact) => fact.type === "tool.finished");
    expect(finished).toMatchObject({ status: "error", output: { isError: true } });
    expect(textOf(finished?.output.content ?? []).isWellFormed()).toBe(true);
  });

  it("TOOL-20 answers unknown ids and offsets beyond the end with an error the model can use", async () => {
    const { results } = await play({
      tools: [long(text)],
      plugins: [outputLimit()],
      turns: [
        { calls: [call("read_output", { id: "out-000000000000" }), call("read_output", { id: 5 }), call("long", {})] },
        (request) => ({
          calls: [
            call("read_output", { id: idIn(JSON.stringify(request.messages).replaceAll('\\"', '"')), offset: 999_999 }),
          ],
        }),
      ],
    });
    expect(results[0]).toBe('read_output error: There is no kept result "out-000000000000".');
    expect(results[1]).toContain("read_output error: Wrong arguments");
    expect(results[3]).toContain("is beyond its end");
  });

  it("TOOL-20 EDGE-15 neither shows nor keeps a secret, also where it would be cut in two", async () => {
    const secret = "sk-very-secret-token-0123456789";
    const value = `${"a".repeat(490)}${secret}${"b".repeat(5_000)}`;
    const { worker } = workerOf({
      tools: [long(value)],
      plugins: [outputLimit({ maxCharacters: 1_000 })],
      turns: [{ calls: [call("long", {})] }],
    });
    await using runtime = await testRuntime({ agents: [worker], secrets: [secret] });
    const run = await runtime.send(worker, "Go");
    await run.result();
    const log = await runtime.store.read(run.session.id, { after: 0, limit: 1_000 });
    const kept = log.flatMap((fact) => (fact.type === "data" ? [JSON.stringify(fact.data)] : [])).join(" ");
    const blob = await runtime.store.blob(/"blob":"([0-9a-f]{64})"/.exec(kept)?.[1] ?? "");
    const stored = new TextDecoder().decode(blob);
    expect(stored).toContain("a[secret]b");
    for (const everything of [JSON.stringify(log), stored]) expect(everything).not.toContain(secret.slice(0, 10));
  });

  it("TOOL-20 does not send a sub-agent that has no read_output to it", async () => {
    const child = agent({
      name: "child",
      model: scriptedModel([{ calls: [call("long", {})] }]),
      instructions: "x",
      tools: [long(text)],
    });
    const parent = agent({
      name: "parent",
      model: scriptedModel([{ calls: [call("child", { task: "go" })] }]),
      instructions: "x",
      tools: [child],
      plugins: [outputLimit({ maxCharacters: 2_000 })],
    });
    await using runtime = await testRuntime({ agents: [parent] });
    await (await runtime.send(parent, "Go")).text();
    const [session] = (await runtime.sessions()).filter(({ agent: name }) => name === "child");
    const [result = ""] = resultsOf(await runtime.store.read(session?.sessionId ?? "", { after: 0, limit: 1_000 }));
    expect(result).toContain("ask for less at a time to see them");
    expect(result.length).toBeLessThan(2_300);
  });

  it("TOOL-20 comes to the same end after a crash at any write", async () => {
    const { worker } = workerOf({
      tools: [long(text)],
      plugins: [outputLimit({ maxCharacters: 2_000 })],
      turns: [
        { calls: [call("long", {})] },
        (request) => ({
          calls: [call("read_output", { id: idIn(JSON.stringify(request.messages).replaceAll('\\"', '"')) })],
        }),
      ],
    });
    const report = await crashSweep({
      agents: [worker],
      journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }),
    });
    expect(report.doubts).toBe(0);
  });

  it("refuses a bound that shows nothing", () => {
    for (const options of [
      { maxCharacters: 10 },
      { tools: { long: 0 } },
      { maxCharacters: Number.NaN },
    ] as OutputLimitOptions[]) {
      expect(() => outputLimit(options)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    }
  });
});
