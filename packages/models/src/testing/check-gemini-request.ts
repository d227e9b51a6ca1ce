/** What `streamGenerateContent` would refuse in a request beside its contents: headers, fields, tools, thinking. Pure. */

import { checkGeminiContents, type GeminiChecks } from "./check-gemini-contents.ts";

type Wire = { readonly [name: string]: unknown };

const TOP_LEVEL: readonly string[] =
  `contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent continuationToken labels
  serviceTier store`.split(/\s+/);
const GENERATION: readonly string[] =
  `temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty
  frequencyPenalty seed responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution speechConfig
  thinkingConfig imageConfig`.split(/\s+/);
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** Problems of the headers, the fields and the contents; none for a request that the API accepts. */
export function checkGeminiRequest(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: unknown,
  checks: GeminiChecks,
): string[] {
  const problems: string[] = [];
  const request = objectOf(body);
  if (headers["x-goog-api-key"] === undefined && headers["authorization"] === undefined)
    problems.push("x-goog-api-key: missing");
  if (!String(headers["content-type"]).startsWith("application/json")) problems.push("content-type: must be JSON");
  for (const name of Object.keys(request)) if (!TOP_LEVEL.includes(name)) problems.push(`${name}: unknown name`);
  const system = request["systemInstruction"];
  if (
    system !== undefined &&
    listOf(objectOf(system)["parts"]).some(({ text }) => typeof text !== "string" || text === "")
  )
    problems.push("systemInstruction: must hold text");
  checkGeneration(objectOf(request["generationConfig"]), problems);
  checkTools(request, problems);
  return [...problems, ...checkGeminiContents(request["contents"], checks)];
}

function checkGeneration(config: Wire, problems: string[]): void {
  for (const name of Object.keys(config))
    if (!GENERATION.includes(name)) problems.push(`generationConfig.${name}: unknown name`);
  const { maxOutputTokens: max, responseJsonSchema: schema, responseMimeType: type, thinkingConfig } = config;
  if (max !== undefined && (!Number.isInteger(max) || Number(max) < 1 || Number(max) > 65_536))
    problems.push("generationConfig.maxOutputTokens: must be from 1 to 65536");
  if (schema !== undefined && type !== "application/json")
    problems.push("generationConfig.responseJsonSchema: needs responseMimeType application/json");
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = objectOf(thinkingConfig);
  if (budget !== undefined && level !== undefined) problems.push("thinkingConfig: budget and level are both set");
  if (budget !== undefined && (!Number.isInteger(budget) || Number(budget) < -1))
    problems.push("thinkingConfig.thinkingBudget: must be a number from -1");
  if (level !== undefined && !["MINIMAL", "LOW", "MEDIUM", "HIGH"].some((known) => known === level))
    problems.push("thinkingConfig.thinkingLevel: unknown");
  if (budget === 0 && includeThoughts === true)
    problems.push("thinkingConfig.includeThoughts: only when thinking is enabled");
}

function checkTools(request: Wire, problems: string[]): void {
  const declared = listOf(request["tools"]).flatMap((tool) => listOf(tool["functionDeclarations"]));
  const names = declared.map((tool) => String(tool["name"]));
  for (const [index, tool] of declared.entries()) {
    const name = names[index] ?? "";
    if (!TOOL_NAME.test(name)) problems.push(`functionDeclarations.${index}.name: must match ${TOOL_NAME.source}`);
    if (names.indexOf(name) !== index) problems.push(`functionDeclarations.${index}.name: ${name} is there twice`);
    if (objectOf(tool["parametersJsonSchema"])["type"] !== "object")
      problems.push(`functionDeclarations.${index}.parametersJsonSchema: must be an object's`);
  }
  const config = objectOf(request["toolConfig"])["functionCallingConfig"];
  if (config === undefined) return;
  const { mode, allowedFunctionNames: allowed } = objectOf(config);
  if (declared.length === 0) problems.push("toolConfig: there are no functions");
  if (!["AUTO", "ANY", "NONE", "VALIDATED"].includes(String(mode)))
    problems.push("functionCallingConfig.mode: unknown");
  if (allowed === undefined) return;
  if (mode !== "ANY" && mode !== "VALIDATED") problems.push("allowedFunctionNames: only in mode ANY or VALIDATED");
  for (const name of Array.isArray(allowed) ? allowed : [])
    if (!names.includes(String(name))) problems.push(`allowedFunctionNames: there is no function ${String(name)}`);
}

function listOf(value: unknown): readonly Wire[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {}; // checked right here
}
