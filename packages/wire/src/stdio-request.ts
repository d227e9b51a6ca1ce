/** Requests of the NDJSON door, parsed and bounded. Field names are those of the protocol, in snake case. */

import { type Answer, CapstanError, type FilePart, type IfBusy, LIMITS } from "@capstan/core";
import { type Members, parseJson, parseObject, textMember } from "./json-text.ts";
import { WIRE_LIMITS } from "./wire-limits.ts";

export type StdioId = string | number;
export type StdioRequest =
  | { readonly kind: "hello"; readonly protocol: number }
  | {
      readonly kind: "user_message";
      readonly message: string;
      readonly images: readonly FilePart[];
      readonly ifBusy: IfBusy;
      readonly conversationId?: string;
      readonly agent?: string;
      readonly idempotencyKey?: string;
    }
  | { readonly kind: "new_conversation"; readonly agent?: string; readonly title?: string; readonly workspace?: string }
  | { readonly kind: "clear_history" }
  | { readonly kind: "list_requests" }
  | { readonly kind: "list_conversations"; readonly limit: number; readonly before?: string }
  | { readonly kind: "load_conversation"; readonly conversationId: string; readonly limit: number }
  | { readonly kind: "delete_conversation"; readonly conversationId: string }
  | { readonly kind: "rename_conversation"; readonly conversationId: string; readonly title: string }
  | { readonly kind: "fork_conversation"; readonly conversationId: string; readonly at?: number }
  | { readonly kind: "set_mode"; readonly mode: string; readonly conversationId?: string }
  | { readonly kind: "interrupt"; readonly conversationId?: string }
  | { readonly kind: "respond"; readonly requestId: string; readonly answer: Answer; readonly conversationId?: string }
  | {
      readonly kind: "subscribe";
      readonly conversationId: string;
      readonly cursor?: string;
      readonly children: boolean;
    }
  | { readonly kind: "unsubscribe"; readonly subscription: StdioId };

/** `id` is echoed on every line about the request, also when the rest of it is wrong. */
export type ParsedRequest = { readonly id?: StdioId } & (
  | { readonly request: StdioRequest }
  | { readonly error: CapstanError }
);

export const STDIO_KINDS = [
  "hello",
  "user_message",
  "steer",
  "new_conversation",
  "clear_history",
  "list_conversations",
  "load_conversation",
  "delete_conversation",
  "rename_conversation",
  "fork_conversation",
  "set_mode",
  "interrupt",
  "respond",
  "list_requests",
  "subscribe",
  "unsubscribe",
] as const;
type Kind = (typeof STDIO_KINDS)[number];

const LISTED = 50;
const MOST_LISTED = 1_000;
const MOST_IMAGES = 32;
const TITLE_CHARS = 1_000;

/** Never throws. */
export function parseStdioRequest(line: string): ParsedRequest {
  let id: StdioId | undefined;
  try {
    const members = parseObject(parseJson(line), "A request");
    id = idOf(members["id"]);
    return { ...(id !== undefined && { id }), request: requestOf(kindOf(members), members) };
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    return { ...(id !== undefined && { id }), error };
  }
}

function idOf(value: unknown): StdioId | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "string" && value.length <= WIRE_LIMITS.idChars) return value;
  throw invalid(`id must be a number or a text of at most ${WIRE_LIMITS.idChars} characters`);
}

function kindOf(members: Members): Kind {
  const kind = textMember(members, "kind") ?? "";
  const known = STDIO_KINDS.find((one) => one === kind);
  if (known !== undefined) return known;
  throw invalid(`There is no request kind ${JSON.stringify(kind)}; there are ${STDIO_KINDS.join(", ")}`);
}

