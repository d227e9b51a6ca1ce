/** MCP tools in the loop: names, permission, crash safety, hooks, lazy disclosure, forms. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, CapstanError, flowTool, type Json, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { McpEvent } from "./mcp-event.ts";
import { mcpHookName } from "./mcp-hooks.ts";
import { mcp, type McpOptions } from "./mcp-plugin.ts";
import { inProcessServer } from "./serve/in-process.ts";
import { listenMcp } from "./serve/listen.ts";

const program = fileURLToPath(new URL("__fixtures__/odd-server.mjs", import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-mcp-plugin-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});
const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const own = (more: object = {}) => ({ own: { server: inProcessServer([echo, add]), ...more } });

type Script = Parameters<typeof scriptedModel>[0];
async function open(
  options: McpOptions,
  script: Script,
  more: { readonly allow?: readonly string[]; readonly ask?: boolean } = {},
) {
  const plugin = mcp(options);
  const model = scriptedModel(script);
  const runner = agent({ name: "runner", model, instructions: "Work.", plugins: [plugin] });
  const runtime = await testRuntime({
    agents: [runner],
    models: { runner: model },
    permission: { mode: more.ask === true ? "ask" : "never-ask", allow: more.allow ?? ["mcp:own/*", "mcp:odd/*"] },
  });
  return { plugin, model, runtime };
}
type Opened = Awaited<ReturnType<typeof open>>;

async function results(runtime: Opened["runtime"], input = "go") {
  const run = await runtime.send("runner", input);
  const result = await run.result();
  const outputs = result.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool-result" ? [part] : [])),
  );
  return { result, outputs, texts: outputs.map(({ output }) => textOf(output.content)) };
}

describe("tools of servers in a run", () => {
  it("MCP-02 MCP-12 TOOL names a tool for the model and for rules, and asks unless a rule allows it", async () => {
    const script: Script = [{ calls: [{ name: "own__echo", input: { text: "hi" } }] }, { text: "done" }];
    const { runtime, model } = await open({ servers: own() }, script);
    const { outputs, texts } = await results(runtime);
    expect(texts).toEqual(["hi"]);
    expect(outputs.map(({ name, output }) => [name, output.labels])).toEqual([
      ["mcp:own/echo", ["untrusted", "mcp:own"]],
    ]);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["own__echo", "own__add"]);
    await runtime.close();
    const refused = await open({ servers: own() }, script, { allow: [] });
    expect((await results(refused.runtime)).texts[0]).toContain("Refused: No rule allows this tool of an MCP server");
    await refused.runtime.close();
  });

  it("MCP-16 checks arguments here before a server sees them", async () => {
    const { runtime } = await open({ servers: own() }, [
      { calls: [{ name: "own__add", input: { a: "one", b: 2 } }] },
      { text: "done" },
    ]);
    expect((await results(runtime)).texts).toEqual([expect.stringContaining("Wrong arguments for own__add: a: ")]);
    await runtime.close();
  });

  it("MCP-06 tells the model that a broken call may have happened, and sends it once", async () => {
    const file = join(folder, "broken");
    const servers = { odd: { command: process.execPath, args: [program, "exit-once", file] } };
    const { runtime } = await open({ servers }, [
      { calls: [{ name: "odd__echo", input: { text: "pay" } }] },
      { text: "done" },
    ]);
    const { texts, outputs } = await results(runtime);
    expect(texts[0]).toContain("it may have happened: its outcome is unknown");
    expect(outputs[0]?.output.isError).toBe(true);
    expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(1);
    await runtime.close();
  });

  it("MCP-10 a server that cannot start leaves the run with the tools of the others", async () => {
    const events: McpEvent[] = [];
    const servers = { ...own(), gone: { command: "/no/such/program" } };
    const { runtime } = await open({ servers, onEvent: (event) => events.push(event) }, [
      { calls: [{ name: "own__echo", input: { text: "still here" } }] },
      { text: "done" },
    ]);
    expect((await results(runtime)).texts).toEqual(["still here"]);
    const ends = events.flatMap((event) => (event.type === "bootstrap.finished" ? [[event.server, event.ok]] : []));
    expect(new Map(ends as [string, boolean][])).toEqual(
      new Map([
        ["own", true],
        ["gone", false],
      ]),
    );
    await runtime.close();
  });

  it("MCP-16 a definition that changed since a person let it run asks again, whatever rules say", async () => {
    const file = join(folder, "changing");
    const approved = new Map<string, string>();
    const servers = { odd: { command: process.execPath, args: [program, "changing", file] } };
    const script: Script = [{ calls: [{ name: "odd__echo", input: { text: "one" } }] }, { text: "done" }];
    const first = await open({ servers, approved }, script);
    expect((await results(first.runtime)).texts).toEqual(["one"]);
    await first.runtime.close();
    await writeFile(`${file}.changed`, "");
    const second = await open({ servers, approved }, script);
    expect((await results(second.runtime)).texts[0]).toContain("Refused");
    await second.runtime.close();
  });

  it("G3 MCP-06 a crash at any write sends no call a second time unseen", async () => {
    let calls = 0;
    let most = 0;
    const act = tool({
      name: "act",
      description: "Acts.",
      input: z.object({}),
      execute: () => {
        calls += 1;
        most = Math.max(most, calls);
        return "acted";
      },
    });
    const swept = agent({
      name: "swept",
      model: scriptedModel([{ calls: [{ name: "own__act", input: {} }] }, { text: "done" }]),
      instructions: "Work.",
      plugins: [mcp({ servers: { own: { server: inProcessServer([act]) } } })],
    });
    const report = await crashSweep({
      agents: [swept],
      permission: { mode: "never-ask", allow: ["mcp:own/*"] },
      journey: (runtime) => {
        calls = 0;
        return runtime.send(swept, "go", { key: "work", idempotencyKey: "once" });
      },
    });
    expect(most).toBe(1);
    expect(report.crashes).toBeGreaterThan(10);
    expect(report.doubts).toBeGreaterThan(0);
  });

  it("MCP-15 asks the people of the run what a server asks in the middle of a call", async () => {
    const servers = {
      odd: { command: process.execPath, args: [program, "asks", join(folder, "asks")], callMs: 20_000 },
    };
    const { runtime } = await open({ servers }, [{ calls: [{ name: "odd__echo", input: {} }] }, { text: "done" }], {
      ask: true,
    });
    const run = await runtime.send("runner", "go");
    await expect.poll(() => runtime.requests()).toHaveLength(1);
    const [request] = await runtime.requests();
    expect(request?.body).toMatchObject({ type: "form", origin: "mcp:odd/echo", message: "odd asks: Which colour?" });
    await expect(run.session.respond(request!.requestId, { type: "form", content: { colour: 3 } })).rejects.toThrow(
      CapstanError,
    );
    await run.session.respond(request!.requestId, { type: "form", content: { colour: "red" } });
    const result = await run.result();
    expect(JSON.stringify(result.messages)).toContain(
      '\\"action\\":\\"accept\\",\\"content\\":{\\"colour\\":\\"red\\"}',
    );
    await runtime.close();
  });
});

describe("an agent of another Capstan", () => {
  it("MCP-13 MCP-15 asks the people here what its run asks, and waits for them in the log", async () => {
    const asks = flowTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      flow: async (_input, context) => ((await context.ask("go", { title: "Go on" })).allow ? "went on" : "stopped"),
    });
    const far = agent({
      name: "far",
      model: scriptedModel([{ calls: [{ name: "asks", input: {} }] }, { text: "all done" }]),
      instructions: "Work.",
      tools: [asks],
    });
    const there = await testRuntime({ agents: [far], permission: { mode: "ask" } });
    const server = await listenMcp({
      runtime: there,
      agents: [far],
      authorize: () => ({ id: "me", door: "mcp-http" }),
    });
    const script: Script = [{ calls: [{ name: "odd__far", input: { message: "go" } }] }, { text: "done" }];
    const { runtime } = await open({ servers: { odd: server.url } }, script, { ask: true });
    const run = await runtime.send("runner", "go");
    const waiting = await run.result();
    expect(waiting.status).toBe("waiting"); // no connection is held for it
    const [request] = waiting.requests;
    expect(request?.body).toMatchObject({ type: "form", message: "odd asks: Allow Go on?" });
    await run.session.respond(request!.requestId, { type: "form", content: { allow: true } });
    const result = await run.result();
    expect(result.status).toBe("finished");
    expect(JSON.stringify(result.messages)).toContain("all done");
    expect(await there.sessions()).toHaveLength(1);
    await runtime.close();
    await server.close();
    await there.close();
  });
});

describe("hooks", () => {
  const script: Script = [{ calls: [{ name: "own__echo", input: { text: "secret 12" } }] }, { text: "done" }];
  const run = async (hooks: McpOptions["hooks"] & object) => {
    const { runtime } = await open({ servers: own(), hooks }, script);
    const { texts, outputs } = await results(runtime);
    await runtime.close();
    return { text: texts[0], isError: outputs[0]?.output.isError === true };
  };

  it("HOOK-15 refuse, answer in the server's place, and change what the model reads", async () => {
    const seen: Json[] = [];
    const beforeCall = (call: object): { readonly deny: string } => {
      seen.push(call as Json);
      return { deny: "not today" };
    };
    expect(await run({ beforeCall })).toEqual({ text: "Refused: not today", isError: true });
    expect(seen).toEqual([
      {
        server: "own",
        tool: "echo",
        name: "mcp:own/echo",
        input: { text: "secret 12" },
        callId: expect.any(String),
        runId: expect.any(String),
      },
    ]);
    expect(await run({ beforeCall: () => ({ answer: "from here" }) })).toEqual({ text: "from here", isError: false });
    const afterCall = (): { content: [{ type: "text"; text: string }] } => ({
      content: [{ type: "text", text: "[hidden]" }],
    });
    expect(await run({ afterCall })).toEqual({ text: "[hidden]", isError: false });
  });

  it("HOOK-15 that fail refuse the call, withhold the output and offer no tool, unless they are to be ignored", async () => {
    const fail = (): never => {
      throw new Error("broken hook");
    };
    expect(await run({ beforeCall: fail })).toEqual({ text: "Refused: a hook before the call failed", isError: true });
    expect((await run({ afterCall: fail })).text).toContain("withheld");
    expect(await run({ beforeCall: fail, afterCall: fail, onFailure: "ignore" })).toEqual({
      text: "secret 12",
      isError: false,
    });
    expect((await run({ filterTools: fail })).text).toContain("There is no tool named");
  });

  it("HOOK-15 MCP-09 filter tools after the lists of the configuration", async () => {
    const found: unknown[] = [];
    const filterTools = ({ tools }: { readonly tools: readonly { readonly name: string }[] }) => {
      found.push(tools.map(({ name }) => name));
      return [
        ...tools,
        { name: "invented", description: "", inputSchema: {}, annotations: { readOnly: true, idempotent: true } },
      ] as never;
    };
    const { runtime, model } = await open({ servers: own({ tools: { deny: ["add"] } }), hooks: { filterTools } }, [
      { text: "done" },
    ]);
    await results(runtime);
    expect(found).toEqual([["echo"]]);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["own__echo"]);
    await runtime.close();
  });

  it("HOOK-15 have the names of other systems", () => {
    expect(
      ["mcp:tool:gate", "mcp:tool:transform", "mcp:tools:filter", "mcp:bootstrap:end", "mcp:other"].map(mcpHookName),
    ).toEqual(["beforeCall", "afterCall", "filterTools", "onEvent", undefined]);
  });
});

describe("lazy disclosure", () => {
  it("TOOL-21 shows names only, loads what was searched for, and refuses what was not", async () => {
    const { runtime, model } = await open(
      { servers: { ...own({ disclosure: "lazy" }), eager: { server: inProcessServer([echo]) } } },
      [
        { calls: [{ name: "mcp:own/add", input: { a: 1, b: 2 } }] },
        { calls: [{ name: "tool_search", input: { query: "adds numbers" } }] },
        { calls: [{ name: "own__add", input: { a: 1, b: 2 } }] },
        { text: "done" },
      ],
    );
    const { texts } = await results(runtime);
    expect(texts[0]).toContain("own__add is not loaded yet");
    expect(texts[1]).toContain("own__add: Adds two numbers.");
    expect(texts[2]).toBe('{"sum":3}');
    const [first, second, third] = model.requests;
    expect(first?.tools.map(({ name }) => name)).toEqual(["eager__echo", "tool_search"]);
    expect(first?.system).toContain("- own__add: Adds two numbers.");
    expect(first?.system).not.toContain("eager__echo:");
    expect(second?.system).toBe(first?.system);
    expect(third?.tools.map(({ name }) => name)).toEqual(["eager__echo", "tool_search", "own__add"]);
    await runtime.close();
  });
});

describe("the client by itself", () => {
  it("MCP-08 lists, counts, checks, switches and reconnects", async () => {
    const { plugin, runtime } = await open({ servers: { ...own(), off: { command: "x", disabled: true } } }, [
      { text: "done" },
    ]);
    const { client } = plugin;
    expect(client.count).toBe(2);
    expect(client.list().map(({ name, status }) => [name, status])).toEqual([
      ["own", "idle"],
      ["off", "off"],
    ]);
    expect(await client.health()).toEqual({ own: true });
    expect(client.list()[0]).toMatchObject({ status: "ready", tools: ["echo", "add"], transport: "in-process" });
    await client.reconnect("own");
    client.toggle("own", false);
    expect(client.list()[0]).toMatchObject({ status: "off", tools: [] });
    await expect(client.reconnect("own")).rejects.toThrow("switched off");
    client.toggle("own", true);
    expect(await client.health()).toEqual({ own: true });
    await expect(client.reconnect("nobody")).rejects.toMatchObject({ code: "usage" });
    await runtime.close();
    expect(client.list()[0]).toMatchObject({ status: "idle" });
    expect(await client.health()).toEqual({ own: true }); // an agent may be given to the next runtime
    await client.close();
    await expect(client.reconnect("own")).rejects.toMatchObject({ code: "closed" });
  });
});
