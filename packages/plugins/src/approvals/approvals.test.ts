import { agent, type Agent, type Answer, type Permission, plugin, type Run, tool } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, resultsOf } from "../file-world.ts";
import { approvalQueue, approvals, type ApprovalsOptions, type ApprovalStore } from "./index.ts";

const MINUTE = 60_000;
const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ to: z.string() }),
  rerun: "safe",
  permission: "ask",
  needs: ({ to }) => [{ type: "fetch", url: `https://${to}/pay` }],
  execute: ({ to }) => `paid ${to}`,
});
const turn = (...to: readonly string[]): ScriptedReply => ({ calls: to.map((name) => call("pay", { to: name })) });

function clerk(options: ApprovalsOptions, turns: readonly ScriptedReply[], permission: Permission = {}): Agent {
  return agent({
    name: "clerk",
    model: scriptedModel(turns),
    instructions: "x",
    tools: [pay],
    plugins: [approvals(options)],
    permission,
  });
}
const open = (worker: Agent): Promise<TestRuntime> => testRuntime({ agents: [worker], permission: { mode: "ask" } });
const yes: Answer = { type: "permission", allow: true };

/** Answers what is open and waits for more, until the run ends; the number of questions each time. */
async function answerAll(runtime: TestRuntime, run: Run, answer: Answer = yes): Promise<readonly number[]> {
  const asked: number[] = [];
  for (let result = await run.result(); result.status === "waiting"; result = await run.result()) {
    asked.push(result.requests.length);
    for (const { requestId } of result.requests) await run.session.respond(requestId, answer);
  }
  return asked;
}

