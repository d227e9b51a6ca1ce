/** What `useChat` posts (AI SDK 7): of the history that a client brings along only its newest words count, and its answers. */

import { type Answer, CapstanError, type Json, type Part } from "@capstan/core";
import { type Members, parseObject, textMember } from "./json-text.ts";

export type UiPost = {
  /** The chat's id: the key of its session. */
  readonly id: string;
  readonly trigger: "submit-message" | "regenerate-message";
  /** The message that is edited or made again. */
  readonly messageId?: string;
  readonly said?: UiSaid;
  /** Of the newest answer, by the id of the request or, for a client's tool, of the call. */
  readonly answers: readonly UiAnswer[];
  /** Calls that the client shows. */
  readonly knownCalls: readonly string[];
};
export type UiSaid = { readonly messageId: string; readonly parts: readonly Part[] };
export type UiAnswer =
  | { readonly type: "approval"; readonly requestId: string; readonly answer: Answer }
  | { readonly type: "output"; readonly callId: string; readonly answer: Answer };

const MOST_MESSAGES = 10_000;
const MOST_PARTS = 10_000;

/** Throws `input-invalid`. */
export function parseUiPost(body: unknown): UiPost {
  const members = parseObject(body, "The body");
  const id = textMember(members, "id");
  if (id === undefined) throw invalid("id is missing: the id of the chat");
  const trigger = textMember(members, "trigger") ?? "submit-message";
  if (trigger !== "submit-message" && trigger !== "regenerate-message")
    throw invalid("trigger must be submit-message or regenerate-message");
  const messageId = textMember(members, "messageId");
  const { messages } = members;
  if (!Array.isArray(messages) || messages.length > MOST_MESSAGES)
    throw invalid(`messages must be a list of at most ${MOST_MESSAGES}`);
  const last = messages.length === 0 ? undefined : parseObject(messages.at(-1), "A message");
  const parts = last === undefined ? [] : partsOf(last);
  const isUser = last?.["role"] === "user";
  return {
    id,
    trigger,
    ...(messageId !== undefined && { messageId }),
    ...(isUser && { said: { messageId: textMember(last, "id") ?? "", parts: parts.map(toPart) } }),
    answers: isUser ? [] : parts.flatMap(answerOf),
    knownCalls: isUser ? [] : parts.flatMap((part) => textMember(part, "toolCallId") ?? []),
  };
}

function partsOf({ parts }: Members): readonly Members[] {
  if (!Array.isArray(parts) || parts.length > MOST_PARTS) throw invalid("The newest message has no list of parts");
  return parts.map((part: unknown) => parseObject(part, "A part"));
}

/** What a person may say: texts and files. */
function toPart(part: Members): Part {
  if (part["type"] === "text" && typeof part["text"] === "string") return { type: "text", text: part["text"] };
  if (part["type"] !== "file") throw invalid(`A user's message cannot have a part ${JSON.stringify(part["type"])}`);
  const url = typeof part["url"] === "string" ? part["url"] : "";
  const mediaType = textMember(part, "mediaType") ?? "application/octet-stream";
  const filename = textMember(part, "filename", 1_000);
  const named = filename === undefined ? {} : { name: filename };
  const inline = /^data:[^,]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(url);
  if (inline?.[1] !== undefined)
    return { type: "file", mediaType, data: { type: "base64", base64: inline[1] }, ...named };
  if (!/^https?:\/\//i.test(url)) throw invalid("A file needs a base64 data: URL or an http(s) address");
  return { type: "file", mediaType, data: { type: "url", url }, ...named };
}

function answerOf(part: Members): readonly UiAnswer[] {
  const state = part["state"];
  const callId = textMember(part, "toolCallId");
  if (callId === undefined) return [];
  if (state === "approval-responded") {
    const approval = parseObject(part["approval"], "An approval");
    const requestId = textMember(approval, "id");
    const reason = textMember(approval, "reason", 65_536);
    if (requestId === undefined || typeof approval["approved"] !== "boolean") throw invalid("An approval is not whole");
    const answer: Answer = { type: "permission", allow: approval["approved"], ...(reason !== undefined && { reason }) };
    return [{ type: "approval", requestId, answer }];
  }
  if (state === "output-available" && part["preliminary"] !== true)
    return [{ type: "output", callId, answer: clientOutput(part["output"], false) }];
  if (state === "output-error") return [{ type: "output", callId, answer: clientOutput(part["errorText"], true) }];
  return [];
}

function clientOutput(value: unknown, isError: boolean): Answer {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return {
    type: "client-tool",
    output: {
      content: [{ type: "text", text }],
      ...(typeof value !== "string" && value !== undefined && { output: value as Json }), // it came as JSON
      ...(isError && { isError }),
    },
  };
}

function invalid(message: string): CapstanError {
  return new CapstanError("input-invalid", message);
}
