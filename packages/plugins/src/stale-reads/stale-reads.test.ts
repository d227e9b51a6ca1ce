import type { Fact, Json } from "@capstan/core";
import { crashSweep, type ScriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { call, fileWorld, play, workerOf } from "../file-world.ts";
import { staleReads } from "./index.ts";

const long = `first\n${"a line of the file\n".repeat(200)}`;
const read = (path: string): ScriptedReply => ({ calls: [call("read_file", { path })] });
const edit = (path: string, from = "first", to = "second"): ScriptedReply => ({
  calls: [call("edit", { path, old_string: from, new_string: to })],
});
const out = (path: string) =>
  `[Left out: "${path}" was edited after this was read. Read it again for what it holds now.]`;

/** Texts of all results of reads in each request. */
function readsIn({ requests }: ScriptedModel): readonly (readonly string[])[] {
  return requests.map(({ messages }) =>
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === "tool-result" && part.name === "read_file"
          ? [part.output.content.map((content) => (content.type === "text" ? content.text : "")).join("")]
          : [],
      ),
    ),
  );
}

describe("staleReads", () => {
  it("TOOL-39 leaves an earlier read out once its file was edited, on the wire only", async () => {
    const world = fileWorld({ "a.ts": long, "b.ts": long });
    const { model, results } = await play({
      world,
      plugins: [staleReads()],
      turns: [read("a.ts"), edit("/work/a.ts"), read("./a.ts"), read("b.ts")],
    });
    const now = long.replace("first", "second");
    expect(readsIn(model)).toEqual([[], [long], [out("a.ts")], [out("a.ts"), now], [out("a.ts"), now, long]]);
    expect(results[0]).toBe(`read_file ok: ${long}`);
  });

  it("TOOL-39 EDGE-07 keeps what was sent before, object for object, after the one change", async () => {
    const world = fileWorld({ "a.ts": long });
    const { model, log } = await play({
      world,
      plugins: [staleReads()],
      turns: [read("a.ts"), edit("a.ts"), read("a.ts"), read("a.ts"), read("a.ts")],
    });
    const [, , third, ...later] = model.requests;
    for (const { messages, system, tools } of later) {
      third?.messages.forEach((message, index) => expect(messages[index]).toBe(message));
      expect([system, tools]).toEqual([third?.system, third?.tools]);
    }
    expect(log.filter(({ type }) => type === "prefix.set")).toHaveLength(1);
    expect(ownData(log)).toHaveLength(1);
  });

  it("TOOL-39 waits while more would have to be cached anew than is saved, until the cache is cold", async () => {
    const world = fileWorld({ "a.ts": long, "b.ts": long.repeat(5) });
    const { worker, model } = workerOf({
      world,
      plugins: [staleReads({ cacheMs: 300_000 })],
      turns: [read("a.ts"), read("b.ts"), edit("a.ts"), { text: "ok" }, { text: "ok" }, { text: "ok" }],
    });
    await using runtime = await testRuntime({ agents: [worker], workspaces: world.workspaces });
    const session = await runtime.session({ agent: worker, workspace: "/work" });
    await (await session.send("one")).text();
    await runtime.clock.advance(299_000);
    await (await session.send("two")).text();
    await runtime.clock.advance(301_000);
    await (await session.send("three")).text();
    const b = long.repeat(5);
    expect(readsIn(model).slice(3)).toEqual([
      [long, b],
      [long, b],
      [out("a.ts"), b],
    ]);
  });

  it("TOOL-39 leaves reads alone that are short, of other files, newer, or whose edit failed", async () => {
    const world = fileWorld({ "a.ts": long, "b.ts": long, "s.ts": "first" });
    const { model } = await play({
      world,
      plugins: [staleReads({ cacheMs: 0 })],
      turns: [
        read("a.ts"),
        edit("a.ts", "absent"),
        read("s.ts"),
        edit("s.ts"),
        read("b.ts"),
        { calls: [...(edit("a.ts") as { calls: [] }).calls, call("read_file", { path: "b.ts" })] },
      ],
    });
    expect(readsIn(model).at(-2)).toEqual([long, "first", long]);
    expect(readsIn(model).at(-1)).toEqual([out("a.ts"), "first", long, long]);
  });

  it("TOOL-39 forgets what a compaction summed up", () => {
    const { fold } = staleReads();
    const facts = [
      { type: "tool.started", callId: "r", kind: "read", locations: [{ path: "a" }] },
      { type: "tool.finished", callId: "r", status: "ok" },
      { type: "tool.started", callId: "e", kind: "edit", locations: [{ path: "./a" }] },
      { type: "tool.finished", callId: "e", status: "ok" },
      { type: "context.compacted", throughSeq: 3 },
    ].map((fact, index) => ({ ...fact, seq: index + 1, at: 0 }) as unknown as Fact);
    const states = facts.reduce<unknown[]>((all, fact) => [...all, fold?.next(all.at(-1), fact)], [fold?.start]);
    expect(states[4]).toMatchObject({ stale: [{ callId: "r" }], reads: [] });
    expect(states[5]).toMatchObject({ stale: [], reads: [], isCold: true });
  });

  it("TOOL-39 comes to the same end after a crash at any write", async () => {
    const world = fileWorld({ "a.ts": long });
    const { worker } = workerOf({ world, plugins: [staleReads()], turns: [read("a.ts"), edit("a.ts"), read("a.ts")] });
    await crashSweep({
      agents: [worker],
      workspaces: world.workspaces,
      journey: async (runtime) => {
        world.files.set("a.ts", long);
        const session = await runtime.session({ agent: worker, key: "k", workspace: "/work" });
        await session.send("Go", { idempotencyKey: "go" });
      },
      compare: (disturbed) => expect(disturbed).toContain("end: end-turn"),
    });
  });

  it("refuses a time that is none", () => {
    expect(() => staleReads({ cacheMs: -1 })).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
  });
});

function ownData(log: readonly Fact[]): readonly Json[] {
  return log.flatMap((fact) => (fact.type === "data" && fact.name === "plugin/stale-reads" ? [fact.data] : []));
}
