import type { ServerResponse } from "node:http";
import {
  agent,
  type Fact,
  isLive,
  type Json,
  type LiveBody,
  memoryStore,
  openRuntime,
  type Runtime,
  storeEngine,
  systemClock,
  systemIds,
  type Tool,
} from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { A2A_LIMITS } from "./limits.ts";
import { remoteAgent, type RemoteAgentOptions } from "./remote-agent.ts";
import { type ScriptedAgent, scriptedAgent, type ScriptedAgentOptions, scriptedCard } from "./scripted-agent.ts";
import { scriptedTask, streamEvents } from "./scripted-agent.ts";

const servers: ScriptedAgent[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
async function served(options: ScriptedAgentOptions = {}): Promise<ScriptedAgent> {
  const server = await scriptedAgent(options);
  servers.push(server);
  return server;
}

function remote(url: string, options: Partial<RemoteAgentOptions> = {}): Tool {
  return remoteAgent(url, { name: "remote", description: "Asks the remote agent.", allowPrivate: true, ...options });
}
function lead(tool: Tool) {
  const model = scriptedModel([{ calls: [{ name: tool.name, input: { task: "Sum up." } }] }, { text: "Done." }]);
  return agent({ name: "lead", model, instructions: "Lead.", tools: [tool] });
}
const textOf = (finished: Extract<Fact, { type: "tool.finished" }> | undefined): string =>
  finished?.output.content.map((part) => (part.type === "text" ? part.text : part.type)).join("|") ?? "";

async function call(tool: Tool) {
  await using runtime = await testRuntime({ agents: [lead(tool)] });
  const run = await runtime.send("lead", "Go");
  const live: LiveBody[] = [];
  let finished: Extract<Fact, { type: "tool.finished" }> | undefined;
  for await (const { event } of run.events()) {
    if (isLive(event)) live.push(event);
    else if (event.type === "tool.finished") finished = event;
  }
  return { status: finished?.status, text: textOf(finished), live };
}
const methods = ({ calls }: ScriptedAgent): readonly string[] => calls.map(({ method }) => method);
const raw =
  (text: string, headers: Record<string, string> = {}, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(text);

describe("remoteAgent", () => {
  it("SUB-10 takes an answer that needs no task", async () => {
    const message = { role: "ROLE_AGENT", messageId: "m", parts: [{ text: "Hello." }] };
    const server = await served({ answers: { SendMessage: { message } } });
    expect(await call(remote(server.url))).toMatchObject({ status: "ok", text: "Hello." });
    expect(server.calls[0]?.params).toMatchObject({ configuration: { returnImmediately: true } });
  });

  it("SUB-10 shows what is streamed, and takes the end from the task itself when the stream breaks", async () => {
    const server = await served({
      streaming: true,
      answers: {
        SendStreamingMessage: (response) => {
          const of = { taskId: "task-1", contextId: "context-1" };
          const artifact = { artifactId: "a", parts: [{ text: "half" }] };
          streamEvents(response, [{ task: scriptedTask("WORKING") }, { artifactUpdate: { ...of, artifact } }]);
          response.write("data: {", () => response.destroy());
        },
        GetTask: {
          ...(scriptedTask("COMPLETED") as object),
          artifacts: [{ artifactId: "a", parts: [{ text: "whole" }] }],
        },
      },
    });
    const { status, text, live } = await call(remote(server.url));
    expect([status, text]).toEqual(["ok", "whole"]);
    expect(live.flatMap((event) => (event.type === "tool.progress" ? [event.chunk] : []))).toEqual(["half"]);
  });

  it("SUB-10 an interrupt cancels the task on the other side", async () => {
    const looked = Promise.withResolvers<void>();
    const server = await served({
      answers: {
        SendMessage: { task: scriptedTask("WORKING") },
        GetTask: (response) => (looked.resolve(), raw(rpc(scriptedTask("WORKING")))(response)),
        CancelTask: scriptedTask("CANCELED"),
      },
    });
    await using runtime = await testRuntime({ agents: [lead(remote(server.url))] });
    const run = await runtime.send("lead", "Go");
    await looked.promise;
    await run.session.interrupt();
    expect((await run.result()).reason).toBe("interrupted");
    expect(server.calls.at(-1)).toMatchObject({ method: "CancelTask", params: { id: "task-1" } });
  });

  it("SUB-10 EDGE-02 a process that ends leaves the task alone; the next one goes on with it and sends nothing", async () => {
    const looked = Promise.withResolvers<void>();
    let done = false;
    const server = await served({
      answers: {
        SendMessage: { task: scriptedTask("WORKING") },
        GetTask: (response) => {
          looked.resolve();
          raw(rpc(scriptedTask(done ? "COMPLETED" : "WORKING", "42")))(response);
        },
      },
    });
    const store = memoryStore();
    const open = (): Promise<Runtime> =>
      openRuntime({
        agents: [lead(remote(server.url))],
        work: "all",
        engine: storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) }),
      });
    const first = await open();
    const run = await first.send("lead", "Go");
    await looked.promise;
    await first.close({ graceMs: 0 });
    done = true;
    const second = await open();
    const result = await (await (await second.session(run.session.id)).run())?.result();
    expect(result?.reason).toBe("end-turn");
    await second.close({ graceMs: 0 });
    expect(methods(server).filter((method) => method !== "GetTask")).toEqual(["SendMessage"]);
  });

  it("SUB-10 EDGE-01 whatever write a crash comes at, a message is sent once", async () => {
    let sent = new Set<string>();
    const twice: string[] = [];
    const server = await served({
      answers: {
        SendMessage: (response, { params }) => {
          const id = params.message?.messageId ?? "";
          if (sent.has(id)) twice.push(id);
          sent.add(id);
          raw(rpc({ task: scriptedTask("WORKING") }))(response);
        },
        GetTask: scriptedTask("COMPLETED", "42"),
        CancelTask: scriptedTask("CANCELED"),
      },
    });
    const report = await crashSweep({
      agents: [lead(remote(server.url))],
      journey: async (runtime) => {
        sent = new Set();
        await (await runtime.send("lead", "Go", { key: "k", idempotencyKey: "1" })).result();
      },
    });
    expect(report.crashes).toBeGreaterThan(20);
    expect(report.doubts).toBeGreaterThan(0); // the message may have gone out: nobody can know
    expect(twice).toEqual([]);
  });

  it("SUB-10 cancels a task whose question nobody can be asked, and tells the model the question", async () => {
    const server = await served({
      answers: {
        SendMessage: { task: scriptedTask("INPUT_REQUIRED", "Which year?") },
        CancelTask: scriptedTask("CANCELED"),
      },
    });
    const { status, text } = await call(remote(server.url));
    expect(status).toBe("error");
    expect(text).toBe("remote asks: Which year?\nNobody answered. Call it again with a task that says this.");
    expect(methods(server)).toEqual(["SendMessage", "CancelTask"]);
  });

  it("SUB-10 sends the headers that are asked for each request", async () => {
    let asked = 0;
    const server = await served({
      answers: { SendMessage: { task: scriptedTask("WORKING") }, GetTask: scriptedTask("COMPLETED", "42") },
    });
    await call(remote(server.url, { headers: async () => ({ authorization: `Bearer ${++asked}` }) }));
    expect(server.calls.map(({ headers }) => headers.authorization)).toEqual(["Bearer 2", "Bearer 3"]);
  });

  it("SUB-10 is judged as a fetch of its address, and is denied in plan mode", async () => {
    const tool = remote("http://127.0.0.1:1/agents/a");
    expect(tool.needs({ task: "x" })).toEqual([{ type: "fetch", url: "http://127.0.0.1:1/agents/a" }]);
    for (const permission of [{ deny: ["remote(domain:127.0.0.1)"] }, { mode: "plan" as const }]) {
      await using runtime = await testRuntime({ agents: [lead(tool)], permission });
      const run = await runtime.send("lead", "Go");
      const { messages } = await run.result();
      expect(JSON.stringify(messages)).toContain("Refused");
    }
  });

  it.each([
    ["not an address", "is no address"],
    ["http://agents.example", "must begin with https:"],
    ["ftp://agents.example", "must begin with https:"],
    ["https://user:secret@agents.example", "holds credentials"],
  ])("SUB-10 refuses the address %s", (url, problem) => {
    const made = (): Tool => remoteAgent(url, { name: "remote", description: "R." });
    expect(made).toThrow(expect.objectContaining({ code: "tool-invalid", message: expect.stringContaining(problem) }));
    expect(made).not.toThrow("secret");
  });

  it.each([
    "https://127.0.0.1:1",
    "https://[::1]:1",
    "https://[::ffff:127.0.0.1]:1",
    "https://2130706433:1",
    "https://localhost:1",
  ])("SUB-10 connects to no private address: %s", async (url) => {
    const { status, text } = await call(remoteAgent(url, { name: "remote", description: "R." }));
    expect(status).toBe("error");
    expect(text).toContain("private network");
  });
});

