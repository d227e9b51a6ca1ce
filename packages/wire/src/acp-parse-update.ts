/** Session updates of an agent that may send anything: what is understood, with nothing in it that is of another type. */

import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";
import type {
  AcpConfigOption,
  AcpContentBlock,
  AcpLocation,
  AcpPlanEntry,
  AcpResource,
  AcpSelectOption,
  AcpSessionUpdate,
  AcpToolCallUpdate,
  AcpToolContent,
  AcpToolKind,
  AcpToolStatus,
} from "./acp-wire.ts";

type Members = { readonly [name: string]: unknown };

const KINDS: readonly AcpToolKind[] = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
];
const STATUSES: readonly AcpToolStatus[] = ["pending", "in_progress", "completed", "failed"];

/** `undefined` for a kind that is not known here, and for one that lacks what it is about. Lists are cut to `LIMITS.remembered`. */
export function parseAcpUpdate(value: unknown): AcpSessionUpdate | undefined {
  const update = membersOf(value);
  const { sessionUpdate } = update;
  switch (sessionUpdate) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk": {
      const content = parseAcpContent(update["content"]);
      return content === undefined ? undefined : { sessionUpdate, content, ...textMember(update, "messageId") };
    }
    case "tool_call":
    case "tool_call_update":
      return toolUpdate(sessionUpdate, update);
    case "plan":
      return { sessionUpdate, entries: listOf(update["entries"], planEntry) };
    case "available_commands_update":
      return { sessionUpdate, availableCommands: listOf(update["availableCommands"], command) };
    case "current_mode_update": {
      const { currentModeId } = update;
      return typeof currentModeId === "string" ? { sessionUpdate, currentModeId } : undefined;
    }
    case "config_option_update":
      return { sessionUpdate, configOptions: listOf(update["configOptions"], parseAcpConfigOption) };
    default:
      return ofSession(update);
  }
}

function ofSession(update: Members): AcpSessionUpdate | undefined {
  const { sessionUpdate } = update;
  switch (sessionUpdate) {
    case "session_info_update":
      return { sessionUpdate, ...textMember(update, "title"), ...textMember(update, "updatedAt") };
    case "usage_update": {
      const { used, size } = update;
      const { amount, currency } = membersOf(update["cost"]);
      if (!isNumber(used) || !isNumber(size)) return undefined;
      const cost = isNumber(amount) && typeof currency === "string" ? { cost: { amount, currency } } : {};
      return { sessionUpdate, used, size, ...cost };
    }
    case "notice": {
      const { severity, title } = update;
      if (typeof title !== "string") return undefined;
      return {
        sessionUpdate,
        severity: typeof severity === "string" ? severity : "info",
        title,
        ...textMember(update, "description"),
      };
    }
    case "compaction_update": {
      const { compactionId, status } = update;
      if (typeof compactionId !== "string" || typeof status !== "string") return undefined;
      return { sessionUpdate, compactionId, status, ...textMember(update, "error") };
    }
    default:
      return undefined;
  }
}

function toolUpdate(sessionUpdate: "tool_call" | "tool_call_update", update: Members): AcpSessionUpdate | undefined {
  const call = parseAcpToolCall(update);
  if (call === undefined) return undefined;
  if (sessionUpdate === "tool_call_update") return { sessionUpdate, ...call };
  const { kind, status, content, locations, ...rest } = call;
  return {
    sessionUpdate,
    ...rest,
    title: call.title ?? call.name ?? "tool",
    ...(kind != null && { kind }),
    ...(status != null && { status }),
    ...(content != null && { content }),
    ...(locations != null && { locations }),
  };
}

/** A call as it is announced, changed, or asked about. */
export function parseAcpToolCall(value: unknown): AcpToolCallUpdate | undefined {
  const call = membersOf(value);
  const { toolCallId, kind, status, content, locations, rawInput, rawOutput } = call;
  if (typeof toolCallId !== "string") return undefined;
  const known = KINDS.find((one) => one === kind);
  const state = STATUSES.find((one) => one === status);
  return {
    toolCallId,
    ...shortMember(call, "title"),
    ...shortMember(call, "name"),
    ...(known !== undefined && { kind: known }),
    ...(state !== undefined && { status: state }),
    ...(Array.isArray(content) && { content: listOf(content, toolContent) }),
    ...(Array.isArray(locations) && { locations: listOf(locations, location) }),
    ...(rawInput != null && { rawInput }),
    ...(rawOutput != null && { rawOutput }),
  };
}

