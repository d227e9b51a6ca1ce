/** The floor: an agent loop by hand on `fetch` or on node:http, as small as a good engineer would write it. */

import { Agent, request as httpRequest } from "node:http";
import { historyText, INPUT, type Job, type LookInput, type Subject, SYSTEM, TOOL } from "./subject.ts";

type Block =
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: unknown; json?: string };
type Message = { role: "user" | "assistant"; content: unknown };
type WireEvent = {
  readonly type: string;
  readonly index: number;
  readonly content_block: Block;
  readonly delta: {
    readonly type: string;
    readonly text: string;
    readonly partial_json: string;
    readonly stop_reason: string;
  };
};
type Post = (url: string, body: string) => Promise<AsyncIterable<Uint8Array>>;

const HEADERS = {
  "content-type": "application/json",
  "anthropic-version": "2023-06-01",
  "x-api-key": process.env["ANTHROPIC_API_KEY"] ?? "key",
};
const TOOLS = [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }];

export function floor(baseUrl: string, transport: "fetch" | "http", job: Job): Subject {
  const post = transport === "fetch" ? fetchPost : httpPost;
  const url = `${baseUrl}/${job.script}/v1/messages`;
  return { converse: (onText) => converse(url, post, job, onText), close: async () => agent.destroy() };
}

async function converse(url: string, post: Post, job: Job, onText: (delta: string) => void): Promise<void> {
  const messages = historyMessages(job.history);
  messages.push({ role: "user", content: INPUT });
  for (;;) {
    const body = { model: "claude-bench", max_tokens: 32_000, stream: true, system: SYSTEM, tools: TOOLS, messages };
    const { content, stopReason } = await read(await post(url, JSON.stringify(body)), onText);
    messages.push({ role: "assistant", content });
    if (stopReason !== "tool_use") return;
    const calls = content.filter((block) => block.type === "tool_use");
    const results = await Promise.all(
      calls.map(async ({ id, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: job.look(input as LookInput),
      })),
    );
    messages.push({ role: "user", content: results });
  }
}

async function read(
  stream: AsyncIterable<Uint8Array>,
  onText: (delta: string) => void,
): Promise<{ content: Block[]; stopReason: string }> {
  const content: Block[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  let stopReason = "";
  for await (const chunk of stream) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const text of events) {
      const event = JSON.parse(text.slice(text.indexOf("data: ") + 6)) as WireEvent;
      if (event.type === "content_block_start") content[event.index] = event.content_block;
      else if (event.type === "content_block_delta") apply(content[event.index], event.delta, onText);
      else if (event.type === "content_block_stop") finish(content[event.index]);
      else if (event.type === "message_delta") stopReason = event.delta.stop_reason;
    }
  }
  return { content, stopReason };
}

function apply(block: Block | undefined, delta: WireEvent["delta"], onText: (delta: string) => void): void {
  if (block?.type === "text") {
    block.text += delta.text;
    onText(delta.text);
  } else if (block?.type === "tool_use") block.json = (block.json ?? "") + delta.partial_json;
}

function finish(block: Block | undefined): void {
  if (block?.type !== "tool_use") return;
  block.input = JSON.parse(block.json || "{}");
  delete block.json;
}

function historyMessages(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text: historyText(index) }],
  }));
}

const fetchPost: Post = async (url, body) => {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  if (!response.ok || response.body === null) throw new Error(`the model answered ${response.status}`);
  return response.body;
};

const agent = new Agent({ keepAlive: true });
const httpPost: Post = (url, body) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", headers: HEADERS, agent }, resolve);
    request.on("error", reject);
    request.end(body);
  });
