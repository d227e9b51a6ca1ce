/** An agent with tools of two MCP servers, one a program, one in this process, and an agent that other programs call over MCP. */

import assert from "node:assert/strict";
import { agent, openRuntime, tool } from "capstan";
import { inProcessServer, listenMcp, mcp, mcpClient } from "capstan/mcp";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

/** Stands for any MCP server that is a program: it answers one request a line. */
const program = `
let rest = "";
process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    const results = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "clock", version: "1" } },
      ping: {},
      "tools/list": { tools: [{ name: "hour", description: "The hour in a city.", inputSchema: { type: "object", properties: { city: { type: "string" } } } }] },
      "tools/call": { content: [{ type: "text", text: "9 in " + params?.arguments?.city }] },
    };
    const answer = method in results ? { result: results[method] } : { error: { code: -32601, message: "no such method" } };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
  }
});`;
const shout = tool({
  name: "shout",
  description: "Says it louder.",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text.toUpperCase(),
});

const servers = mcp({
  servers: { clock: { command: process.execPath, args: ["-e", program] }, voice: { server: inProcessServer([shout]) } },
  hooks: {
    beforeCall: ({ name, input }) =>
      JSON.stringify(input).includes("secret") ? { deny: `${name} gets no secrets` } : undefined,
  },
});
const helper = agent({
  name: "helper",
  description: "Tells the hour.",
  model: scriptedModel([
    {
      calls: [
        { name: "clock__hour", input: { city: "Oslo" } },
        { name: "voice__shout", input: { text: "secret" } },
      ],
    },
    { text: "It is nine in Oslo." },
  ]),
  instructions: "Help.",
  plugins: [servers],
  permission: { allow: ["mcp:clock/hour", "mcp:voice/*"] },
});

await using runtime = await openRuntime({ agents: [helper] });
const run = await runtime.send(helper, "What time is it in Oslo?");
const { text, messages } = await run.result();
console.log(text);
assert.equal(text, "It is nine in Oslo.");
const said = JSON.stringify(messages);
assert.ok(said.includes("9 in Oslo"));
assert.ok(said.includes("Refused: mcp:voice/shout gets no secrets"));

// the same agent, for any MCP client: nobody gets in without the token
const token = "a-token-of-this-example";
await using server = await listenMcp({
  runtime,
  agents: [helper],
  authorize: (request) =>
    request.headers.get("authorization") === `Bearer ${token}` ? { id: "somebody", door: "mcp-http" } : null,
});
await using stranger = mcpClient({ servers: { helper: server.url } });
await stranger.connect();
assert.equal(stranger.list()[0]?.status, "failed");
await using client = mcpClient({
  servers: { helper: { url: server.url, headers: { Authorization: `Bearer ${token}` } } },
});
await client.connect();
assert.deepEqual(client.list()[0]?.tools, ["helper"]);
console.log("served at an address of this machine");
