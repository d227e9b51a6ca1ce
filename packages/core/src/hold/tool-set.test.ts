import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { isLive, type LiveBody } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { plugin, type PluginDefinition, type ToolSource } from "../ports/plugin.ts";
import type { Runtime } from "../session/runtime.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { flowTool, type Tool, tool } from "../ports/tool.ts";

function made(name: string, rest: { readonly permission?: "ask" } = {}): Tool {
  const input = z.object({});
  return tool({ name, description: `Does ${name}.`, input, rerun: "safe", execute: () => `${name} done`, ...rest });
}
const call = (...names: readonly string[]): ScriptedReply => ({ calls: names.map((name) => ({ name, input: {} })) });
const given = (tools: ToolSource, rest: Partial<PluginDefinition<undefined>> = {}) =>
  plugin({ name: "remote", tools, ...rest });

class ToolsWorld extends World {
  readonly live: LiveBody[] = [];

  async start(
    turns: readonly ScriptedReply[] | ScriptedModel,
    tools: ToolSource,
    definition: Partial<AgentDefinition> = {},
  ): Promise<Runtime> {
    const model = "stream" in turns ? turns : scriptedModel(turns);
    const rest = { permission: { mode: "ask", allow: ["mcp:github/*"] }, ...definition } as const;
    const guide = agent({ name: "guide", model, instructions: "x", plugins: [given(tools)], ...rest });
    return this.open({ agents: [guide] });
  }

  async say(runtime: Runtime): Promise<void> {
    const session = await runtime.session({ agent: "guide", key: "one" });
    const run = await session.send("Go");
    for await (const { event } of run.events()) if (isLive(event)) this.live.push(event);
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn" });
  }

  notices(): readonly (readonly [string, string])[] {
    return this.live.flatMap((event) => (event.type === "notice" ? [[event.code, event.title] as const] : []));
  }

  async results(): Promise<readonly unknown[]> {
    const ends = ofType(await this.log(), "tool.finished");
    return ends.map(({ name, status, output }) => [name, status, output.content[0]]);
  }
}

