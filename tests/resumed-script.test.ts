import { sqliteStore } from "@capstan/engines/sqlite";
import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import type { FailPoint } from "./harness/fail-point.ts";
import { logProblems } from "./harness/judge.ts";
import { outside } from "./harness/outside.ts";
import { type Ended, runProgram } from "./harness/program.ts";
import type { ScriptOptions } from "./harness/script.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";

/** In the order in which one life after the other comes to them. */
const POINTS: readonly (FailPoint | "effect")[] = [
  { when: "before", at: "open" },
  { when: "after", at: "open" },
  { when: "before", at: "submit" },
  { when: "after", at: "submit" },
  { when: "before", at: "run.started" },
  { when: "after", at: "run.started" },
  { when: "before", at: "turn.started" },
  { when: "after", at: "turn.started" },
  { when: "before", at: "turn.finished" },
  { when: "after", at: "turn.finished" },
  { when: "before", at: "tool.started" },
  { when: "after", at: "tool.started" },
  { when: "after", at: "request.opened" },
  { when: "after", at: "request.resolved" },
  "effect",
  { when: "before", at: "tool.finished" },
  { when: "after", at: "tool.finished" },
  { when: "before", at: "run.finished" },
  { when: "after", at: "run.finished" },
];

describe("a script that is killed and run again", () => {
  it("DUR-01 DUR-04 EDGE-01 EDGE-02 SESS-13 G2 with the same keys ends with one run, whatever it was killed at", async () => {
    const folder = temporaryFolder();
    const turns = [
      ["never", "keyed"],
      ["asks", "flow"],
      ["keyed", "side"],
    ] as const;
    const life = (more: Partial<ScriptOptions>): Promise<Ended> =>
      runProgram("script.ts", { folder, turns, ...more } satisfies ScriptOptions);
    await life({ idle: true, folder: temporaryFolder() });
    const killedAt: (FailPoint | "effect")[] = [];
    for (const point of POINTS) {
      const { signal, complaints } = await life(point === "effect" ? { diesAfterEffect: true } : { failAt: point });
      expect(complaints).toBe("");
      if (signal === "SIGKILL") killedAt.push(point);
    }
    const last = await life({});
    expect(last).toEqual({ signal: null, output: "job turn 3 done", complaints: "" });
    expect(killedAt.length, JSON.stringify(killedAt)).toBeGreaterThanOrEqual(14);
    expect(await found(folder)).toEqual({
      sessions: 1,
      problems: [],
      runs: ["end-turn"],
      doubled: [],
      keysPerCall: 1,
      asks: 4,
    });
  }, 60_000);
});

async function found(folder: string): Promise<object> {
  const store = await sqliteStore({ path: `${folder}/store.db` });
  const summaries = await store.list({});
  const [{ sessionId, key = "" } = { sessionId: "" }] = summaries;
  const facts = await store.read(sessionId, { after: 0, limit: 10_000 });
  await store.close();
  const lines = outside(folder, () => systemClock.now()).lines();
  const effects = Map.groupBy(
    lines.filter(({ what }) => what === "effect"),
    ({ id }) => id,
  );
  const doubled = [...effects].filter(([, done]) => done[0]?.key === undefined && done.length > 1);
  const keys = [...effects.values()].map((done) => new Set(done.map((line) => line.key)).size);
  return {
    sessions: summaries.length,
    problems: logProblems({ sessionId, key, facts }),
    runs: facts.flatMap((fact) => (fact.type === "run.finished" ? [fact.reason] : [])),
    doubled: doubled.map(([id]) => id),
    keysPerCall: Math.max(...keys),
    asks: new Set(lines.filter(({ what }) => what === "ask").map(({ id }) => id)).size,
  };
}
