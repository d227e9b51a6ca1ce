/** The body of `streamGenerateContent` (protocols.md section 3) as segments of JSON text; what changes least comes first. */

import type { Json, ModelRequest, ModelSettings, ToolSpec } from "@capstan/core";
import { toolEncoder } from "../provider/call.ts";
import { BUDGETS, effortOf, thinkingWithin } from "../provider/effort.ts";
import { nothingToSend } from "../provider/errors.ts";
import { extraBodyOf, merged } from "../provider/extra-body.ts";
import type { JsonObject } from "../provider/json.ts";
import { wireJson } from "../wire-text.ts";
import { contentsEncoder, continued } from "./history.ts";
import type { Thinking } from "./model-table.ts";
import type { PartOptions } from "./parts.ts";
import { GEMINI } from "./signature.ts";

export type BodyOptions = PartOptions & {
  /** Undefined leaves it to the provider. */
  readonly maxOutputTokens: number | undefined;
  /** The most that the model can be asked for. */
  readonly maxOutputLimit: number;
  readonly thinking: Thinking;
  readonly extraBody: Json | undefined;
};

export type BodyEncoder = (request: ModelRequest) => Promise<readonly string[]>;

/** One encoder a model. `maxOutputTokens` of the options counts unless the request's settings say otherwise. */
export function bodyEncoder(options: BodyOptions): BodyEncoder {
  const contents = contentsEncoder(options);
  const declarations = toolEncoder(functionDeclarations);
  return async (request) => {
    const { settings } = request;
    const { messages, token } = continued(request.messages, options.modelId);
    const list = await contents(messages, request.blob);
    const { members: extra, tools: extraTools } = extraBodyOf(options.extraBody, settings.extraBody);
    const members = merged(parameters(options, settings, request.tools), extra);
    const tools = [declarations(request.tools), ...extraTools.map((tool) => wireJson(tool))];
    const segments = [wireJson(token === undefined ? members : { ...members, continuationToken: token }).slice(0, -1)];
    const written = tools.filter((json) => json !== "");
    if (written.length > 0) add(segments, `"tools":[${written.join(",")}]`);
    if (request.system.trim() !== "" && !("systemInstruction" in extra))
      add(segments, `"systemInstruction":${wireJson({ parts: [{ text: request.system }] })}`);
    if ("contents" in extra) return [...segments, "}"];
    if (list.length === 0) throw nothingToSend(GEMINI);
    add(segments, '"contents":[');
    for (const segment of list) segments.push(segment);
    segments.push("]}");
    return segments;
  };
}

function add(segments: string[], member: string): void {
  segments.push(segments.length === 1 && segments[0] === "{" ? member : `,${member}`);
}

function functionDeclarations(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return "";
  const made = tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    parametersJsonSchema: inputSchema,
  }));
  return wireJson({ functionDeclarations: made });
}

function parameters(options: BodyOptions, settings: ModelSettings, tools: readonly ToolSpec[]): JsonObject {
  const { temperature, outputSchema, toolChoice = "auto" } = settings;
  const wish = thinkingOf(options.thinking, settings.reasoning);
  const { maxOutputTokens, thinkingConfig } = outputLimit(options, settings, wish);
  const generationConfig: JsonObject = {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(thinkingConfig !== undefined && { thinkingConfig }),
    ...(outputSchema !== undefined && { responseMimeType: "application/json", responseJsonSchema: outputSchema }),
  };
  const forced = typeof toolChoice === "object" ? { allowedFunctionNames: [toolChoice.tool] } : {};
  return {
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(tools.length > 0 &&
      toolChoice !== "auto" && { toolConfig: { functionCallingConfig: { mode: "ANY", ...forced } } }),
  };
}

/** The model finds the size by itself. */
const DYNAMIC = -1;
/** Asks for the summaries that people see. */
const SHOWN = { includeThoughts: true } as const;

function thinkingOf(thinking: Thinking, wish: ModelSettings["reasoning"]): JsonObject | undefined {
  if (thinking.kind === "none") return undefined;
  if (wish === undefined) return thinking.unasked ? SHOWN : undefined;
  if (thinking.kind === "level") {
    if (wish === "off") return { thinkingLevel: thinking.least };
    if (wish === "adaptive") return SHOWN;
    return { ...SHOWN, thinkingLevel: (typeof wish === "object" ? effortOf(wish.budgetTokens) : wish).toUpperCase() };
  }
  if (wish === "off") return { thinkingBudget: thinking.off };
  if (wish === "adaptive") return { ...SHOWN, thinkingBudget: DYNAMIC };
  const asked = Math.round(typeof wish === "object" ? wish.budgetTokens : BUDGETS[wish]);
  return { ...SHOWN, thinkingBudget: Math.min(thinking.max, Math.max(thinking.min, asked)) };
}

/** Thoughts count towards the limit: the settings are one for both, ours is a default that makes room for them. */
function outputLimit(
  options: BodyOptions,
  settings: ModelSettings,
  thinkingConfig: JsonObject | undefined,
): { readonly maxOutputTokens: number | undefined; readonly thinkingConfig: JsonObject | undefined } {
  const maxOutputTokens = settings.maxOutputTokens ?? options.maxOutputTokens;
  const budget = thinkingConfig?.["thinkingBudget"];
  if (maxOutputTokens === undefined || typeof budget !== "number" || maxOutputTokens > budget)
    return { maxOutputTokens, thinkingConfig };
  if (settings.maxOutputTokens === undefined)
    return { maxOutputTokens: Math.min(budget + maxOutputTokens, options.maxOutputLimit), thinkingConfig };
  const least = options.thinking.kind === "budget" ? options.thinking.min : 0;
  const fits = thinkingWithin(maxOutputTokens);
  const off = options.thinking.kind === "budget" ? options.thinking.off : 0;
  return { maxOutputTokens, thinkingConfig: { ...thinkingConfig, thinkingBudget: fits < least ? off : fits } };
}
