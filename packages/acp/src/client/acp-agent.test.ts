import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type Fact,
  isLive,
  LIMITS,
  memoryStore,
  type OpenRequest,
  openRuntime,
  storeEngine,
  systemClock,
  systemIds,
} from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { acpAgent } from "./acp-agent.ts";
import type { AcpAgentOptions } from "./agent-work.ts";

const PROGRAM = join(import.meta.dirname, "..", "testing", "scripted-agent.ts");

type Ended = Extract<Fact, { type: "tool.finished" }>;

/** One call of the tool with this task; `allow` answers what a person is asked. */
async function call(task: string, options: Partial<AcpAgentOptions> = {}, allow?: (request: OpenRequest) => boolean) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-acp-agent-")));
  const helper = acpAgent({
    name: "helper",
    description: "Helps.",
    command: process.execPath,
    args: [PROGRAM],
    env: { AGENT_STORE: folder },
    ...options,
  });
  const model = scriptedModel([{ calls: [{ name: "helper", input: { task } }] }, { text: "Done." }]);
  const lead = agent({
    name: "lead",
    model,
    instructions: "Lead.",
    tools: [helper],
    permission: { allow: ["helper"] },
  });
  const clock = systemClock;
  const engine = storeEngine(memoryStore(), { clock, ids: systemIds(() => clock.now()) });
  const asked: OpenRequest[] = [];
  const workspaces = {
    local: async (root: string) =>
      ({ kind: "local", root, confinement: "none", close: async () => undefined }) as never,
  };
  const runtime = await openRuntime({
    agents: [lead],
    engine,
    workspaces,
    ...(allow !== undefined && {
      onRequest: async (request: OpenRequest) => {
        asked.push(request);
        return { type: "permission" as const, allow: allow(request) };
      },
    }),
    ...(allow === undefined && { permission: { mode: "never-ask" as const } }),
  });
  try {
    const run = await runtime.send("lead", "Go", { workspace: folder });
    let ended: Ended | undefined;
    const progress: string[] = [];
    for await (const { event } of run.events()) {
      if (isLive(event)) progress.push(event.type === "tool.progress" ? (event.chunk ?? event.message ?? "") : "");
      else if (event.type === "tool.finished") ended = event;
    }
    const text = ended?.output.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return { text, isError: ended?.output.isError === true, asked, progress: progress.join("") };
  } finally {
    await runtime.close({ graceMs: 0 });
    await rm(folder, { recursive: true, force: true });
  }
}

describe("acpAgent", { timeout: 60_000 }, () => {
  it("ACP-05 gives a task to another agent, shows its progress and returns what it says", async () => {
    expect(await call("Sum up.")).toMatchObject({
      text: "You said: Sum up.",
      isError: false,
      progress: "You said: Sum up.",
    });
  });

  it("ACP-01 asks the person of this run what the other agent asks", async () => {
    const { text, asked } = await call(
      "asks a.txt b.txt",
      {},
      ({ body }) => "title" in body && body.title.includes("a.txt"),
    );
    expect(text).toBe("yes,no");
    expect(asked.map(({ body }) => ("title" in body ? body.title : ""))).toEqual([
      "helper: Write a.txt",
      "helper: Write b.txt",
    ]);
  });

  it("PERM-09 refuses where nobody can be asked, and permits what its rules say", async () => {
    expect((await call("ask a.txt")).text).toBe("no");
    expect((await call("asks in/a out/b", { permission: { allow: [{ kind: "edit", within: "in" }] } })).text).toBe(
      "yes,no",
    );
  });

  it("DUR-14 tells the model of an agent that is lost, and of one that is not there", async () => {
    expect(await call("crash")).toMatchObject({ isError: true, text: expect.stringContaining("code 7") as string });
    const none = await call("x", { command: "/no/such/program", args: [] });
    expect(none).toMatchObject({ isError: true, text: expect.stringContaining("could not be started") as string });
  });

  it("ACP-01 keeps the agent waiting while nobody answers and the run is parked, and goes on with the answer", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-acp-agent-")));
    const helper = acpAgent({
      name: "helper",
      description: "Helps.",
      command: process.execPath,
      args: [PROGRAM],
      env: { AGENT_STORE: folder },
    });
    const model = scriptedModel([{ calls: [{ name: "helper", input: { task: "ask a.txt" } }] }, { text: "Done." }]);
    const lead = agent({
      name: "lead",
      model,
      instructions: "Lead.",
      tools: [helper],
      permission: { allow: ["helper"] },
    });
    const workspaces = {
      local: async (root: string) =>
        ({ kind: "local", root, confinement: "none", close: async () => undefined }) as never,
    };
    await using runtime = await testRuntime({ agents: [lead], workspaces, permission: { mode: "ask" } });
    const run = await runtime.send("lead", "Go", { workspace: folder });
    const waiting = await run.result();
    const [request] = waiting.requests;
    expect(request?.body).toMatchObject({ type: "permission", title: "helper: Write a.txt" });
    await runtime.clock.advance(LIMITS.parkAfterMs);
    await runtime.clock.advance(LIMITS.parkAfterMs);
    expect((await runtime.sessions())[0]?.held).toBeUndefined();
    await run.session.respond(request?.requestId ?? "", { type: "permission", allow: true });
    const { text, messages } = await run.result();
    expect(text).toBe("Done.");
    const results = messages.flatMap(({ parts }) => parts).filter((part) => part.type === "tool-result");
    expect(results).toMatchObject([{ output: { content: [{ text: "yes" }] } }]);
    await rm(folder, { recursive: true, force: true });
  });
});