describe("tools that a plugin knows only at run time", () => {
  it("TOOL-21 MCP-08 are asked for where a run begins and stay for it: a change is told in the next run", async () => {
    const world = new ToolsWorld();
    let tools = [made("first")];
    const model = scriptedModel([
      () => ((tools = [made("first"), made("second")]), { calls: [{ name: "second", input: {} }] }),
      call("first"),
      { text: "1" },
      call("second"),
      { text: "2" },
    ]);
    const runtime = await world.start(model, () => tools);
    await world.say(runtime);
    expect(world.notices()).toEqual([]);
    await world.say(runtime);
    expect(world.notices()).toEqual([["prefix-changed", expect.stringContaining("tools were added (second)")]]);
    const shown = model.requests.map((request) => request.tools.map(({ name }) => name).join());
    expect(shown).toEqual(["first", "first", "first", "first,second", "first,second"]);
    expect(new Set(model.requests.slice(0, 3).map((request) => request.tools)).size).toBe(1); // the same bytes
    expect(await world.results()).toMatchObject([
      ["second", "error", { text: expect.stringContaining("no tool named") }],
      ["first", "ok", {}],
      ["second", "ok", {}],
    ]);
    await world.close();
  });

  it("MCP-02 an agent's own tool wins over one of the same name, which is left out with one notice", async () => {
    const world = new ToolsWorld();
    const theirs = tool({ ...base("echo"), execute: () => "theirs" });
    const mine = [tool({ ...base("echo"), execute: () => "mine" }), made("github__list")];
    const remote = [theirs, made("mcp:github/list"), made("mcp:github/get"), made("final_answer")];
    const runtime = await world.start([call("echo", "github__list", "github__get"), { text: "1" }], () => remote, {
      tools: mine,
    });
    await world.say(runtime);
    await world.say(runtime);
    expect((await world.results()).slice(0, 3)).toEqual([
      ["echo", "ok", { type: "text", text: "mine" }],
      ["github__list", "ok", { type: "text", text: "github__list done" }],
      ["mcp:github/get", "ok", { type: "text", text: "mcp:github/get done" }],
    ]);
    const left = world.notices().filter(([code]) => code === "tool-left-out");
    expect(left.map(([, title]) => title.split(" ")[2])).toEqual(["echo", "mcp:github/list", "final_answer"]);
    await world.close();
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no server"))],
    ["gives what is no list", () => "tools" as never],
    ["never answers", () => new Promise<never>(() => undefined)],
  ] satisfies readonly (readonly [string, ToolSource])[])(
    "MCP-05 a plugin that %s keeps what it gave last",
    async (_how, broken) => {
      const world = new ToolsWorld();
      let source: ToolSource = () => [made("echo")];
      const runtime = await world.start([call("echo"), { text: "1" }, call("echo"), { text: "2" }], () => source());
      await world.say(runtime);
      source = broken;
      const session = await runtime.session({ agent: "guide", key: "one" });
      const run = await session.send("Go");
      const read = (async () => {
        for await (const { event } of run.events()) if (isLive(event)) world.live.push(event);
      })();
      await until(() => world.clock.pending > 0);
      await world.clock.advance(LIMITS.hookTimeoutMs);
      expect(await soon(run.result())).toMatchObject({ reason: "end-turn" });
      await soon(read);
      expect((await world.results()).map((result) => (result as string[]).slice(0, 2))).toEqual([
        ["echo", "ok"],
        ["echo", "ok"],
      ]);
      await world.close();
    },
  );

  for (const left of ["is there", "is gone", "is another one"] as const) {
    it(`EDGE-01 MCP-08 a run taken over by another process: the tool of its open call ${left}`, async () => {
      const world = new ToolsWorld();
      const model = scriptedModel([call("github__send"), { text: "Sent." }]);
      const send = made("mcp:github/send");
      const permission = { mode: "ask" } as const;
      const runtime = await world.start(model, () => [send], { permission });
      const run = await runtime.send("guide", "Go", { key: "one" });
      const before = await soon(run.result());
      expect(before.requests.map(({ body }) => body)).toMatchObject([{ type: "permission", tool: "mcp:github/send" }]);
      await world.kill();
      const now = { "is there": [send], "is gone": [], "is another one": [{ ...send, hash: "other" }] }[left];
      const second = await world.start(model, async () => now, { permission });
      const session = await second.session<string>({ agent: "guide", key: "one" });
      await world.clock.advance(LIMITS.parkAfterMs);
      const allow = { type: "permission", allow: true } as const;
      const old = before.requests[0]?.requestId ?? "";
      const answered = session.respond(old, allow);
      if (left === "is there") await answered;
      else await expect(answered).rejects.toMatchObject({ code: "request-closed" }); // it was about the tool of then
      if (left === "is another one") {
        const open = async () => Object.keys((await session.state()).requests).filter((id) => id !== old);
        await until(async () => (await open()).length > 0);
        await session.respond((await open())[0] ?? "", allow);
      }
      expect(await soon((await session.run())?.text() ?? Promise.reject(new Error("no run")))).toBe("Sent.");
      expect(await world.results()).toMatchObject([["mcp:github/send", left === "is gone" ? "error" : "ok", {}]]);
      await world.close();
    });
  }

  it("DUR-03 MCP-02 survive a crash at every write", async () => {
    const flow = flowTool({
      name: "mcp:github/merge",
      description: "Merges.",
      input: z.object({}),
      flow: (_input, context) => context.step("call", { rerun: "keyed" }, () => "merged"),
    });
    const model = scriptedModel([call("github__merge", "github__get"), { text: "Done." }]);
    const plugins = [given(async () => [flow, made("mcp:github/get")])];
    const permission = { allow: ["mcp:github/*"] };
    const guide = agent({ name: "guide", model, instructions: "x", plugins, permission });
    const report = await crashSweep({ agents: [guide], journey: (runtime) => runtime.send(guide, "Go") });
    expect(report.crashes).toBeGreaterThan(10);
  });
});

