/** An agent elsewhere, spoken to over the A2A protocol, is a tool: here it is a few lines on this machine. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agent, openRuntime } from "capstan";
import { scriptedModel } from "capstan/testing";
import { remoteAgent } from "capstan/tools/a2a";

const server = createServer((request, response) => {
  const jsonrpc = { jsonrpc: "2.0", id: 1 };
  const task = {
    id: "t1",
    status: { state: "TASK_STATE_COMPLETED" },
    artifacts: [{ parts: [{ text: "12 sources" }] }],
  };
  const at = { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" };
  response.end(
    JSON.stringify(request.method === "GET" ? { supportedInterfaces: [at] } : { ...jsonrpc, result: { task } }),
  );
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const research = remoteAgent(url, {
  name: "research",
  description: "Finds sources for a question.",
  headers: async () => ({ authorization: `Bearer ${process.env["RESEARCH_TOKEN"] ?? "none"}` }),
  allowPrivate: true, // it is on this machine
});

const model = scriptedModel([
  { calls: [{ name: "research", input: { task: "Sources on tides" } }] },
  { text: "There are 12." },
]);
const writer = agent({ name: "writer", model, instructions: "Write.", tools: [research] });
await using runtime = await openRuntime({ agents: [writer] });
const result = await (await runtime.send(writer, "How many sources are there on tides?")).result();
console.log(result.text);
assert.ok(JSON.stringify(result.messages).includes("12 sources"));
server.close();
