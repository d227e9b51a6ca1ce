import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon, until } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";
import { z } from "zod";

async function opened(mode: "ask" | "never-ask" = "never-ask") {
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel([{ text: "One.", hold: gate.promise }]);
  const asks = tool({
    name: "asks",
    description: "Asks.",
    input: z.object({}),
    permission: "ask",
    execute: () => "ran",
  });
  const asked = scriptedModel([{ calls: [{ name: "asks", input: {} }] }, { text: "Asked." }]);
  const guide = agent({ name: "guide", model, instructions: "x" });
  const asking = agent({ name: "asking", model: asked, instructions: "x", tools: [asks] });
  const runtime = await testRuntime({ agents: [guide, asking], permission: { mode } });
  return { runtime, guide, asking, gate, model };
}

/** Whether the promise is settled by what can happen without the clock. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe("waitForIdle and isRunning", () => {
  it("LOOP-16 wait for the run and for all that is queued, in this handle and in any other", async () => {
    const { runtime, guide, gate } = await opened();
    const session = await runtime.session({ agent: guide });
    expect(await session.isRunning()).toBe(false);
    await soon(session.waitForIdle());
    await session.send("first");
    expect(await session.isRunning()).toBe(true); // also while the input stands in the mailbox
    const second = await session.send("second");
    const idle = session.waitForIdle();
    const other = await runtime.session(session.id);
    await until(() => other.isRunning());
    const alsoIdle = other.waitForIdle();
    expect(await settled(Promise.race([idle, alsoIdle]))).toBe(false);
    gate.resolve();
    await soon(Promise.all([idle, alsoIdle]));
    expect(await soon(second.text())).toBe("Done.");
    expect(await session.isRunning()).toBe(false);
    expect(await session.state()).toMatchObject({ status: "idle", queue: [] });
    await runtime.close();
  });

  it("LOOP-16 a run that waits for a person is neither running nor idle", async () => {
    const { runtime, asking } = await opened("ask");
    const run = await runtime.send(asking, "Go");
    const { requests } = await soon(run.result());
    const { session } = run;
    expect(await session.isRunning()).toBe(false);
    const leaving = new AbortController();
    const left = session.waitForIdle({ signal: leaving.signal });
    expect(await settled(left)).toBe(false);
    leaving.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
    const idle = session.waitForIdle();
    await session.respond(requests[0]?.requestId ?? "", { type: "permission", allow: true });
    await soon(idle);
    expect((await soon(run.result())).text).toBe("Asked.");
    await runtime.close();
  });

  it("LOOP-16 an input that was taken back leaves the session idle", async () => {
    const { runtime, guide, gate } = await opened();
    const session = await runtime.session({ agent: guide });
    const first = await session.send("first");
    const second = await session.send("second");
    const idle = session.waitForIdle();
    await session.withdraw(second.inputId);
    gate.resolve();
    await soon(idle);
    expect((await soon(first.result())).reason).toBe("end-turn");
    await session.remove();
    await expect(session.isRunning()).rejects.toMatchObject({ code: "session-not-found" });
    await runtime.close();
  });
});
