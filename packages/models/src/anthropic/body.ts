/** The body of `POST /v1/messages` (protocols.md section 1.1) as segments of JSON text. */

import type { Json, ModelRequest, ModelSettings, ToolSpec } from "@capstan/core";
import { BUDGETS, type Effort, effortOf, thinkingWithin } from "../provider/effort.ts";
import { nothingToSend } from "../provider/errors.ts";
import { extraBodyOf, merged } from "../provider/extra-body.ts";
import { wireJson } from "../wire-text.ts";
import { ANTHROPIC } from "./blocks.ts";
import { historyEncoder, type HistoryOptions } from "./history.ts";
import type { Thinking } from "./model-table.ts";

export type BodyOptions = HistoryOptions & {
  readonly maxOutputTokens: number;
  /** The most that the model can be asked for. */
  readonly maxOutputLimit: number;
  readonly thinking: Thinking;
  /** Whether the endpoint takes `cache_control`. */
  readonly cacheMarkers: boolean;
  readonly extraBody: Json | undefined;
};

export type BodyEncoder = (request: ModelRequest) => Promise<readonly string[]>;

/** The API takes this many `cache_control` markers in one request. */
const MAX_MARKERS = 4;
const MARKER = { type: "ephemeral" } as const;

/** What an endpoint takes of the members beside the system text, the tools and the messages. */
export type BodyShape = (members: { readonly [name: string]: Json }) => { readonly [name: string]: Json };

/** A body of `/v1/messages`. */
const streamed: BodyShape = (members) => ({ ...members, stream: true });

const COUNTED: readonly string[] =
  `model messages system tools tool_choice thinking output_config cache_control mcp_servers context_management compaction
  speed`.split(/\s+/);

/** A body of `/v1/messages/count_tokens`, which refuses what changes nothing about the count. */
export const counted: BodyShape = (members) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => COUNTED.includes(name)));

/** One encoder a model. `maxOutputTokens` of the options counts unless the request's settings say otherwise. */
export function bodyEncoder(options: BodyOptions, shape: BodyShape = streamed): BodyEncoder {
  const history = historyEncoder(options);
  const prefix = prefixEncoder();
  return async (request) => {
    const { settings } = request;
    const cache = options.cacheMarkers ? request.cache : [];
    const marks = cache.includes(-1) ? (cache.length < MAX_MARKERS ? "both" : "last") : "none";
    const { system, tools, marked } = prefix(request.system, request.tools, marks);
    const list = await history(request, cache, MAX_MARKERS - marked);
    const { members: extra, tools: extraTools } = extraBodyOf(options.extraBody, settings.extraBody);
    const members = wireJson(shape(merged(parameters(options, settings, request.tools), extra)));
    const segments = [members.slice(0, -1)];
    const toolList = [tools, ...extraTools.map((tool) => wireJson(tool))].filter((json) => json !== "");
    if (toolList.length > 0) segments.push(`,"tools":[${toolList.join(",")}]`);
    if (system !== "" && !("system" in extra)) segments.push(system);
    if ("messages" in extra) return [...segments, "}"];
    if (list.length === 0) throw nothingToSend(ANTHROPIC);
    segments.push(',"messages":[');
    for (const segment of list) segments.push(segment);
    segments.push("]}");
    return segments;
  };
}

/** `tools`: items of the list, joined. `marked`: how many markers are in it. */
type Prefix = { readonly system: string; readonly tools: string; readonly marked: number };
/** `both`: the tools have a marker of their own, so that a tool that is added later leaves those before it in the cache. */
type Marks = "none" | "last" | "both";

/** System text and tools are encoded once for as long as the caller passes the same array and text. */
function prefixEncoder(): (system: string, tools: readonly ToolSpec[], marks: Marks) => Prefix {
  type Known = { readonly system: string; readonly made: Map<Marks, Prefix> };
  const known = new WeakMap<readonly ToolSpec[], Known>();
  return (system, tools, marks) => {
    const found = known.get(tools);
    const { made } = found?.system === system ? found : { made: new Map<Marks, Prefix>() };
    if (found?.made !== made) known.set(tools, { system, made });
    const prefix = made.get(marks) ?? encodePrefix(system, tools, marks);
    made.set(marks, prefix);
    return prefix;
  };
}

