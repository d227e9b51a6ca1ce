import { crashSweep } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { call, fileWorld, play, workerOf } from "../file-world.ts";
import { readBeforeEdit } from "../read-before-edit/index.ts";
import { repeatRead } from "./index.ts";

const text = "a line of the file\n".repeat(40);
const read = { calls: [call("read_file", { path: "a.ts" })] };
const stub = (when = "in turn 1 of this run") =>
  `read_file ok: The file has not changed since your call read_file {"path":"a.ts"} ${when}: its result above is still right. Call once more if you need it again.`;

describe("repeatRead", () => {
  it("TOOL-37 names the earlier call instead of reading an unchanged file again", async () => {
    const world = fileWorld({ "a.ts": text });
    const { results } = await play({ world, plugins: [repeatRead()], turns: [read, read] });
    expect(results).toEqual([`read_file ok: ${text}`, stub()]);
    expect(world.ran).toEqual(["read_file a.ts"]);
  });

  it("TOOL-37 gives the file to a model that asks once more", async () => {
    const world = fileWorld({ "a.ts": text });
    const { results } = await play({ world, plugins: [repeatRead()], turns: [read, read, read, read] });
    expect(results).toEqual([`read_file ok: ${text}`, stub(), `read_file ok: ${text}`, stub("in turn 3 of this run")]);
  });

  it("TOOL-37 reads again what changed, another part, and what is short", async () => {
    const world = fileWorld({ "a.ts": text, "b.ts": "short" });
    const { results } = await play({
      world,
      plugins: [repeatRead()],
      turns: [
        read,
        { calls: [call("read_file", { path: "a.ts", offset: 5 }), call("read_file", { path: "b.ts" })] },
        () => {
          world.files.set("a.ts", `${text}more`);
          return { calls: [call("read_file", { path: "a.ts" }), call("read_file", { path: "b.ts" })] };
        },
      ],
    });
    expect(results).toEqual(
      [text, text.slice(5), "short", `${text}more`, "short"].map((said) => `read_file ok: ${said}`),
    );
  });

  it("TOOL-37 reads again after an edit, also one that was taken back", async () => {
    const world = fileWorld({ "a.ts": text });
    const edit = (from: string, to: string) => ({
      calls: [call("edit", { path: "./a.ts", old_string: from, new_string: to })],
    });
    const { results } = await play({
      world,
      plugins: [repeatRead()],
      turns: [read, edit("a line", "one"), edit("one", "a line"), read],
    });
    expect(results.at(-1)).toBe(`read_file ok: ${text}`);
  });

  it("TOOL-37 remembers over runs", async () => {
    const world = fileWorld({ "a.ts": text });
    const { results } = await play({
      world,
      plugins: [repeatRead()],
      inputs: ["one", "two"],
      turns: [read, { text: "ok" }, read, { text: "ok" }],
    });
    expect(results[1]).toBe(stub("in an earlier run of this conversation"));
  });

  it("TOOL-37 TOOL-38 a read that was answered so counts as known for the guard of edits, in any order of the two", async () => {
    for (const plugins of [
      [repeatRead(), readBeforeEdit()],
      [readBeforeEdit(), repeatRead()],
    ]) {
      const world = fileWorld({ "a.ts": text });
      const edit = { calls: [call("edit", { path: "a.ts", old_string: "a line", new_string: "one" })] };
      const { results } = await play({ world, plugins, turns: [read, read, edit] });
      expect(results[1]).toBe(stub());
      expect(results[2]).toBe("edit ok: Edited a.ts.");
    }
  });

  it("TOOL-37 comes to the same end after a crash at any write", async () => {
    const world = fileWorld({ "a.ts": text });
    const { worker } = workerOf({ world, plugins: [repeatRead()], turns: [read, read, read] });
    await crashSweep({
      agents: [worker],
      workspaces: world.workspaces,
      journey: async (runtime) => {
        const session = await runtime.session({ agent: worker, key: "k", workspace: "/work" });
        await session.send("Go", { idempotencyKey: "go" });
      },
    });
  });
});
