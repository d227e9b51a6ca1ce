import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type Fact,
  listedTools,
  memoryStore,
  openRuntime,
  type Runtime,
  storeEngine,
  systemClock,
  systemIds,
  type ToolContext,
  type ToolOutput,
  textOf,
} from "@capstan/core";
import { scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { shellTools } from "./shell.ts";
import { backgroundShell, type BackgroundFact } from "./shell-background.ts";
import { outputTail } from "./shell-background-output.ts";
import { taskIdOf } from "./shell-background-tasks.ts";
import { temporaryWorkspace, type TemporaryWorkspace } from "./temporary-workspace.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";
import { localWorkspace } from "./workspaces/local.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe("backgroundShell", () => {
  let at: TemporaryWorkspace;
  let shell: ReturnType<typeof backgroundShell>;
  let calls = 0;
  beforeEach(async () => {
    at = await temporaryWorkspace();
    shell = backgroundShell();
  });
  afterEach(async () => {
    const opened = await shell.open?.({} as never);
    await opened?.[Symbol.asyncDispose]();
    expect(at.processes()).toEqual([]);
    await at.close();
  });

  async function call(name: string, input: unknown, context?: Partial<ToolContext>): Promise<ToolOutput> {
    const found = listedTools(shell).find((tool) => tool.name === name);
    if (found?.body.type !== "execute") throw new Error(`no tool ${name}`);
    calls += 1;
    const given = { ...at.context(), callId: `run_1/${calls}/0`, ...context };
    return (await found.body.execute(input, given)) as ToolOutput; // the tools above answer so
  }
  const say = async (name: string, input: unknown, context?: Partial<ToolContext>): Promise<string> => {
    const { content, isError } = await call(name, input, context);
    return (isError === true ? "ERROR " : "") + textOf(content);
  };
  const idOf = (said: string): string => /\[(cmd_[0-9a-f]{8}):/.exec(said)?.[1] ?? "";
  const cursorOf = (said: string): number => Number(/cursor (\d+)/.exec(said)?.[1]);

  it("G12 keeps only commands that run in its state, however many there were", () => {
    let state = shell.fold?.start;
    for (let index = 0; index < 1_000; index += 1) {
      for (const status of ["running", "completed"] as const) {
        const data: BackgroundFact = {
          taskId: index === 7 ? "__proto__" : `cmd_${index}`,
          command: "x",
          status,
          said: "",
        };
        state = shell.fold?.next(state, { type: "data", name: "plugin/background-shell", data } as unknown as Fact);
      }
    }
    expect(state).toEqual({});
  });

  it("refuses a command that the system cannot start", async () => {
    const command = "x".repeat(TOOL_LIMITS.shellCommandBytes + 1);
    expect(await say("shell_start", { command })).toMatch(/^ERROR The command has 131,072 bytes/);
  });

  it("TOOL-29 starts a command, shows what is new by cursor, and ends it with all it started", async () => {
    const started = await say("shell_start", { command: "echo one; setsid sleep 1000000 & wait" });
    const id = idOf(started);
    expect(id).toMatch(/^cmd_/);
    const first = await say("shell_output", { task: id, waitMs: 10_000 });
    expect(first).toMatch(/^one\n/);
    expect(await say("shell_list", {})).toMatch(new RegExp(`^${id}  running  echo one`));
    const killed = await say("shell_kill", { task: id });
    expect(killed).toBe(`${id}: stopped`);
    expect(await say("shell_list", {})).toContain("stopped");
  });

  it("TOOL-29 gives only new lines after a cursor, and waits for them", async () => {
    at.write("wait.sh", "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second; exit 3");
    const started = await say("shell_start", { command: "bash wait.sh" });
    const id = idOf(started);
    const first = await say("shell_output", { task: id, waitMs: 10_000 });
    expect(first).toBe(`first\n[${id}: running; cursor 6]`);
    const waiting = say("shell_output", { task: id, after: cursorOf(first), waitMs: 30_000 });
    at.write("go", "");
    const second = await waiting;
    expect(second.startsWith("second\n")).toBe(true);
    await vi.waitFor(async () => expect(await say("shell_list", {})).toContain("exit code 3"), { timeout: 10_000 });
    expect(await say("shell_output", { task: id, after: 13 })).toBe(`[${id}: exit code 3; cursor 13]`);
  });

  it("tells an early failure at once", async () => {
    expect(await say("shell_start", { command: "echo no >&2; exit 2" })).toMatch(
      /^no\n\[cmd_\w+: exit code 2; cursor 3\]$/,
    );
  });

  it("TOOL-29 keeps a bounded number of commands, and ends one after its lifetime", async () => {
    for (let started = 0; started < TOOL_LIMITS.backgroundRunning; started += 1) {
      const said = await call("shell_start", { command: "exec sleep 1000000" });
      expect(said.isError).toBeUndefined();
    }
    expect(await say("shell_start", { command: "true" })).toMatch(/^ERROR 16 background commands run already/);
    const other = await say("shell_start", { command: "exec sleep 1000000", lifetimeMs: 300 }, otherSession(at));
    expect(other).toContain("running");
    await vi.waitFor(
      async () => expect(await say("shell_list", {}, otherSession(at))).toContain("ended after its 300 ms"),
      { timeout: 10_000 },
    );
  });

  it("TOOL-29 shows a session its own commands only", async () => {
    const id = idOf(await say("shell_start", { command: "exec sleep 1000000" }));
    expect(await say("shell_list", {}, otherSession(at))).toBe("There are no background commands.");
    expect(await say("shell_kill", { task: id }, otherSession(at))).toMatch(/^ERROR There is no background command/);
    expect(await say("shell_list", {})).toContain("running");
  });
});

