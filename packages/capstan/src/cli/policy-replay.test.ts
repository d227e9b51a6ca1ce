import { agent, type Fact, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type ReplayedCall, replayPolicy } from "./policy-replay.ts";

const remove = tool({
  name: "remove",
  description: "Removes a file.",
  input: z.object({ path: z.string() }),
  kind: "delete",
  rerun: "keyed",
  permission: "ask",
  needs: ({ path }) => [{ type: "write", path }],
  execute: () => "gone",
});
const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ path: z.string() }),
  needs: ({ path }) => [{ type: "read", path }],
  execute: () => "seen",
});

/** A session in which `a` was removed after a yes for always, `a` again without asking, `b` with a no, and `c` was looked at. */
async function recorded(): Promise<readonly Fact[]> {
  const call = (name: string, path: string) => ({ name, input: { path } });
  const model = scriptedModel([
    { calls: [call("remove", "a")] },
    { calls: [call("remove", "a")] },
    { calls: [call("remove", "b"), call("look", "c")] },
    { text: "Done." },
  ]);
  const keeper = agent({ name: "keeper", model, instructions: "x", tools: [remove, look] });
  await using runtime = await testRuntime({
    agents: [keeper],
    permission: { mode: "ask" },
    onRequest: ({ body }) =>
      Promise.resolve({
        type: "permission",
        allow: body.type === "permission" && JSON.stringify(body.input).includes('"a"'),
        remember: "session",
      }),
  });
  const run = await runtime.send(keeper, "Go");
  await run.result();
  return runtime.store.read(run.session.id, { after: 0, limit: 1000 });
}

const short = (calls: readonly ReplayedCall[]) =>
  calls
    .map(({ tool: name, input, before, now }) => `${name} ${(input as { path: string }).path}: ${before} -> ${now}`)
    .toSorted();

describe("replayPolicy", () => {
  it("EDGE-09 PERM-13 judges every recorded call as it was, under the same rules", async () => {
    const calls = await replayPolicy(await recorded(), { tools: [remove, look], agent: {}, global: {} });
    expect(short(calls)).toEqual([
      "look c: allow -> allow",
      "remove a: allow -> allow", // by the rule that was remembered by then
      "remove a: ask -> ask",
      "remove b: ask -> ask",
    ]);
  });

  it("EDGE-09 PERM-13 says what rules of today would deny, allow and ask, and runs nothing", async () => {
    const facts = await recorded();
    const calls = await replayPolicy(facts, {
      tools: [remove, look],
      agent: { allow: ["remove(b)"] },
      global: { deny: ["remove(a)"], ask: ["look"] },
    });
    expect(short(calls)).toEqual([
      "look c: allow -> ask",
      "remove a: allow -> deny",
      "remove a: ask -> deny",
      "remove b: ask -> allow",
    ]);
    expect(calls.find(({ now }) => now === "deny")?.reason).toContain("remove(a)");
    const headless = await replayPolicy(facts, { tools: [remove, look], agent: {}, global: {}, mode: "never-ask" });
    expect(short(headless)).toContain("remove b: ask -> deny");
  });

  it("EDGE-09 a tool that is gone or takes other input is unknown, not allowed", async () => {
    const narrower = { ...look, schema: z.object({ path: z.literal("x") }) } as typeof look;
    const calls = await replayPolicy(await recorded(), { tools: [narrower], agent: {}, global: {} });
    expect(new Set(calls.map(({ now }) => now))).toEqual(new Set(["unknown"]));
  });
});