describe("a tool of an MCP server", () => {
  it("MCP-02 goes by server__tool at the model's side only, in requests, calls and histories", async () => {
    const world = new ToolsWorld();
    const model = scriptedModel([call("github__create", "mcp:github/create"), { text: "1" }]);
    const runtime = await world.start(model, () => [made("mcp:github/create")], {
      settings: { toolChoice: { tool: "mcp:github/create" } },
    });
    await world.say(runtime);
    const [first, second] = model.requests;
    expect(first?.tools.map(({ name }) => name)).toEqual(["github__create"]);
    expect(first?.settings.toolChoice).toEqual({ tool: "github__create" });
    expect(JSON.stringify(second?.messages)).not.toContain('"name":"mcp:');
    expect(second?.messages.at(-1)?.parts).toMatchObject([{ name: "github__create" }, { name: "github__create" }]);
    const log = await world.log();
    expect(ofType(log, "tool.started").map(({ name, server }) => [name, server])).toEqual([
      ["mcp:github/create", "github"],
      ["mcp:github/create", "github"],
    ]);
    expect(JSON.stringify(log)).not.toContain("github__create");
    const started = world.live.flatMap((event) => (event.type === "block.started" ? [event.block] : []));
    expect(started[0]).toMatchObject({ type: "tool-input", name: "mcp:github/create" });
    expect(world.live.some((event) => event.type === "notice")).toBe(false); // nothing broke the cached prefix
    await world.close();
  });

  it("MCP-02 messages keep their identity from turn to turn under the other name", async () => {
    const world = new ToolsWorld();
    const model = scriptedModel([call("github__get"), call("github__get"), { text: "1" }]);
    await world.say(await world.start(model, () => [made("mcp:github/get")]));
    const [, second, third] = model.requests.map(({ messages }) => messages);
    expect(second?.length).toBe(3);
    expect(third?.slice(0, 3).every((message, index) => message === second?.[index])).toBe(true);
    await world.close();
  });

  it("MCP-02 an unknown one is answered with the names that the model knows", async () => {
    const world = new ToolsWorld();
    const runtime = await world.start([call("github__gett"), { text: "1" }], () => [made("mcp:github/get")]);
    await world.say(runtime);
    expect(JSON.stringify(await world.results())).toContain("Available: github__get.");
    await world.close();
  });

  it("PERM-04 G21 asks although its author is in code, and a rule of the server's family allows it", async () => {
    const world = new ToolsWorld();
    const turns = [call("github__get"), { text: "1" }];
    const runtime = await world.start(turns, () => [made("mcp:github/get")], { permission: { mode: "never-ask" } });
    await world.say(runtime);
    expect(await world.results()).toMatchObject([
      ["mcp:github/get", "denied", { text: expect.stringContaining("MCP server") }],
    ]);
    await world.close();
  });

  it("MCP-02 may be in a history that somebody brings along", async () => {
    const world = new ToolsWorld();
    const model = scriptedModel([{ text: "0" }, { text: "1" }]);
    const runtime = await world.start(model, () => []);
    const callId = "c1";
    const name = "mcp:github/get";
    const session = await runtime.session({
      agent: "guide",
      messages: [
        { id: "1", role: "user", parts: [{ type: "text", text: "Get" }] },
        { id: "2", role: "assistant", parts: [{ type: "tool-call", callId, name, input: {}, by: "capstan" }] },
        { id: "3", role: "user", parts: [{ type: "tool-result", callId, name, output: { content: [] } }] },
      ],
    });
    await soon((await session.send("Go on")).result());
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('"github__get"');
    await world.close();
  });
});

describe("permission rules for tools that are not known yet", () => {
  it("PERM-01 MCP-02 rules of MCP servers are never refused", async () => {
    const world = new ToolsWorld();
    const permission = { allow: ["mcp:github/*"], deny: ["mcp:files/delete"] };
    const guide = agent({ name: "guide", model: scriptedModel([]), instructions: "x", permission });
    await world.open({ agents: [guide], permission: { ask: ["mcp:other/*"] } });
    await world.close();
  });

  it("PERM-01 a name that no tool has is an error at the opening, or a notice where a plugin may yet give it", async () => {
    const world = new ToolsWorld();
    const permission = { deny: ["remove_all"] };
    const guide = agent({ name: "guide", model: scriptedModel([]), instructions: "x", permission });
    await expect(world.open({ agents: [guide] })).rejects.toMatchObject({ code: "rule-invalid" });
    const runtime = await world.start([{ text: "1" }], () => [made("remove")], { permission });
    await world.say(runtime);
    await world.say(runtime);
    expect(world.notices().filter(([code]) => code === "rule-unknown")).toEqual([
      ["rule-unknown", expect.stringContaining('"remove_all"')],
    ]);
    await world.close();
  });
});

function base(name: string) {
  return { name, description: "Says it.", input: z.object({}), rerun: "safe" } as const;
}