function otherSession(at: TemporaryWorkspace): Partial<ToolContext> {
  return { ...at.context(), callId: "run_2/1/0", session: { id: "ses_2", metadata: {} } };
}

describe("outputTail", () => {
  it("TOOL-29 keeps the last characters and counts what is gone", () => {
    const tail = outputTail(10);
    tail.push("0123456789");
    expect(tail.from(0, 4)).toEqual({ text: "0123", next: 4 });
    tail.push("abcdefghijklmn");
    expect(tail.from(4, 100)).toEqual({ text: "\n[... 10 characters left out ...]\nefghijklmn", next: 24 });
    expect(tail.from(24, 100)).toEqual({ text: "", next: 24 });
    expect(tail.from(99, 100)).toEqual({ text: "", next: 24 });
  });
});

describe("backgroundShell in a runtime", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  async function opened(turns: readonly ScriptedReply[], store = memoryStore()) {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "capstan-background-")));
    folders.push(root);
    const model = scriptedModel(turns);
    const ids = systemIds(() => systemClock.now());
    const coder = agent({
      name: "coder",
      model,
      instructions: "Work.",
      tools: shellTools(),
      plugins: [backgroundShell()],
    });
    const runtime: Runtime = await openRuntime({
      agents: [coder],
      engine: storeEngine(store, { clock: systemClock, ids }),
      permission: { mode: "never-ask", allow: ["shell(sleep *)"] },
      workspaces: { local: (folder) => localWorkspace(folder) },
      host: { clock: systemClock, ids },
    });
    const session = await runtime.session({ agent: coder, key: "k", workspace: root });
    return { runtime, session, model };
  }
  const facts = (log: readonly Fact[]): readonly BackgroundFact[] =>
    log.flatMap((fact) =>
      fact.type === "data" && fact.name === "plugin/background-shell" ? [fact.data as unknown as BackgroundFact] : [],
    );
  async function logOf(
    session: { events(options: { after: string }): AsyncIterable<{ event: unknown }> },
    count: number,
  ) {
    const log: Fact[] = [];
    for await (const { event } of session.events({ after: "0" })) {
      const fact = event as Fact; // live ones have other types than are looked for
      log.push(fact);
      if (fact.type === "run.finished" && log.filter(({ type }) => type === "run.finished").length === count)
        return log;
    }
    return log;
  }

  it("TOOL-29 EDGE-09 rules of shell hold for it: what they do not allow is refused, a deny wins", async () => {
    const { runtime, session, model } = await opened([
      { calls: [{ name: "shell_start", input: { command: "touch made" } }] },
      { calls: [{ name: "shell_start", input: { command: "sleep 1000000" } }] },
      { calls: [{ name: "shell_list", input: {} }] },
    ]);
    await (await session.send("go")).result();
    const results = model.requests
      .at(-1)
      ?.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-result"));
    expect(JSON.stringify(results?.[0])).toContain('"isError":true');
    expect(JSON.stringify(results?.[1])).toContain("running");
    expect(JSON.stringify(results?.[2])).toContain("running  sleep 1000000");
    await runtime.close();
  });

  it("TOOL-29 records start and end, tells the model, and reports what a crash cut off as lost", async () => {
    const store = memoryStore();
    const { runtime, session, model } = await opened(
      [
        { calls: [{ name: "shell_start", input: { command: "sleep 1000000" } }] },
        (request) => {
          const started = JSON.stringify(request.messages.at(-1));
          return { calls: [{ name: "shell_kill", input: { task: /cmd_[0-9a-f]{8}/.exec(started)?.[0] ?? "" } }] };
        },
        { text: "Killed." },
        { calls: [{ name: "shell_start", input: { command: "sleep 1000001" } }] },
        { text: "Started." },
      ],
      store,
    );
    await (await session.send("one")).result();
    await (await session.send("two")).result();
    const first = facts(await logOf(session, 2));
    expect(first.map(({ status }) => status)).toEqual(["running", "stopped", "running"]);
    expect(JSON.stringify(model.requests[2])).toContain("): stopped");
    await runtime.close();
    const again = await opened([...Array<ScriptedReply>(5).fill({ text: "" }), { text: "I see." }], store);
    await (await again.session.send("three")).result();
    const second = facts(await logOf(again.session, 3));
    expect(second.map(({ status }) => status)).toEqual(["running", "stopped", "running", "lost"]);
    expect(second.at(-1)?.taskId).toBe(first.at(-1)?.taskId);
    expect(JSON.stringify(again.model.requests[0])).toContain("lost: the process that ran it is gone");
    await again.runtime.close();
  });
});

it("names a task by its call, the same in every process", () => {
  expect(taskIdOf("run_1/1/0")).toBe(taskIdOf("run_1/1/0"));
  expect(taskIdOf("run_1/1/0")).not.toBe(taskIdOf("run_1/1/1"));
});
