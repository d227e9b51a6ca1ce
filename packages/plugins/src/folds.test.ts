import type { Json, Plugin } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { approvals } from "./approvals/index.ts";
import { dedup } from "./dedup/index.ts";
import { call, fileWorld, play } from "./file-world.ts";
import { loopGuard } from "./loop-guard/index.ts";
import { outputLimit } from "./output-limit/index.ts";
import { readBeforeEdit } from "./read-before-edit/index.ts";
import { repeatRead } from "./repeat-read/index.ts";
import { injectionGuard } from "./injection-guard/index.ts";
import { staleReads } from "./stale-reads/index.ts";
import { taint } from "./taint/index.ts";
import { toolBudget } from "./tool-budget/index.ts";

const plugins: readonly Plugin[] = [
  approvals({ allowForMs: 1_000 }),
  dedup({ tools: { read_file: true } }),
  toolBudget({ calls: { read_file: 1 }, outputBytesPerTurn: 10 }),
  loopGuard(),
  readBeforeEdit(),
  repeatRead(),
  staleReads(),
  outputLimit({ maxCharacters: 1_000 }),
  taint([{ from: ["read_file"], forbid: ["shell"], on: "deny" }]),
  injectionGuard(),
];

describe("the folds of the plugins", () => {
  it("are JSON at any point of a session in which all of them work: a snapshot gives them back as they were", async () => {
    const world = fileWorld({ "a.ts": `first\n${"a line of the file\n".repeat(200)}` });
    const read = { calls: [call("read_file", { path: "a.ts" })] };
    const edit = { calls: [call("edit", { path: "a.ts", old_string: "first", new_string: "second" })] };
    const { log, results } = await play({
      world,
      plugins,
      turns: [read, read, edit, read, read, { text: "ok" }, read, { text: "ok" }],
      inputs: ["one", "two"],
    });
    expect(results.map((line) => line.split(":")[0])).toEqual([
      "read_file ok",
      "read_file ok",
      "edit ok",
      "read_file ok",
      "read_file ok",
      "read_file ok",
    ]);
    for (const { name, fold } of plugins) {
      let state = fold?.start;
      for (const fact of log) {
        state = fold?.next(state, fact);
        expect(JSON.parse(JSON.stringify(state)) as Json, `${name} after ${fact.type}`).toStrictEqual(state);
      }
    }
  });
});