/** The order of the cache is tools, system, messages: the marker goes on the last of the first two. */
function encodePrefix(system: string, tools: readonly ToolSpec[], marks: Marks): Prefix {
  const hasSystem = system.trim() !== "";
  const markTool = tools.length > 0 && (marks === "both" || (marks === "last" && !hasSystem));
  const markSystem = hasSystem && marks !== "none";
  const toolList = tools.map((tool, index) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema,
    ...(markTool && index === tools.length - 1 && { cache_control: MARKER }),
  }));
  const block = { type: "text", text: system, ...(markSystem && { cache_control: MARKER }) };
  return {
    tools: toolList.map((tool) => wireJson(tool)).join(","),
    system: hasSystem ? `,"system":${wireJson([block])}` : "",
    marked: (markTool ? 1 : 0) + (markSystem ? 1 : 0),
  };
}

type Parameters = { [name: string]: Json };

function parameters(options: BodyOptions, settings: ModelSettings, tools: readonly ToolSpec[]): Parameters {
  const made: Parameters = {
    model: options.modelId,
    max_tokens: settings.maxOutputTokens ?? options.maxOutputTokens,
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
  };
  const { toolChoice = "auto" } = settings;
  if (tools.length > 0 && (toolChoice !== "auto" || settings.parallel === false)) {
    made["tool_choice"] = {
      ...(toolChoice === "auto" && { type: "auto" }),
      ...(toolChoice === "required" && { type: "any" }),
      ...(typeof toolChoice === "object" && { type: "tool", name: toolChoice.tool }),
      ...(settings.parallel === false && { disable_parallel_tool_use: true }),
    };
  }
  const { thinking, effort } = reasoning(options, settings, tools.length > 0 && toolChoice !== "auto");
  Object.assign(made, beside(options, settings, thinking));
  if (effort !== undefined || settings.outputSchema !== undefined) {
    made["output_config"] = {
      ...(effort !== undefined && { effort }),
      ...(settings.outputSchema !== undefined && { format: { type: "json_schema", schema: settings.outputSchema } }),
    };
  }
  return made;
}

/** A thinking budget counts towards `max_tokens`, which must be larger: the settings are a limit, ours is a default. */
function beside(options: BodyOptions, settings: ModelSettings, thinking: Reasoning["thinking"]): Parameters {
  if (thinking === undefined) return {};
  const budget = thinking["budget_tokens"];
  const { maxOutputTokens: limit } = settings;
  if (typeof budget !== "number" || budget < (limit ?? options.maxOutputTokens)) return { thinking };
  if (limit === undefined) {
    const both = budget + options.maxOutputTokens;
    return { thinking, max_tokens: Math.min(both, Math.max(options.maxOutputLimit, budget + 1)) };
  }
  const fits = thinkingWithin(limit);
  return { thinking: fits < MIN_BUDGET ? { type: "disabled" } : enabled(fits) };
}

type Reasoning = { readonly thinking?: { readonly [key: string]: Json }; readonly effort?: Effort };

/** Newer models leave the text of their thinking out unless asked for a summary: people would see nothing happen. */
const ADAPTIVE = { type: "adaptive", display: "summarized" } as const;
/** Smallest budget that the API takes. */
const MIN_BUDGET = 1_024;

/** `forced`: a forced tool call excludes thinking on the models that can do without. */
function reasoning({ thinking: mode }: BodyOptions, settings: ModelSettings, forced: boolean): Reasoning {
  const wish = settings.reasoning;
  const thinksUnasked = mode === "default" || mode === "between-tools" || mode === "always";
  if (wish === undefined && !forced) return thinksUnasked ? { thinking: ADAPTIVE } : {};
  if (wish === undefined || wish === "off" || forced) return withoutThinking(mode, wish === "off");
  if (typeof wish === "object") {
    if (mode === "budget" || mode === "either") return { thinking: enabled(wish.budgetTokens) };
    return { thinking: ADAPTIVE, effort: effortOf(wish.budgetTokens) };
  }
  if (mode === "budget") return { thinking: enabled(BUDGETS[wish === "adaptive" ? "medium" : wish]) };
  return wish === "adaptive" ? { thinking: ADAPTIVE } : { thinking: ADAPTIVE, effort: wish };
}

function withoutThinking(mode: Thinking, asked: boolean): Reasoning {
  if (mode === "always") return asked ? { thinking: ADAPTIVE, effort: "low" } : { thinking: ADAPTIVE };
  return { thinking: { type: mode === "between-tools" ? "between_tools" : "disabled" } };
}

function enabled(budgetTokens: number): { readonly [key: string]: Json } {
  return { type: "enabled", budget_tokens: Math.max(MIN_BUDGET, Math.round(budgetTokens)) };
}