const rpc = (result: Json): string => JSON.stringify({ jsonrpc: "2.0", id: 1, result });
const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
const long = "x".repeat(A2A_LIMITS.replyBytes + 1);

describe("remoteAgent against a card that is none", () => {
  const cards: readonly [string, NonNullable<ScriptedAgentOptions["card"]>, string][] = [
    ["is missing", (response) => raw("no", {}, 404)(response), "answered with status 404"],
    ["wants credentials", (response) => raw("no", {}, 401)(response), "it wants other credentials"],
    ["is no JSON", (response) => raw("<html>")(response), "not JSON"],
    ["is another thing", (response) => raw('{"supportedInterfaces":7}')(response), "is not an agent card"],
    ["is empty", (response) => raw("{}")(response), "no version of A2A"],
    ["is too large", (response) => raw(`"${long}"`)(response), `more than ${A2A_LIMITS.cardBytes} bytes`],
    ["leads elsewhere", (response, url) => raw("", { location: `${url}/other` }, 302)(response), "a redirect"],
    [
      "is on another host than its agent",
      (response) => raw(JSON.stringify(scriptedCard("http://127.0.0.2:9")))(response),
      "names another host",
    ],
    ["is packed", (response) => raw("{}", { "content-encoding": "gzip" })(response), "an encoding"],
    ["is cut off", (response) => void response.writeHead(200).write("{", () => response.destroy()), "failed"],
  ];
  it.each(cards)("SUB-10 that %s", async (_what, card, problem) => {
    const server = await served({ card });
    const { status, text } = await call(remote(server.url));
    expect(status).toBe("error");
    expect(text).toContain(problem);
    expect(server.calls).toEqual([]);
  });
});

