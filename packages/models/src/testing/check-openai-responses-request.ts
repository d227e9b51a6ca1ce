/** What the Responses API would refuse in a request beside its input: headers, fields, tools, reasoning, formats. Pure. */

import { checkOpenAIInput, type IssuedItems } from "./check-openai-responses-input.ts";

type Wire = { readonly [name: string]: unknown };

const TOP_LEVEL: readonly string[] =
  `model input instructions tools tool_choice parallel_tool_calls max_output_tokens max_tool_calls reasoning text include
  store stream stream_options prompt_cache_key prompt_cache_options context_management service_tier safety_identifier
  temperature top_p metadata truncation`.split(/\s+/);
const TOOL_FIELDS: readonly string[] = ["type", "name", "description", "parameters", "strict"];
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Values of `reasoning.effort` by model; a model that is not there does not reason. */
const EFFORTS: readonly (readonly [model: RegExp, efforts: string])[] = [
  [/^gpt-6(\.\d)?-astra|^gpt-6\.[12]-sol/, "low medium high xhigh max"],
  [/^gpt-(6|5\.6)/, "none low medium high xhigh max"],
  [/^gpt-5-chat/, ""],
  [/^gpt-5-pro/, "high"],
  [/^gpt-5\.\d/, "none low medium high xhigh"],
  [/^gpt-5/, "minimal low medium high"],
  [/^o\d/, "low medium high"],
];

/** Problems of the headers, the fields and the input; none for a request that the API accepts. */
export function checkOpenAIRequest(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: unknown,
  issued?: IssuedItems,
): string[] {
  const problems: string[] = [];
  const request = objectOf(body);
  const azure = headers["api-key"] !== undefined; // its own header for the same API
  if (!azure && !/^Bearer \S+$/.test(String(headers["authorization"]))) problems.push("authorization: missing");
  if (!String(headers["content-type"]).startsWith("application/json")) problems.push("content-type: must be JSON");
  for (const name of Object.keys(request)) if (!TOP_LEVEL.includes(name)) problems.push(`${name}: unknown field`);
  const { model, max_output_tokens: max, prompt_cache_key: key, instructions } = request;
  if (typeof model !== "string" || model === "") problems.push("model: missing");
  if (request["stream"] !== true) problems.push("stream: only streams are known here");
  if (max !== undefined && (!Number.isInteger(max) || Number(max) < 16))
    problems.push("max_output_tokens: at least 16");
  if (key !== undefined && (typeof key !== "string" || key.length > 64)) problems.push("prompt_cache_key: too long");
  if (instructions !== undefined && typeof instructions !== "string") problems.push("instructions: must be a text");
  checkTools(request, problems);
  checkReasoning(request, problems);
  checkFormat(objectOf(objectOf(request["text"])["format"]), problems);
  return [...problems, ...checkOpenAIInput(request["input"], issued)];
}

function checkTools(request: Wire, problems: string[]): void {
  const tools = listOf(request["tools"]);
  const names = tools.flatMap((tool) => (tool["type"] === "function" ? [String(tool["name"])] : []));
  for (const [at, tool] of tools.entries()) {
    if (tool["type"] !== "function") continue;
    for (const name of Object.keys(tool))
      if (!TOOL_FIELDS.includes(name)) problems.push(`tools.${at}.${name}: unknown field`);
    const name = String(tool["name"]);
    if (!TOOL_NAME.test(name)) problems.push(`tools.${at}.name: must match ${TOOL_NAME.source}`);
    if (names.filter((other) => other === name).length > 1) problems.push(`tools.${at}.name: ${name} is there twice`);
    if (objectOf(tool["parameters"])["type"] !== "object")
      problems.push(`tools.${at}.parameters: schema must have type object`);
    if (tool["strict"] === true) checkStrict(tool["parameters"], `tools.${at}.parameters`, problems);
  }
  const choice = request["tool_choice"];
  if (choice === undefined) return;
  if (tools.length === 0) problems.push("tool_choice: there are no tools");
  if (typeof choice === "string") {
    if (!["auto", "required", "none"].includes(choice)) problems.push("tool_choice: unknown");
  } else if (!names.includes(String(objectOf(choice)["name"]))) problems.push("tool_choice: there is no such tool");
}

function checkReasoning(request: Wire, problems: string[]): void {
  const { reasoning, include, temperature, store } = request;
  const model = String(request["model"]);
  const efforts = EFFORTS.find(([pattern]) => pattern.test(model))?.[1].split(" ") ?? [];
  const { effort, summary } = objectOf(reasoning);
  const encrypted = Array.isArray(include) && include.includes("reasoning.encrypted_content");
  if (!/^(gpt|o\d)/.test(model)) return; // another server's
  if (reasoning !== undefined && efforts.length === 0) problems.push("reasoning: not supported with this model");
  if (effort !== undefined && !efforts.some((known) => known === effort))
    problems.push(`reasoning.effort: ${JSON.stringify(effort)} is not supported with ${model}`);
  if (summary !== undefined && !["auto", "concise", "detailed"].some((known) => known === summary))
    problems.push("reasoning.summary: unknown");
  if (encrypted && efforts.length === 0) problems.push("include: encrypted content is not supported with this model");
  if (temperature !== undefined && efforts.length > 0 && effort !== "none")
    problems.push("temperature: not supported with this model");
  if (store === false && !encrypted && efforts.length > 0) problems.push("include: reasoning would be lost");
  if (store !== false) problems.push("store: must be false here");
}

function checkFormat(format: Wire, problems: string[]): void {
  if (format["type"] === undefined) return;
  if (format["type"] !== "json_schema") problems.push("text.format.type: unknown");
  if (!TOOL_NAME.test(String(format["name"]))) problems.push("text.format.name: missing");
  if (format["strict"] === true) checkStrict(format["schema"], "text.format.schema", problems);
}

/** Strict schemas name every property as required and allow no others. */
function checkStrict(schema: unknown, where: string, problems: string[]): void {
  const { type, properties, required, additionalProperties, items } = objectOf(schema);
  if (type === "object") {
    const names = Object.keys(objectOf(properties));
    if (additionalProperties !== false) problems.push(`${where}: additionalProperties must be false`);
    if (names.some((name) => !Array.isArray(required) || !required.includes(name)))
      problems.push(`${where}: required must name every property`);
    for (const [name, member] of Object.entries(objectOf(properties)))
      checkStrict(member, `${where}.properties.${name}`, problems);
  }
  if (items !== undefined) checkStrict(items, `${where}.items`, problems);
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