function requestOf(kind: Kind, members: Members): StdioRequest {
  const conversation = optional("conversationId", textMember(members, "conversation_id"));
  switch (kind) {
    case "hello":
      return { kind, protocol: integer(members, "protocol", 1, 1_000) ?? 1 };
    case "user_message":
    case "steer":
      return { ...messageOf(kind, members), ...conversation };
    case "new_conversation":
      return newConversation(members);
    case "clear_history":
    case "list_requests":
      return { kind };
    case "list_conversations": {
      const limit = integer(members, "limit", 1, MOST_LISTED) ?? LISTED;
      return { kind, limit, ...optional("before", textMember(members, "before")) };
    }
    case "load_conversation": {
      const limit = integer(members, "limit", 1, MOST_LISTED) ?? MOST_LISTED;
      return { kind, limit, conversationId: required(members, "conversation_id") };
    }
    case "delete_conversation":
      return { kind, conversationId: required(members, "conversation_id") };
    case "rename_conversation":
      return {
        kind,
        conversationId: required(members, "conversation_id"),
        title: required(members, "title", TITLE_CHARS),
      };
    case "fork_conversation": {
      const at = optional("at", integer(members, "at", 1, Number.MAX_SAFE_INTEGER));
      return { kind, conversationId: required(members, "conversation_id"), ...at };
    }
    case "set_mode":
      return { kind, mode: required(members, "mode"), ...conversation };
    case "interrupt":
      return { kind, ...conversation };
    case "respond": {
      const answer = parseObject(members["answer"], "answer") as unknown as Answer; // core checks that it fits its request
      return { kind, requestId: required(members, "request_id"), answer, ...conversation };
    }
    case "subscribe":
      return {
        kind,
        conversationId: required(members, "conversation_id"),
        children: members["children"] === true,
        ...optional("cursor", textMember(members, "cursor")),
      };
    case "unsubscribe": {
      const subscription = idOf(members["subscription"]);
      if (subscription === undefined) throw invalid("subscription must be the id of a subscribe request");
      return { kind, subscription };
    }
    default:
      return kind satisfies never;
  }
}

function newConversation(members: Members): StdioRequest {
  return {
    kind: "new_conversation",
    ...optional("agent", textMember(members, "agent")),
    ...optional("title", textMember(members, "title", TITLE_CHARS)),
    ...optional("workspace", textMember(members, "workspace", 4_096)),
  };
}

type UserMessage = Extract<StdioRequest, { kind: "user_message" }>;
const IF_BUSY: readonly IfBusy[] = ["queue", "steer", "interrupt", "reject"];

function messageOf(kind: "user_message" | "steer", members: Members): UserMessage {
  const busy = textMember(members, "if_busy") ?? (kind === "steer" ? "steer" : "queue");
  const ifBusy = IF_BUSY.find((one) => one === busy);
  if (ifBusy === undefined) throw invalid(`if_busy must be ${IF_BUSY.join(", ")}`);
  const message = members["message"] ?? "";
  if (typeof message !== "string") throw invalid("message must be a text");
  if (message.length > LIMITS.inputBytes) throw new CapstanError("input-too-large", "The message is too long");
  return {
    kind: "user_message",
    message,
    images: imagesOf(members["images"]),
    ifBusy,
    ...optional("agent", textMember(members, "agent")),
    ...optional("idempotencyKey", textMember(members, "idempotency_key")),
  };
}

/** A list, or the JSON text of one: `[{ data, mime_type, name? }]`, with the bytes in base64. */
function imagesOf(value: unknown): readonly FilePart[] {
  if (value === undefined || value === null) return [];
  const list = typeof value === "string" ? parseJson(value) : value;
  if (!Array.isArray(list) || list.length > MOST_IMAGES)
    throw invalid(`images must be a list of at most ${MOST_IMAGES}, or the JSON text of one`);
  return list.map((item: unknown): FilePart => {
    const image = parseObject(item, "An image");
    const { data } = image;
    if (typeof data !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(data))
      throw invalid("An image's data must be base64");
    return {
      type: "file",
      mediaType: required(image, "mime_type"),
      data: { type: "base64", base64: data },
      ...optional("name", textMember(image, "name")),
    };
  });
}

function required(members: Members, name: string, maxChars?: number): string {
  const value = textMember(members, name, maxChars);
  if (value === undefined) throw invalid(`${name} is missing`);
  return value;
}

function integer(members: Members, name: string, least: number, most: number): number | undefined {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw invalid(`${name} must be a whole number from ${least} to ${most}`);
}

function optional<Name extends string, T>(name: Name, value: T | undefined): { readonly [N in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: T }; // of this name only
}

function invalid(message: string): CapstanError {
  return new CapstanError("input-invalid", message);
}