export function parseAcpContent(value: unknown): AcpContentBlock | undefined {
  const block = membersOf(value);
  const { type, text, data, mimeType } = block;
  switch (type) {
    case "text":
      return typeof text === "string" ? { type, text } : undefined;
    case "image":
    case "audio":
      return typeof data === "string" && typeof mimeType === "string" ? { type, data, mimeType } : undefined;
    case "resource_link": {
      const { uri, name } = block;
      if (typeof uri !== "string" || typeof name !== "string") return undefined;
      return { type, uri, name, ...textMember(block, "title"), ...textMember(block, "mimeType") };
    }
    case "resource": {
      const resource = parseResource(membersOf(block["resource"]));
      return resource === undefined ? undefined : { type, resource };
    }
    default:
      return undefined;
  }
}

function parseResource(resource: Members): AcpResource | undefined {
  const { uri, text, blob } = resource;
  if (typeof uri !== "string") return undefined;
  if (typeof text === "string") return { uri, text, ...textMember(resource, "mimeType") };
  return typeof blob === "string" ? { uri, blob, ...textMember(resource, "mimeType") } : undefined;
}

function toolContent(value: unknown): AcpToolContent | undefined {
  const item = membersOf(value);
  const { type, path, newText, terminalId } = item;
  if (type === "content") {
    const content = parseAcpContent(item["content"]);
    return content === undefined ? undefined : { type, content };
  }
  if (type === "diff" && typeof path === "string" && typeof newText === "string")
    return { type, path, newText, ...textMember(item, "oldText") };
  return type === "terminal" && typeof terminalId === "string" ? { type, terminalId } : undefined;
}

function location(value: unknown): AcpLocation | undefined {
  const { path, line } = membersOf(value);
  if (typeof path !== "string") return undefined;
  return { path, ...(isNumber(line) && { line }) };
}

function planEntry(value: unknown): AcpPlanEntry | undefined {
  const { content, priority, status } = membersOf(value);
  if (typeof content !== "string") return undefined;
  return {
    content,
    priority: priority === "high" || priority === "low" ? priority : "medium",
    status: status === "in_progress" || status === "completed" ? status : "pending",
  };
}

function command(value: unknown): { readonly name: string; readonly description: string } | undefined {
  const { name, description } = membersOf(value);
  if (typeof name !== "string") return undefined;
  return { name, description: typeof description === "string" ? description : "" };
}

/** Selects only; groups of options are taken as one list. */
export function parseAcpConfigOption(value: unknown): AcpConfigOption | undefined {
  const option = membersOf(value);
  const { id, name, type, currentValue, options } = option;
  if (type !== "select" || typeof id !== "string" || typeof currentValue !== "string") return undefined;
  const flat = (Array.isArray(options) ? options : []).flatMap((item): unknown[] => {
    const { options: grouped } = membersOf(item);
    return Array.isArray(grouped) ? grouped : [item];
  });
  return {
    id,
    name: typeof name === "string" ? name : id,
    type,
    currentValue,
    ...textMember(option, "category"),
    options: listOf(flat, selectOption),
  };
}

function selectOption(value: unknown): AcpSelectOption | undefined {
  const { value: chosen, name } = membersOf(value);
  if (typeof chosen !== "string") return undefined;
  return { value: chosen, name: typeof name === "string" ? name : chosen };
}

function listOf<T>(value: unknown, parse: (item: unknown) => T | undefined): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, LIMITS.remembered).flatMap((item) => parse(item) ?? []);
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function textMember<Name extends string>(members: Members, name: Name): { readonly [Key in Name]?: string } {
  const value = members[name];
  return (typeof value === "string" ? { [name]: value } : {}) as { readonly [Key in Name]?: string }; // that name or nothing
}

function shortMember<Name extends string>(members: Members, name: Name): { readonly [Key in Name]?: string } {
  const value = members[name];
  const short = typeof value === "string" ? value.slice(0, LIMITS.titleCharacters).toWellFormed() : undefined;
  return (short === undefined ? {} : { [name]: short }) as { readonly [Key in Name]?: string }; // that name or nothing
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
