import { crashSweep } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { call, fileWorld, play, workerOf } from "../file-world.ts";
import { readBeforeEdit } from "./index.ts";

const read = call("read_file", { path: "a.ts" });
const edit = (from: string, to: string, path = "a.ts") => call("edit", { path, old_string: from, new_string: to });
const unread = 'Not done: you have not read "a.ts" yet. Read it first, then change it.';
const changed = 'Not done: "a.ts" has changed since you read it. Read it again, then change what it holds now.';

describe("readBeforeEdit", () => {
  it("TOOL-38 refuses to edit or replace a file that was not read, and lets it once it was", async () => {
    const world = fileWorld({ "a.ts": "one" });
    const { results } = await play({
      world,
      plugins: [readBeforeEdit()],
      turns: [
        { calls: [edit("one", "two")] },
        { calls: [call("write_file", { path: "./a.ts", content: "mine" })] },
        { calls: [read] },
        { calls: [edit("one", "two")] },
      ],
    });
    expect(results).toEqual([
      `edit error: ${unread}`,
      `write_file error: ${unread}`,
      "read_file ok: one",
      "edit ok: Edited a.ts.",
    ]);
    expect(world.files.get("a.ts")).toBe("two");
  });

  it("TOOL-38 refuses when the file changed on disk since it was read, until it is read again", async () => {
    const world = fileWorld({ "a.ts": "one" });
    const { results } = await play({
      world,
      plugins: [readBeforeEdit()],
      turns: [
        { calls: [read] },
        () => {
          world.files.set("a.ts", "one and theirs");
          return { calls: [edit("one", "two")] };
        },
        { calls: [read] },
        { calls: [edit("one", "two")] },
      ],
    });
    expect(results.slice(1)).toEqual([
      `edit error: ${changed}`,
      "read_file ok: one and theirs",
      "edit ok: Edited a.ts.",
    ]);
    expect(world.files.get("a.ts")).toBe("two and theirs");
  });

  it("TOOL-38 knows what the model wrote itself, and needs no reading of a new file", async () => {
    const world = fileWorld();
    const { results } = await play({
      world,
      plugins: [readBeforeEdit()],
      turns: [
        { calls: [call("write_file", { path: "a.ts", content: "one" })] },
        { calls: [edit("one", "two"), edit("two", "three")] },
        () => {
          world.files.set("a.ts", "theirs");
          return { calls: [edit("theirs", "mine")] };
        },
      ],
    });
    expect(results.map((line) => line.split(":")[0])).toEqual(["write_file ok", "edit ok", "edit ok", "edit error"]);
    expect(world.files.get("a.ts")).toBe("theirs");
  });

  it("TOOL-38 does not count a read that failed, nor one of the same breath", async () => {
    const world = fileWorld();
    const { results } = await play({
      world,
      plugins: [readBeforeEdit()],
      turns: [
        { calls: [read] },
        () => {
          world.files.set("a.ts", "one");
          return { calls: [edit("one", "two")] };
        },
        { calls: [read, edit("one", "two")] },
        { calls: [edit("one", "two")] },
      ],
    });
    expect(results.map((line) => line.split(":")[0])).toEqual([
      "read_file error",
      "edit error",
      "read_file ok",
      "edit error",
      "edit ok",
    ]);
  });

  it("TOOL-38 remembers over runs, and a file may have any name", async () => {
    const path = "__proto__";
    const world = fileWorld();
    world.files.set(path, "one");
    const { results } = await play({
      world,
      plugins: [readBeforeEdit()],
      inputs: ["Read", "Edit"],
      turns: [
        { calls: [edit("one", "two", path)] },
        { calls: [call("read_file", { path })] },
        { text: "Read." },
        { calls: [edit("one", "two", path)] },
      ],
    });
    expect(results.map((line) => line.split(":")[0])).toEqual(["edit error", "read_file ok", "edit ok"]);
  });

  it("leaves arguments that do not fit, and sessions without a workspace, to the loop", async () => {
    const world = fileWorld({ "a.ts": "one" });
    const wrong = await play({ world, plugins: [readBeforeEdit()], turns: [{ calls: [call("edit", { path: 5 })] }] });
    expect(wrong.results[0]).toContain("Wrong arguments for edit");
    const without = await play({ tools: world.tools, plugins: [readBeforeEdit()], turns: [{ calls: [read] }] });
    expect(without.log.at(-1)).toMatchObject({ type: "run.finished", error: { code: "workspace-missing" } });
  });

  it("TOOL-38 comes to the same end after a crash at any write", async () => {
    const turns = [{ calls: [read] }, { calls: [edit("one", "two")] }, { calls: [edit("two", "three")] }];
    const world = fileWorld({ "a.ts": "one" });
    const { worker } = workerOf({ world, plugins: [readBeforeEdit()], turns });
    const report = await crashSweep({
      agents: [worker],
      workspaces: world.workspaces,
      journey: async (runtime) => {
        world.files.set("a.ts", "one");
        const session = await runtime.session({ agent: worker, key: "k", workspace: "/work" });
        await session.send("Go", { idempotencyKey: "go" });
      },
      compare: (disturbed) => {
        expect(disturbed).toContain("end: end-turn");
        // what a crash lost of an edit's result must be read again; nothing else is refused
        if (!disturbed.includes("its output is lost")) expect(disturbed).not.toContain("Not done");
      },
    });
    expect(report.writes).toBeGreaterThan(10);
    expect(world.files.get("a.ts")).toBe("three");
  });
});
