/** What a chat completions server would refuse in a request beside its messages: headers, fields, tools, markers. Pure. */

import { type ChatHistoryRules, checkOpenAIChatHistory } from "./check-openai-chat-history.ts";

type Wire = { readonly [name: string]: unknown };

/** What sets one server apart from another. */
export type ChatRules = ChatHistoryRules & {
  /** The header with the key, in lower case, and what its value must be. Default: a bearer token. */
  readonly auth?: { readonly name: string; readonly value: RegExp } | "none";
  /** Members of the body beside those of OpenAI's API. */
  readonly members?: readonly string[];
  /** Beside content parts, tools may carry `cache_control`. */
  readonly toolMarkers?: boolean;
};

const TOP_LEVEL: readonly string[] =
  `model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens temperature
  top_p n stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs response_format reasoning_effort
  verbosity prompt_cache_key prompt_cache_options safety_identifier service_tier store metadata user modalities prediction
  web_search_options`.split(/\s+/);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_MARKERS = 4;

/** Problems of the headers, the fields and the messages; none for a request that the server accepts. */
export function checkOpenAIChatRequest(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: unknown,
  rules: ChatRules = {},
): string[] {
  const problems: string[] = [];
  const request = objectOf(body);
  const { auth = { name: "authorization", value: /^Bearer \S+$/ } } = rules;
  if (auth !== "none" && !auth.value.test(String(headers[auth.name] ?? ""))) problems.push(`${auth.name}: no key`);
  if (!String(headers["content-type"]).startsWith("application/json")) problems.push("content-type: must be JSON");
  const known = [...TOP_LEVEL, ...(rules.members ?? [])];
  for (const name of Object.keys(request)) if (!known.includes(name)) problems.push(`${name}: unknown field`);
  if (typeof request["model"] !== "string" || request["model"] === "") problems.push("model: missing");
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const value = request[name];
    if (value !== undefined && (!Number.isInteger(value) || Number(value) < 1))
      problems.push(`${name}: must be from 1`);
  }
  if (request["max_tokens"] !== undefined && request["max_completion_tokens"] !== undefined)
    problems.push("max_tokens: beside max_completion_tokens");
  if (request["stream_options"] !== undefined && request["stream"] !== true)
    problems.push("stream_options: only with stream");
  checkTools(request, problems);
  checkFormat(request["response_format"], problems);
  checkMarkers(request, rules, problems);
  return [...problems, ...checkOpenAIChatHistory(request["messages"], rules)];
}

function checkTools(request: Wire, problems: string[]): void {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0)) problems.push("tools: must not be empty");
  const names = listOf(tools).map((tool) => String(objectOf(tool["function"])["name"]));
  for (const [index, tool] of listOf(tools).entries()) {
    const name = names[index] ?? "";
    if (tool["type"] !== "function") problems.push(`tools.${index}.type: must be function`);
    if (!TOOL_NAME.test(name)) problems.push(`tools.${index}.function.name: must match ${TOOL_NAME.source}`);
    if (names.indexOf(name) !== index) problems.push(`tools.${index}: ${name} is there twice`);
    if (objectOf(objectOf(tool["function"])["parameters"])["type"] !== "object")
      problems.push(`tools.${index}.function.parameters: must be an object's`);
  }
  if (tools === undefined && (choice !== undefined || parallel !== undefined))
    problems.push("tool_choice: there are no tools");
  if (choice === undefined || choice === "auto" || choice === "required" || choice === "none") return;
  const { type, function: named } = objectOf(choice);
  if (type !== "function" || !names.includes(String(objectOf(named)["name"])))
    problems.push("tool_choice: there is no such tool");
}

function checkFormat(format: unknown, problems: string[]): void {
  if (format === undefined) return;
  const { type, json_schema: schema } = objectOf(format);
  if (type !== "json_schema") return;
  const { name, schema: rules, strict } = objectOf(schema);
  if (!TOOL_NAME.test(String(name))) problems.push("response_format.json_schema.name: missing");
  if (typeof rules !== "object") problems.push("response_format.json_schema.schema: missing");
  if (strict === true && objectOf(rules)["additionalProperties"] !== false)
    problems.push("response_format: a strict schema must have additionalProperties false");
}

function checkMarkers(request: Wire, rules: ChatRules, problems: string[]): void {
  const messages = listOf(request["messages"]);
  const tools = listOf(request["tools"]);
  const parts = messages.flatMap((message) => listOf(message["content"]));
  const allowed = rules.toolMarkers === true ? [...tools, ...parts] : parts;
  const marked = allowed.filter((part) => part["cache_control"] !== undefined);
  const functions = tools.map((tool) => objectOf(tool["function"]));
  const others = [...(rules.toolMarkers === true ? [] : tools), ...functions, ...messages];
  const elsewhere = others.filter((item) => item["cache_control"] !== undefined);
  if (elsewhere.length > 0) problems.push("cache_control: only on content parts");
  if (marked.length > 0 && rules.cacheControl !== true) problems.push("cache_control: unknown field");
  if (marked.length > MAX_MARKERS) problems.push(`cache_control: ${marked.length} parts, at most ${MAX_MARKERS}`);
  for (const part of marked) {
    if (objectOf(part["cache_control"])["type"] !== "ephemeral") problems.push("cache_control: must be ephemeral");
  }
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
