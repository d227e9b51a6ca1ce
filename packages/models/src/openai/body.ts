/** The body of `POST /v1/responses` (protocols.md section 2.1) as segments of JSON text. */

import { type Json, type ModelRequest, type ModelSettings, sha256, type ToolSpec } from "@capstan/core";
import { toolEncoder } from "../provider/call.ts";
import { messageEncoder } from "../provider/encoded-messages.ts";
import { effortOf } from "../provider/effort.ts";
import { nothingToSend } from "../provider/errors.ts";
import { extraBodyOf, merged } from "../provider/extra-body.ts";
import { type JsonObject, listOf } from "../provider/json.ts";
import { isStrictSchema } from "../provider/strict-schema.ts";
import { isBlank, wireJson } from "../wire-text.ts";
import { OPENAI } from "./content.ts";
import { type ItemOptions, messageItems } from "./items.ts";
import type { Effort } from "./model-table.ts";

export type BodyOptions = ItemOptions & {
  readonly modelId: string;
  /** Undefined: the API's own limit. */
  readonly maxOutputTokens: number | undefined;
  /** What `reasoning.effort` may be, in rising order; empty for a model that does not reason. */
  readonly efforts: readonly Effort[];
  readonly extraBody: Json | undefined;
};

export type BodyEncoder = (request: ModelRequest) => Promise<readonly string[]>;

/** One encoder a model. The input stands last, so the bodies of a conversation's turns begin with the same bytes. */
export function bodyEncoder(options: BodyOptions): BodyEncoder {
  const encode = messageEncoder(OPENAI.id, (message, context) => messageItems(message, context, options));
  const toolsOf = toolEncoder((tools) => tools.map((tool) => functionTool(tool)).join(","));
  return async (request) => {
    const { settings, system } = request;
    const { members: extra, tools: extraTools } = extraBodyOf(options.extraBody, settings.extraBody);
    const own = parameters(options, request);
    const members = withNeeded(own, merged(own, extra));
    const segments = [wireJson({ ...members, stream: true }).slice(0, -1)];
    const tools = [toolsOf(request.tools), ...extraTools.map((tool) => wireJson(tool))];
    const list = tools.filter((tool) => tool !== "").join(",");
    if (list !== "") segments.push(`,"tools":[${list}]`);
    if (!isBlank(system) && !("instructions" in extra)) segments.push(`,"instructions":${wireJson(system)}`);
    if ("input" in extra) return [...segments, "}"];
    const items = (await encode(request.messages, request.blob)).filter((item) => item !== "");
    if (items.length === 0) throw nothingToSend(OPENAI);
    segments.push(',"input":[');
    for (const [at, item] of items.entries()) {
      if (at > 0) segments.push(",");
      segments.push(item);
    }
    segments.push("]}");
    return segments;
  };
}

/** Without the encrypted reasoning in the answer, none could go back: an `include` of people's own does not take it away. */
function withNeeded({ include: needed }: JsonObject, body: JsonObject): JsonObject {
  if (needed === undefined) return body;
  return { ...body, include: [...new Set([...listOf(needed), ...listOf(body["include"])])] };
}

/** Not strict: strict mode refuses schemas with optional members, and core checks every input itself. */
function functionTool({ name, description, inputSchema }: ToolSpec): string {
  return wireJson({ type: "function", name, description, parameters: inputSchema, strict: false });
}

/** Nothing is stored at OpenAI: what must go back comes encrypted in the answer. */
function parameters(options: BodyOptions, { settings, sessionId, tools }: ModelRequest): JsonObject {
  const { toolChoice = "auto", outputSchema } = settings;
  const maxOutputTokens = settings.maxOutputTokens ?? options.maxOutputTokens;
  const reasoning = reasoningOf(options.efforts, settings.reasoning);
  const temperate = options.efforts.length === 0 || reasoning?.["effort"] === "none";
  const named = typeof toolChoice === "object" ? { type: "function", name: toolChoice.tool } : toolChoice;
  return {
    model: options.modelId,
    store: false,
    prompt_cache_key: sha256(sessionId).slice(0, 32),
    ...(options.efforts.length > 0 && { include: ["reasoning.encrypted_content"] }),
    ...(reasoning !== undefined && { reasoning }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(temperate && settings.temperature !== undefined && { temperature: settings.temperature }),
    ...(outputSchema !== undefined && { text: { format: formatOf(outputSchema) } }),
    ...(tools.length > 0 && toolChoice !== "auto" && { tool_choice: named }),
    ...(tools.length > 0 && settings.parallel === false && { parallel_tool_calls: false }),
  };
}

function formatOf(schema: Json): JsonObject {
  return { type: "json_schema", name: "output", schema, strict: isStrictSchema(schema) };
}

const ORDER: readonly Effort[] = ["none", "minimal", "low", "medium", "high"];

/** Summaries are asked for with the reasoning only: organisations that are not verified do not get them. */
function reasoningOf(efforts: readonly Effort[], wish: ModelSettings["reasoning"]): JsonObject | undefined {
  if (wish === undefined || efforts.length === 0) return undefined;
  if (wish === "off") return { effort: efforts[0] ?? "none" };
  if (wish === "adaptive") return { summary: "auto" };
  return { effort: nearest(efforts, typeof wish === "string" ? wish : effortOf(wish.budgetTokens)), summary: "auto" };
}

/** The wish, or the next effort above it that the model knows, or its highest. */
function nearest(efforts: readonly Effort[], wish: Effort): Effort {
  const above = efforts.find((effort) => ORDER.indexOf(effort) >= ORDER.indexOf(wish));
  return above ?? efforts.at(-1) ?? wish;
}
