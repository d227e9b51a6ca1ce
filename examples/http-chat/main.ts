/** A chat over HTTP: the door on a socket, a chat client as a page has it, and a program that follows from elsewhere. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agent, openRuntime } from "capstan";
import { chatTransport, remoteRuntime } from "capstan/client";
import { httpHandler, nodeListener } from "capstan/http";
import { scriptedModel } from "capstan/testing";

const model = scriptedModel([{ text: "Take an umbrella." }, { text: "Tomorrow too." }]);
const guide = agent({ name: "guide", model, instructions: "Answer in one line." });
await using runtime = await openRuntime({ agents: [guide] });

const people = new Map([["secret-of-ann", "ann"]]);
const handle = httpHandler({
  runtime,
  basePath: "/api/agents",
  authorize(request) {
    const id = people.get(request.headers.get("authorization")?.replace("Bearer ", "") ?? "");
    return id === undefined ? null : { id };
  },
});
const listener = nodeListener(handle);
const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/agents`;

// what useChat({ id, transport }) does with it
const transport = chatTransport({ api: `${url}/chat/guide`, headers: { authorization: "Bearer secret-of-ann" } });
const chatId = crypto.randomUUID();
const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella in Oslo?" }] };
let said = "";
for await (const chunk of await transport.sendMessages({ chatId, messages: [message], trigger: "submit-message" })) {
  if (chunk.type === "text-delta") said += chunk.delta;
}
assert.equal(said, "Take an umbrella.");

// the same conversation from a program: its key is the chat's id
await using remote = remoteRuntime(url, { token: "secret-of-ann" });
const session = await remote.session({ agent: "guide", key: chatId });
const run = await session.send("And tomorrow?");
for await (const { text } of run.deltas()) process.stdout.write(text);
console.log();
assert.equal(await run.text(), "Tomorrow too.");
assert.equal((await transport.messages(chatId)).length, 4);

await assert.rejects(remoteRuntime(url, { token: "guessed" }).sessions(), { code: "permission-denied" });
handle.close();
server.close();
