/** What the Messages API would refuse in a request beside its messages: headers, fields, tools, thinking, cache markers. Pure. */

import { checkAnthropicHistory, type IssuedThinking } from "./check-anthropic-history.ts";

type Wire = { readonly [name: string]: unknown };

const TOP_LEVEL: readonly string[] =
  `model max_tokens messages system tools tool_choice stream thinking output_config temperature top_p top_k stop_sequences
  metadata service_tier speed inference_geo container diagnostics cache_control mcp_servers context_management compaction`.split(
    /\s+/,
  );
const TOOL_FIELDS: readonly string[] =
  `name description input_schema type strict cache_control defer_loading eager_input_streaming allowed_callers
  input_examples`.split(/\s+/);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_MARKERS = 4;

/** Problems of the headers, the fields and the messages; none for a request that the API accepts. */
export function checkAnthropicRequest(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: unknown,
  issued?: IssuedThinking,
): string[] {
  const problems: string[] = [];
  const request = objectOf(body);
  if (headers["x-api-key"] === undefined && headers["authorization"] === undefined) problems.push("x-api-key: missing");
  if (!/^\d{4}-\d\d-\d\d$/.test(String(headers["anthropic-version"]))) problems.push("anthropic-version: missing");
  if (!String(headers["content-type"]).startsWith("application/json")) problems.push("content-type: must be JSON");
  for (const name of Object.keys(request)) if (!TOP_LEVEL.includes(name)) problems.push(`${name}: unknown field`);
  const { model, max_tokens: maxTokens } = request;
  if (typeof model !== "string" || model === "") problems.push("model: missing");
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) problems.push("max_tokens: must be a number from 1");
  checkSystem(request["system"], problems);
  checkTools(request, problems);
  checkThinkingConfig(request, problems);
  checkMarkers(request, problems);
  return [...problems, ...checkAnthropicHistory(request["messages"], issued)];
}

function checkSystem(system: unknown, problems: string[]): void {
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : listOf(system);
  for (const block of blocks) {
    if (block["type"] !== "text" || typeof block["text"] !== "string" || block["text"].trim() === "")
      problems.push("system: text must not be empty");
  }
}

function checkTools(request: Wire, problems: string[]): void {
  const tools = listOf(request["tools"]);
  const names = tools.map((tool) => String(tool["name"]));
  for (const [index, tool] of tools.entries()) {
    for (const name of Object.keys(tool))
      if (!TOOL_FIELDS.includes(name)) problems.push(`tools.${index}.${name}: unknown field`);
    const name = names[index] ?? "";
    if (!TOOL_NAME.test(name)) problems.push(`tools.${index}.name: must match ${TOOL_NAME.source}`);
    if (names.indexOf(name) !== index) problems.push(`tools.${index}.name: ${name} is there twice`);
    if (objectOf(tool["input_schema"])["type"] !== "object")
      problems.push(`tools.${index}.input_schema: must be an object's`);
  }
  const choice = request["tool_choice"];
  if (choice === undefined) return;
  const { type, name } = objectOf(choice);
  if (tools.length === 0) problems.push("tool_choice: there are no tools");
  if (!["auto", "any", "tool", "none"].includes(String(type))) problems.push("tool_choice.type: unknown");
  if (type === "tool" && !names.includes(String(name)))
    problems.push(`tool_choice.name: there is no tool ${String(name)}`);
  const forced = type === "any" || type === "tool";
  if (forced && objectOf(request["thinking"])["type"] === "enabled")
    problems.push("tool_choice: forces a call while thinking");
}

function checkThinkingConfig(request: Wire, problems: string[]): void {
  const { thinking } = request;
  if (thinking === undefined) return;
  const { type, budget_tokens: budget } = objectOf(thinking);
  if (!["enabled", "adaptive", "between_tools", "disabled"].includes(String(type)))
    problems.push("thinking.type: unknown");
  if (type !== "enabled") return;
  if (!Number.isInteger(budget) || Number(budget) < 1024) problems.push("thinking.budget_tokens: must be from 1024");
  if (Number(budget) >= Number(request["max_tokens"]))
    problems.push("thinking.budget_tokens: must be below max_tokens");
}

function checkMarkers(request: Wire, problems: string[]): void {
  const blocks = [
    ...listOf(request["tools"]),
    ...listOf(request["system"]),
    ...listOf(request["messages"]).flatMap((message) => listOf(message["content"])),
  ];
  const marked = blocks.filter((block) => block["cache_control"] !== undefined);
  if (marked.length > MAX_MARKERS) problems.push(`cache_control: ${marked.length} blocks, at most ${MAX_MARKERS}`);
  for (const block of marked) {
    if (objectOf(block["cache_control"])["type"] !== "ephemeral")
      problems.push("cache_control.type: must be ephemeral");
    if (String(block["type"]).endsWith("thinking")) problems.push("cache_control: not on thinking");
  }
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