describe("remoteAgent against answers that are none", () => {
  const answers: readonly [string, NonNullable<ScriptedAgentOptions["answers"]>[string], string][] = [
    ["an error", raw(JSON.stringify({ error: { code: -32_005, message: "No such thing" } })), "No such thing (-32005)"],
    ["an error with a status", raw('{"error":{"message":"bad"}}', { "content-type": "application/json" }, 400), "bad"],
    ["a page", raw("<html>", {}, 500), "answered with status 500. Whether it took the task up is not known."],
    ["nothing", raw(""), "not JSON"],
    ["a number", raw("7"), "without a result"],
    ["another result", raw(rpc({ anything: true })), "something that A2A does not know"],
    ["a task without a name", raw(rpc({ task: { id: "", status: { state: "x" } } })), "A2A does not know"],
    ["what is nested too deeply", raw(`{"result":{"message":{"role":"a","parts":[{"data":${deep}}]}}}`), ""],
    ["too much", raw(long), `more than ${A2A_LIMITS.replyBytes} bytes`],
    ["a redirect", raw("", { location: "http://127.0.0.1:9/" }, 307), "a redirect"],
    ["an end without an answer", (response) => void response.destroy(), "Whether it took the task up is not known."],
  ];
  it.each(answers)("SUB-10 %s", async (_what, answer, problem) => {
    const server = await served({ answers: { SendMessage: answer } });
    const { status, text } = await call(remote(server.url));
    expect(status).toBe("error");
    expect(text).toContain(problem);
    expect(methods(server)).toEqual(["SendMessage"]);
  });

  it("SUB-10 a stream without an event, and one whose first event is none", async () => {
    for (const results of [[], [{ anything: true }]]) {
      const SendStreamingMessage = (response: ServerResponse): void => {
        streamEvents(response, results);
        response.end();
      };
      const server = await served({ streaming: true, answers: { SendStreamingMessage } });
      expect((await call(remote(server.url))).status).toBe("error");
      expect(methods(server)).toEqual(["SendStreamingMessage"]);
    }
  });

  it("SUB-10 looks again when the other side is down for a moment, and gives up in the end", async () => {
    let looks = 0;
    const GetTask = (response: ServerResponse): void =>
      ++looks === 2 ? raw(rpc(scriptedTask("COMPLETED", "42")))(response) : raw("", {}, 503)(response);
    const answers = { SendMessage: { task: scriptedTask("WORKING") }, GetTask };
    const server = await served({ answers });
    expect(await call(remote(server.url))).toMatchObject({ status: "ok", text: "42" });
    const gone = await served({ answers: { SendMessage: { task: scriptedTask("WORKING") } } });
    expect(await call(remote(gone.url))).toMatchObject({ status: "error" });
    expect(methods(gone)).toEqual(["SendMessage", "GetTask", "CancelTask"]);
  });
});
