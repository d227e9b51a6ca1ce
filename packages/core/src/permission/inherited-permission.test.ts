import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import type { Json } from "../words/json.ts";
import { plugin } from "../ports/plugin.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon } from "../testing/waiting.ts";
import { builtIn, flowTool, tool } from "../ports/tool.ts";

const call = (name: string, input: Json = {}): ScriptedReply => ({ calls: [{ name, input }] });

describe("permission of sub-agents, and who may give it", () => {
  it("SUB-03 PERM-10 asks nobody in a flow below one that never asks", async () => {
    const asks = flowTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      flow: async (_i, c) => String((await c.ask("x", { title: "May I?" })).allow),
    });
    const inner = agent({
      name: "worker",
      model: scriptedModel([call("asks"), { text: "ok" }]),
      instructions: "W",
      tools: [asks],
      permission: { mode: "ask" },
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const result = await soon((await runtime.send(lead, "Go", { mode: "never-ask" })).result());
    expect(result).toMatchObject({ status: "finished" });
  });

  it("PERM-11 still asks because of an ask rule of the parent after an always said to the child", async () => {
    let done = 0;
    const act = builtIn(
      tool({ name: "act", description: "Acts.", input: z.object({}), kind: "execute", execute: () => void done++ }),
    );
    const inner = agent({
      name: "worker",
      model: scriptedModel([call("act"), call("act"), { text: "ok" }]),
      instructions: "W",
      tools: [act],
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner, act],
      permission: { ask: ["act"] },
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const run = await runtime.send(lead, "Go");
    let result = await run.result();
    expect(result.requests[0]?.body).toMatchObject({ remember: [] }); // it would be said in vain
    await run.session.respond(result.requests[0]?.requestId ?? "", { type: "permission", allow: true });
    result = await run.result();
    expect(result.status).toBe("waiting");
    expect(done).toBe(1);
  });

  it("PERM-11 takes no consent from a hook of the child for its parent", async () => {
    let done = 0;
    const act = builtIn(
      tool({ name: "act", description: "Acts.", input: z.object({}), kind: "execute", execute: () => void done++ }),
    );
    const yes = plugin({ name: "yes", tool: (c, _x, next) => next({ ...c, verdict: "allow" }) });
    const inner = agent({
      name: "worker",
      model: scriptedModel([call("act"), { text: "ok" }]),
      instructions: "W",
      tools: [act],
      plugins: [yes],
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner, act],
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const result = await (await runtime.send(lead, "Go")).result();
    expect({ done, status: result.status }).toEqual({ done: 0, status: "waiting" });
  });

  it("PERM-11 keeps a hook of the parent whose plugin has the name of one of the child's", async () => {
    let done = 0;
    const act = tool({ name: "act", description: "Acts.", input: z.object({}), execute: () => void done++ });
    const guard = (deny: string) =>
      plugin({ name: "guard", tool: (c, x, next) => (c.name === deny ? x.deny("no") : next(c)) });
    const inner = agent({
      name: "worker",
      model: scriptedModel([call("act"), { text: "ok" }]),
      instructions: "W",
      tools: [act],
      plugins: [guard("other")],
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
      plugins: [guard("act")],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    await (await runtime.send(lead, "Go")).result();
    expect(done).toBe(0);
  });

  it("PERM-07 does not let onRequest answer for named approvers", async () => {
    let done = 0;
    const act = tool({
      name: "act",
      description: "Acts.",
      input: z.object({}),
      permission: "ask",
      execute: () => void done++,
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("act"), { text: "ok" }]),
      instructions: "L",
      tools: [act],
      permission: { approvers: ["boss"] },
    });
    await using runtime = await testRuntime({
      agents: [lead],
      permission: { mode: "ask" },
      onRequest: async () => ({ type: "permission", allow: true }),
    });
    const result = await soon((await runtime.send(lead, "Go")).result());
    expect({ done, status: result.status }).toEqual({ done: 0, status: "waiting" });
  });

  it("PERM-07 PERM-11 takes the answers of the parent's approvers only, also in a flow", async () => {
    const act = flowTool({
      name: "act",
      description: "Acts.",
      input: z.object({}),
      flow: async (_i, c) => String((await c.ask("x", { title: "May I?" })).allow),
    });
    const inner = agent({
      name: "worker",
      model: scriptedModel([call("act"), { text: "ok" }]),
      instructions: "W",
      tools: [act],
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "go" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
      permission: { approvers: ["boss"] },
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const result = await (await runtime.send(lead, "Go")).result();
    expect(result.requests[0]?.body).toMatchObject({ approvers: ["boss"] });
  });

  it("PERM-19 remembers the call that was agreed to, not the one that was edited away", async () => {
    const act = builtIn(
      tool({
        name: "shell",
        description: "Acts.",
        input: z.object({ command: z.string() }),
        kind: "execute",
        needs: ({ command }) => [{ type: "execute", command }],
        execute: () => "ok",
      }),
    );
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("shell", { command: "make deploy" }), { text: "ok" }]),
      instructions: "L",
      tools: [act],
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const run = await runtime.send(lead, "Go");
    const { requests } = await run.result();
    await run.session.respond(requests[0]?.requestId ?? "", {
      type: "permission",
      allow: true,
      remember: "session",
      input: { command: "make test" },
    });
    await run.result();
    expect(JSON.stringify((await run.session.state()).rules)).not.toContain("deploy");
  });
});
