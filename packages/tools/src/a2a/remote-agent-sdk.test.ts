import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { formatSSEEvent, AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, Message } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from "@a2a-js/sdk/server";
import { agent, type Fact, isLive, type Json, type LiveBody, type Tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { remoteAgent } from "./remote-agent.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Version = "1.0" | "0.3";
type Served = { readonly url: string; readonly calls: readonly { readonly method: string; readonly params: Json }[] };

/** The official SDK behind one port, in either version of the protocol. */
async function serve(version: Version, streaming: boolean, executor: AgentExecutor): Promise<Served> {
  const calls: { method: string; params: Json }[] = [];
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shared = { name: "Remote", description: "Works.", version: "1", skills: [], capabilities: { streaming } };
  const modes = { defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] };
  const card = AgentCard.fromJSON({
    ...shared,
    ...modes,
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: version }],
  });
  const old = { ...shared, ...modes, protocolVersion: "0.3.0", url: `${url}/rpc`, preferredTransport: "JSONRPC" };
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const [current, legacy] = [new JsonRpcTransportHandler(handler), new LegacyJsonRpcTransportHandler(handler)];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.endsWith("agent-card.json") === true)
      return void response.end(JSON.stringify(version === "1.0" ? AgentCard.toJSON(card) : old));
    const chunks: Uint8Array[] = [];
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { method: string; params: Json; id: number };
    calls.push({ method: body.method, params: body.params });
    expect(request.headers["a2a-version"]).toBe(version === "1.0" ? "1.0" : undefined);
    const context = new ServerCallContext({ requestedVersion: version });
    const result = await (version === "1.0" ? current : legacy).handle(body, context);
    if (!(Symbol.asyncIterator in result)) return void response.end(JSON.stringify(result));
    response.setHeader("content-type", "text/event-stream");
    try {
      for await (const event of result) response.write(formatSSEEvent(event));
    } catch (error) {
      response.write(formatSSEEvent({ jsonrpc: "2.0", id: body.id, error: { code: -32_603, message: String(error) } }));
    }
    response.end();
  };
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url, calls };
}

type Turn = { readonly state: string; readonly said?: string; readonly artifact?: readonly object[] };

/** Plays the turns of one task after the other, one for each message. */
function executor(turns: readonly (readonly Turn[])[], heard: string[] = []): AgentExecutor {
  let at = 0;
  return {
    async execute({ taskId, contextId, userMessage }, bus) {
      heard.push(JSON.stringify(Message.toJSON(userMessage)));
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED" } })));
      for (const { state, said, artifact } of turns[at++] ?? []) {
        if (artifact !== undefined) {
          const update = { taskId, contextId, artifact: { artifactId: `a${at}`, parts: artifact } };
          bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
        }
        const message =
          said === undefined ? {} : { message: { messageId: `m${at}`, role: "ROLE_AGENT", parts: [{ text: said }] } };
        const status = { taskId, contextId, status: { state: `TASK_STATE_${state}`, ...message } };
        bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(status)));
      }
      bus.finished();
    },
    async cancelTask() {},
  };
}

const remote = (url: string): Tool =>
  remoteAgent(url, { name: "remote", description: "Asks the remote agent.", allowPrivate: true });

async function call(made: Tool, input: Json = { task: "Sum up." }) {
  const model = scriptedModel([{ calls: [{ name: made.name, input }] }, { text: "Done." }]);
  const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [made] });
  await using runtime = await testRuntime({
    agents: [lead],
    permission: { mode: "ask" },
    onRequest: async () => ({ type: "form", content: { answer: "in euro" } }),
  });
  const run = await runtime.send(lead, "Go");
  const facts: Fact[] = [];
  const live: LiveBody[] = [];
  for await (const { event } of run.events()) (isLive(event) ? live : facts).push(event as never);
  const finished = facts.find((fact) => fact.type === "tool.finished");
  return { finished, facts, live };
}

describe.each([
  ["1.0", true],
  ["1.0", false],
  ["0.3", true],
  ["0.3", false],
] as const)("remoteAgent against the official SDK, version %s, streaming %s", (version, streaming) => {
  it("SUB-10 gives a task and data, and gets texts, data and files", async () => {
    const heard: string[] = [];
    const png = Buffer.from("not really").toString("base64");
    const artifact = [
      { text: "It is 42." },
      { data: { sum: 42 } },
      { raw: png, mediaType: "image/png", filename: "a.png" },
      { url: "https://files.example/b.pdf", mediaType: "application/pdf", filename: "b.pdf" },
    ];
    const turns = [
      [
        { state: "WORKING", said: "adding" },
        { state: "COMPLETED", artifact },
      ],
    ];
    const { url, calls } = await serve(version, streaming, executor(turns, heard));
    const { finished, live } = await call(remote(url), { task: "Sum up.", data: { of: [40, 2] } });
    expect(finished).toMatchObject({ status: "ok" });
    expect(finished?.output.content).toEqual([
      {
        type: "text",
        text: 'It is 42.\n\n{"sum":42}\n\n(a file: b.pdf, application/pdf, https://files.example/b.pdf)',
      },
      { type: "file", mediaType: "image/png", data: { type: "base64", base64: png }, name: "a.png" },
    ]);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toContain("Sum up.");
    expect(heard[0]).toContain('{"of":[40,2]}');
    const progress = live.filter((event) => event.type === "tool.progress");
    if (streaming) expect(progress.map(({ message }) => message)).toContain("adding");
    const sends = ["SendMessage", "SendStreamingMessage", "message/send", "message/stream"];
    expect(calls.filter(({ method }) => sends.includes(method))).toHaveLength(1);
  });

  it("SUB-10 asks a person what the other agent asks, and goes on with the same task", async () => {
    const heard: string[] = [];
    const turns = [
      [{ state: "INPUT_REQUIRED", said: "In which currency?" }],
      [{ state: "COMPLETED", said: "42 euro" }],
    ];
    const { url, calls } = await serve(version, streaming, executor(turns, heard));
    const { finished, facts } = await call(remote(url));
    const asked = facts.find((fact) => fact.type === "request.opened")?.request;
    expect(asked).toMatchObject({ type: "form", origin: "remote", message: "remote asks: In which currency?" });
    expect(finished?.output).toEqual({ content: [{ type: "text", text: "42 euro" }] });
    const [first = "", second = ""] = heard;
    expect(second).toContain("in euro");
    const { messageId, taskId } = JSON.parse(second) as { messageId: string; taskId: string };
    expect(first).not.toContain(messageId);
    const looked = calls.filter(({ method }) => method === "GetTask" || method === "tasks/get");
    expect(new Set(looked.map(({ params }) => (params as { readonly id: string }).id))).toEqual(new Set([taskId]));
  });

  it("SUB-10 tells the model how a task ended that did not succeed", async () => {
    const { url } = await serve(version, streaming, executor([[{ state: "FAILED", said: "no numbers" }]]));
    const { finished } = await call(remote(url));
    expect(finished).toMatchObject({
      status: "error",
      output: { content: [{ type: "text", text: "remote failed: no numbers" }] },
    });
  });
});
