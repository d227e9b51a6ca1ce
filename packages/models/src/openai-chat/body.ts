/** The body of `POST /chat/completions` (protocols.md section 2.2) as segments of JSON text. */

import type { Json, ModelRequest, ModelSettings, ToolSpec } from "@capstan/core";
import { toolEncoder } from "../provider/call.ts";
import { nothingToSend } from "../provider/errors.ts";
import { extraBodyOf, merged } from "../provider/extra-body.ts";
import { isStrictSchema } from "../provider/strict-schema.ts";
import { isBlank, wireJson } from "../wire-text.ts";
import type { ChatDialect } from "./dialect.ts";
import { chatMessages, type MessageOptions, systemMessage } from "./messages.ts";

export type BodyOptions = Omit<MessageOptions, "reasoningOut"> & {
  readonly dialect: ChatDialect;
  /** Undefined: the server decides. */
  readonly maxOutputTokens: number | undefined;
  /** The model takes a temperature. */
  readonly temperature: boolean;
  readonly extraBody: Json | undefined;
};

export type BodyEncoder = (request: ModelRequest) => Promise<readonly string[]>;

/** Anthropic's models, the ones with markers, take this many in one request. */
const MAX_MARKERS = 4;

/** One encoder a model. The messages come last, so that each turn's body begins with that of the turn before. */
export function bodyEncoder(options: BodyOptions): BodyEncoder {
  const messageOptions = { ...options, reasoningOut: options.dialect.reasoningOut };
  const encodeMessages = chatMessages(messageOptions);
  const plainTools = toolEncoder((tools) => functionTools(tools, false));
  const markedTools = toolEncoder((tools) => functionTools(tools, true));
  return async (request) => {
    const { settings, system, cache } = request;
    const prefix = options.cacheMarkers && cache.includes(-1);
    const markSystem = prefix && !isBlank(system);
    // a marker of their own leaves the tools in the cache when another one is added later
    const room = !markSystem || cache.length < MAX_MARKERS;
    const markTools = prefix && options.dialect.toolMarkers && request.tools.length > 0 && room;
    const tools = markTools ? markedTools : plainTools;
    const { members: extra, tools: extraTools } = extraBodyOf(options.extraBody, settings.extraBody);
    const members = wireJson({ ...merged(parameters(options, settings, request.tools), extra), stream: true });
    const segments = [members.slice(0, -1)];
    const toolList = [tools(request.tools), ...extraTools.map((tool) => wireJson(tool))].filter((json) => json !== "");
    if (toolList.length > 0) segments.push(`,"tools":[${toolList.join(",")}]`);
    if ("messages" in extra) return [...segments, "}"];
    const messages = await encodeMessages(request, MAX_MARKERS - (markSystem ? 1 : 0) - (markTools ? 1 : 0));
    if (messages.length === 0) throw nothingToSend(options.provider);
    segments.push(',"messages":[');
    if (!isBlank(system))
      segments.push(systemMessage(options.dialect.systemRole, system, messageOptions, markSystem), ",");
    segments.push(messages.join(","), "]}");
    return segments;
  };
}

const MARKER = { type: "ephemeral" } as const;

/** Items of the list, joined. */
function functionTools(tools: readonly ToolSpec[], marked: boolean): string {
  const made = tools.map(({ name, description, inputSchema }, index) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
    ...(marked && index === tools.length - 1 && { cache_control: MARKER }),
  }));
  return made.map((tool) => wireJson(tool)).join(",");
}

type Parameters = { [name: string]: Json };

function parameters(options: BodyOptions, settings: ModelSettings, tools: readonly ToolSpec[]): Parameters {
  const { dialect } = options;
  const made: Parameters = { model: options.modelId };
  const maxOutputTokens = settings.maxOutputTokens ?? options.maxOutputTokens;
  if (maxOutputTokens !== undefined) made[dialect.maxTokens] = maxOutputTokens;
  if (settings.temperature !== undefined && options.temperature) made["temperature"] = settings.temperature;
  const { toolChoice = "auto", outputSchema } = settings;
  if (tools.length > 0 && toolChoice !== "auto") {
    made["tool_choice"] =
      toolChoice === "required" ? "required" : { type: "function", function: { name: toolChoice.tool } };
  }
  if (tools.length > 0 && settings.parallel === false) made["parallel_tool_calls"] = false;
  if (settings.reasoning !== undefined) Object.assign(made, dialect.reasoning(settings.reasoning));
  if (outputSchema !== undefined && dialect.outputSchema !== "none") {
    const strict = dialect.outputSchema === "strict" && isStrictSchema(outputSchema);
    const schema = { name: "output", schema: outputSchema, ...(strict && { strict }) };
    made["response_format"] = { type: "json_schema", json_schema: schema };
  }
  if (dialect.streamUsage) made["stream_options"] = { include_usage: true };
  return made;
}