describe("approvals", () => {
  it("PERM-07 lets what was approved run again without a question until its time is over", async () => {
    const worker = clerk({ allowForMs: 10 * MINUTE }, [
      turn("shop"),
      turn("shop"),
      turn("other"),
      { text: "ok" },
      turn("shop"),
      { text: "ok" },
      turn("shop"),
    ]);
    await using runtime = await open(worker);
    const session = await runtime.session({ agent: worker });
    expect(await answerAll(runtime, await session.send("one"))).toEqual([1, 1]); // shop, other
    await runtime.clock.advance(9 * MINUTE);
    expect(await answerAll(runtime, await session.send("two"))).toEqual([]);
    await runtime.clock.advance(2 * MINUTE);
    expect(await answerAll(runtime, await session.send("three"))).toEqual([1]);
  });

  it("PERM-07 a refusal, an expiry and changed arguments approve nothing", async () => {
    const answers: readonly Answer[] = [
      { type: "permission", allow: false },
      { ...yes, input: { to: "elsewhere" } },
    ];
    for (const answer of answers) {
      const worker = clerk({ allowForMs: MINUTE }, [turn("shop"), turn("shop")]);
      await using runtime = await open(worker);
      expect(await answerAll(runtime, await runtime.send(worker, "Go"), answer)).toEqual([1, 1]);
    }
  });

  it("PERM-07 what a rule asks about is asked every time", async () => {
    const worker = clerk({ allowForMs: MINUTE }, [turn("shop"), turn("shop")], { ask: ["pay"] });
    await using runtime = await open(worker);
    expect(await answerAll(runtime, await runtime.send(worker, "Go"))).toEqual([1, 1]);
  });

  it("PERM-07 an approval is not for what a later hook makes of the call", async () => {
    const detour = plugin({
      name: "detour",
      tool: (hooked, { state }, next) =>
        next(state.run?.turns === 2 ? { ...hooked, input: { to: "elsewhere" } } : hooked),
    });
    const worker = agent({
      name: "clerk",
      model: scriptedModel([turn("shop"), turn("shop"), turn("shop")]),
      instructions: "x",
      tools: [pay],
      plugins: [approvals({ allowForMs: MINUTE }), detour],
    });
    await using runtime = await open(worker);
    expect(await answerAll(runtime, await runtime.send(worker, "Go"))).toEqual([1, 1]); // shop, elsewhere; shop is approved
  });

  it("PERM-07 a function says how long, by tool, person and reason", async () => {
    const seen: unknown[] = [];
    const allowForMs: ApprovalsOptions["allowForMs"] = (approval) => {
      seen.push(approval);
      return approval.reason === "for now" ? MINUTE : undefined;
    };
    for (const [reason, asked] of [
      ["for now", [1]],
      ["once", [1, 1]],
    ] as const) {
      const worker = clerk({ allowForMs }, [turn("shop"), turn("shop")]);
      await using runtime = await open(worker);
      expect(
        await answerAll(runtime, await runtime.send(worker, "Go"), { type: "permission", allow: true, reason }),
      ).toEqual(asked);
    }
    expect(seen[0]).toEqual({ tool: "pay", rules: ["pay(domain:shop)"], by: "local", reason: "for now" });
  });

  it("PERM-07 counts the answers of named approvers only, and lists what waits for each", async () => {
    const worker = clerk({ allowForMs: MINUTE }, [turn("shop")], { approvers: ["ann", "bob"] });
    await using runtime = await open(worker);
    const run = await runtime.send(worker, "Go");
    const { requests } = await run.result();
    expect(await approvalQueue(runtime, "ann")).toEqual(requests);
    expect(await approvalQueue(runtime, "mallory")).toEqual([]);
    const as = async (id: string) => runtime.as({ id, door: "test" }).session(run.session.id);
    const requestId = requests[0]?.requestId ?? "";
    await expect((await as("mallory")).respond(requestId, yes)).rejects.toMatchObject({ code: "permission-denied" });
    expect(await run.result()).toMatchObject({ status: "waiting" });
    await (await as("bob")).respond(requestId, yes);
    expect(await run.result()).toMatchObject({ status: "finished", reason: "end-turn" });
    const log = await runtime.store.read(run.session.id, { after: 0, limit: 1_000 });
    expect(log.find((fact) => fact.type === "request.resolved")).toMatchObject({ by: { id: "bob" } });
  });

  it("PERM-07 waits only so long: then the question is closed as a refusal", async () => {
    const worker = clerk({ allowForMs: MINUTE }, [turn("shop")], { waitMs: 5 * MINUTE });
    await using runtime = await open(worker);
    const run = await runtime.send(worker, "Go");
    expect(await run.result()).toMatchObject({ status: "waiting" });
    await runtime.clock.advance(4 * MINUTE);
    expect(await run.result()).toMatchObject({ status: "waiting" });
    await runtime.clock.advance(2 * MINUTE);
    expect(await run.result()).toMatchObject({ status: "finished" });
    const log = await runtime.store.read(run.session.id, { after: 0, limit: 1_000 });
    expect(resultsOf(log)).toEqual([expect.stringContaining("nobody answered in time")]);
    expect(await approvalQueue(runtime, "ann")).toEqual([]);
  });

  it("PERM-07 a store carries approvals to other sessions, each told once", async () => {
    const kept = new Map<string, number>();
    const told: unknown[] = [];
    const store: ApprovalStore = {
      approvedUntil: (rule, { actor }) => kept.get(`${actor.tenant} ${rule}`),
      approve: (rule, approval) => {
        told.push([rule, approval]);
        kept.set(`${approval.actor.tenant} ${rule}`, approval.until);
      },
    };
    const worker = clerk({ allowForMs: MINUTE, store }, [turn("shop")]);
    await using runtime = await open(worker);
    const acme = runtime.as({ id: "ann", door: "test", tenant: "acme" });
    const other = runtime.as({ id: "eve", door: "test", tenant: "other" });
    expect(await answerAll(runtime, await acme.send(worker, "one"))).toEqual([1]);
    expect(await answerAll(runtime, await acme.send(worker, "two"))).toEqual([]);
    expect(await answerAll(runtime, await other.send(worker, "three"))).toEqual([1]);
    expect(told[0]).toEqual([
      "pay(domain:shop)",
      { until: expect.any(Number), by: "ann", agent: "clerk", actor: { id: "ann", door: "test", tenant: "acme" } },
    ]);
    expect(told).toHaveLength(2);
  });

  it("PERM-07 a store that fails means a question, not a call", async () => {
    let failures = 0;
    const told: string[] = [];
    const store: ApprovalStore = {
      approvedUntil: () => Promise.reject(new Error("down")),
      approve(rule) {
        if (++failures < 3) throw new Error("down");
        told.push(rule);
      },
    };
    const worker = clerk({ allowForMs: MINUTE, store }, [turn("shop"), turn("shop"), turn("shop"), turn("shop")]);
    await using runtime = await open(worker);
    const run = await runtime.send(worker, "Go");
    expect(await answerAll(runtime, run)).toEqual([1]); // in its own session the approval holds all the same
    expect((await run.result()).reason).toBe("end-turn");
    expect(told).toEqual(["pay(domain:shop)"]); // told again until it heard
  });

  it("PERM-07 comes to the same end after a crash at any write", async () => {
    const worker = clerk(
      { allowForMs: MINUTE * 60, store: { approvedUntil: () => undefined, approve: () => undefined } },
      [turn("shop"), turn("shop", "other")],
    );
    let asked = 0;
    const report = await crashSweep({
      agents: [worker],
      permission: { mode: "ask" },
      onRequest: async () => {
        asked += 1;
        return yes;
      },
      journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }),
    });
    expect(report.crashes).toBeGreaterThan(20);
    expect(asked).toBeGreaterThan(report.crashes);
  });

  it("refuses a time that is none", () => {
    for (const allowForMs of [0, -1, 1.5, "10m" as unknown as number]) {
      expect(() => approvals({ allowForMs })).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    }
    expect(() => clerk({ allowForMs: 1 }, [], { waitMs: 0 })).toThrowError(
      expect.objectContaining({ code: "agent-invalid" }),
    );
  });
});
