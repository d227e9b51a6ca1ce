/**
 * An agent for tests, as a program: made with the SDK, it does what the words of a prompt say. Sessions are kept in the
 * folder that `AGENT_STORE` names, so that a later process can load or resume them; `AGENT_CAN` lists what it can do.
 */

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  agent,
  type AgentContext,
  methods,
  ndJsonStream,
  RequestError,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";

const store = process.env["AGENT_STORE"] ?? "";
const can = new Set((process.env["AGENT_CAN"] ?? "load,resume").split(","));
const cancelled = new Set<string>();
const waiting = new Map<string, () => void>();
let made = 0;

function fileOf(sessionId: string): string {
  return join(store, `${sessionId}.jsonl`);
}
function mustKnow(sessionId: string): void {
  if (!existsSync(fileOf(sessionId))) throw RequestError.sessionNotFound(sessionId);
}
function note(line: string): void {
  appendFileSync(join(store, "log.txt"), `${line}\n`);
}
function send(client: AgentContext, sessionId: string, update: SessionUpdate): Promise<void> {
  appendFileSync(fileOf(sessionId), `${JSON.stringify(update)}\n`);
  return client.notify(methods.client.session.update, { sessionId, update });
}
function say(client: AgentContext, sessionId: string, text: string): Promise<void> {
  return send(client, sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

async function ask(client: AgentContext, sessionId: string, path: string): Promise<string> {
  const toolCall = {
    toolCallId: `call_${++made}`,
    title: `Write ${path}`,
    kind: "edit" as const,
    rawInput: { path },
    locations: [{ path }],
  };
  await send(client, sessionId, { sessionUpdate: "tool_call", status: "pending", ...toolCall });
  const answer: RequestPermissionResponse = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall,
    options: [
      { optionId: "always", name: "Always", kind: "allow_always" },
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ],
  });
  const { outcome } = answer;
  const chosen = outcome.outcome === "selected" ? outcome.optionId : outcome.outcome;
  const diff = { type: "diff" as const, path, oldText: null, newText: "new\n" };
  const end = chosen === "yes" ? { status: "completed" as const, content: [diff] } : { status: "failed" as const };
  await send(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId: toolCall.toolCallId, ...end });
  return chosen;
}

/** Returns what it says at last. */
async function obey(client: AgentContext, sessionId: string, words: string): Promise<string> {
  const [verb = "", ...rest] = words.split(" ");
  const what = rest.join(" ");
  switch (verb) {
    case "env":
      return process.env[what] ?? "(none)";
    case "names":
      return Object.keys(process.env).toSorted().join(",");
    case "crash":
      await say(client, sessionId, "Going down");
      process.stderr.write("it broke\n");
      return process.exit(7);
    case "hang":
      await say(client, sessionId, "Hanging");
      return new Promise(() => undefined);
    case "wait":
      await say(client, sessionId, "Waiting");
      await new Promise<void>((resolve) => waiting.set(sessionId, resolve));
      return "";
    case "grandchild": {
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { detached: true, stdio: "ignore" });
      child.unref();
      return String(child.pid);
    }
    case "ask":
      return ask(client, sessionId, what);
    case "asks": {
      const answers: string[] = [];
      for (const path of rest) answers.push(await ask(client, sessionId, path));
      return answers.join(",");
    }
    case "plan":
      await send(client, sessionId, {
        sessionUpdate: "plan",
        entries: [{ content: what, priority: "high", status: "in_progress" }],
      });
      return "Planned.";
    case "fail":
      throw RequestError.internalError(undefined, what);
    default:
      return `You said: ${words}`;
  }
}

const app = agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: {
      loadSession: can.has("load"),
      promptCapabilities: { image: true },
      ...(can.has("resume") && { sessionCapabilities: { resume: {} } }),
    },
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = `s_${process.pid}_${++made}`;
    writeFileSync(fileOf(sessionId), "");
    note(`new ${sessionId}`);
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    mustKnow(sessionId);
    if (can.has("broken-load")) throw RequestError.internalError(undefined, "the store is broken");
    const lines = readFileSync(fileOf(sessionId), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    for (const line of lines)
      await client.notify(methods.client.session.update, { sessionId, update: JSON.parse(line) as SessionUpdate });
    note(`load ${sessionId}`);
    return {};
  })
  .onRequest(methods.agent.session.resume, ({ params: { sessionId } }) => {
    mustKnow(sessionId);
    if (can.has("broken-resume")) throw RequestError.internalError(undefined, "no such thing");
    note(`resume ${sessionId}`);
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    mustKnow(sessionId);
    cancelled.delete(sessionId);
    for (const content of prompt)
      appendFileSync(fileOf(sessionId), `${JSON.stringify({ sessionUpdate: "user_message_chunk", content })}\n`);
    const words = prompt.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join("");
    const said = await obey(client, sessionId, words);
    if (cancelled.has(sessionId)) return { stopReason: "cancelled" };
    await say(client, sessionId, said);
    return { stopReason: "end_turn" };
  })
  .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) => {
    cancelled.add(sessionId);
    waiting.get(sessionId)?.();
  });

if (process.env["AGENT_STUBBORN"] === "1") process.on("SIGTERM", () => undefined);
const connection = app.connect(
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  ),
);
void connection.closed.then(() => process.env["AGENT_STUBBORN"] !== "1" && process.exit(0));
if (process.env["AGENT_STUBBORN"] === "1") setInterval(() => undefined, 1_000);
