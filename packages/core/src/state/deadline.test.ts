import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import type { FactOf } from "../words/event.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime, type TestRuntime } from "../testing/test-runtime.ts";
import { flowTool, type Spawned, tool } from "../ports/tool.ts";

const WORK_MS = 40_000;

/** A lead whose one tool gives tasks to a worker, which takes `WORK_MS` for each. */
function tree(spawn: (give: (name: string) => Promise<Spawned>) => Promise<readonly Spawned[]>, asks = false) {
  let at: TestRuntime | undefined;
  const work = tool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    permission: asks ? "ask" : "allow",
    execute: (_input, { signal }) =>
      new Promise<string>((done, fail) => {
        const cancel = at?.clock.after(WORK_MS, () => done("done"));
        signal.addEventListener("abort", () => {
          cancel?.();
          fail(signal.reason as Error);
        });
      }),
  });
  const model = scriptedModel([{ calls: [{ name: "work", input: {} }] }, { text: "ok" }]);
  const worker = agent({ name: "worker", model, instructions: "Work.", tools: [work] });
  const lead = agent({
    name: "lead",
    model: scriptedModel([{ calls: [{ name: "delegate", input: {} }] }, { text: "Done." }]),
    instructions: "Lead.",
    tools: [
      flowTool({
        name: "delegate",
        description: "Gives tasks.",
        input: z.object({}),
        flow: async (_input, context) => {
          const given = await spawn((name) => context.spawn(name, "worker", name));
          return given.map(({ status }) => status).join(" ");
        },
      }),
      worker,
    ],
    limits: { wallMs: 100_000 },
  });
  const begin = async (): Promise<{ runtime: TestRuntime; run: Awaited<ReturnType<TestRuntime["send"]>> }> => {
    const runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    at = runtime;
    return { runtime, run: await runtime.send(lead, "Go") };
  };
  return { begin };
}

async function grants(run: Awaited<ReturnType<TestRuntime["send"]>>): Promise<readonly (number | undefined)[]> {
  const found: FactOf<"task.started">[] = [];
  for await (const { event } of run.events()) if (event.type === "task.started") found.push(event);
  return found.map(({ grant }) => grant?.wallMs);
}

describe("the wall time of a tree", () => {
  it("EDGE-08 counts while sub-agents work, one after the other, and gives each no more than what is left", async () => {
    const { begin } = tree(async (give) => [await give("a"), await give("b"), await give("c")]);
    const { runtime, run } = await begin();
    await using _open = runtime;
    const started = runtime.clock.now();
    const result = run.result();
    await runtime.clock.advance(10 * WORK_MS);
    await result;
    expect(await grants(run)).toEqual([100_000, 60_000, 20_000]);
    const statuses: string[] = [];
    for await (const { event } of run.events()) {
      if (event.type === "task.finished") statuses.push(event.status);
      if (event.type === "run.finished") expect(event.at - started).toBe(100_000);
    }
    expect(statuses).toEqual(["completed", "completed", "failed"]);
  });

  it("EDGE-08 counts the time of sub-agents beside each other once", async () => {
    const { begin } = tree(async (give) => {
      const first = await Promise.all([give("a"), give("b")]);
      return [...first, await give("c")];
    });
    const { runtime, run } = await begin();
    await using _open = runtime;
    const result = run.result();
    await runtime.clock.advance(10 * WORK_MS);
    expect((await result).reason).toBe("end-turn");
    expect(await grants(run)).toEqual([100_000, 100_000, 60_000]);
  });

  it("EDGE-08 does not count while a sub-agent waits for a person", async () => {
    const { begin } = tree(async (give) => [await give("a"), await give("b")], true);
    const { runtime, run } = await begin();
    await using _open = runtime;
    for (let asked = 0; asked < 2; asked++) {
      await runtime.clock.advance(3_600_000);
      const [request] = await runtime.requests();
      const session = await runtime.session(request?.sessionId ?? "");
      await session.respond(request?.requestId ?? "", { type: "permission", allow: true });
      await runtime.clock.advance(WORK_MS);
    }
    expect(await run.result()).toMatchObject({ status: "finished", reason: "end-turn" });
    expect(await grants(run)).toEqual([100_000, 60_000]);
  });
});
