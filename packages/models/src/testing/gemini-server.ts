/** A scripted Gemini server on the loopback: refuses what the API refuses, and breaks when told to. */

import { signedPart } from "./check-gemini-contents.ts";
import { checkGeminiRequest } from "./check-gemini-request.ts";
import {
  geminiBytes,
  type GeminiChunk,
  type GeminiReplyPart,
  type GeminiUsage,
  replyChunks,
  wireParts,
} from "./gemini-replies.ts";
import {
  type Delivery,
  type PlainReply,
  type RecordedRequest,
  type Script,
  type ScriptedProvider,
  type ScriptedServer,
  scriptedServer,
} from "./scripted-server.ts";

type GeminiStream = {
  readonly parts: readonly GeminiReplyPart[];
  /** Default `STOP`, as the API says it for calls too. */
  readonly finishReason?: string;
  /** Further members of the last candidate. */
  readonly candidate?: { readonly [name: string]: unknown };
  readonly usage?: GeminiUsage;
  /** Changes the chunks of the answer before they are sent. */
  readonly edit?: (chunks: readonly GeminiChunk[]) => readonly (GeminiChunk | string)[];
};
export type GeminiReply = (GeminiStream & { readonly delivery?: Delivery }) | PlainReply;
export type GeminiScript = Script<GeminiReply>;
export type GeminiServer = ScriptedServer;

const PATH = /^\/v1(?:beta|alpha)?\/models\/([\w.-]+):streamGenerateContent\?alt=sse$/;
const USAGE: GeminiUsage = { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 };

/** Listens on a free port of 127.0.0.1. The caller closes it. */
export function geminiServer(script: GeminiScript): Promise<GeminiServer> {
  return scriptedServer(geminiApi(script));
}

/** The API itself, to be served or to stand behind a transport. */
export function geminiApi(script: GeminiScript): ScriptedProvider<GeminiStream, RecordedRequest> {
  /** Parts by the signature they were given. */
  const issued = new Map<string, string>();
  return {
    script,
    check: ({ path, headers, body }) => [
      ...checkGeminiRequest(headers, body, {
        model: PATH.exec(path)?.[1] ?? "",
        isIssued: (signature, part) => issued.get(signature) === JSON.stringify(part),
      }),
      ...(PATH.test(path) ? [] : [`${path}: no such path`]),
    ],
    record: (request) => request,
    stream(reply, request, index) {
      for (const part of wireParts(reply.parts)) {
        const { thoughtSignature, ...rest } = part;
        if (typeof thoughtSignature === "string") issued.set(thoughtSignature, JSON.stringify(signedPart(rest)));
      }
      const head = { id: `resp_${index}`, model: PATH.exec(request.path)?.[1] ?? "", usage: reply.usage ?? USAGE };
      const chunks = replyChunks(head, reply.parts, { finishReason: reply.finishReason ?? "STOP", ...reply.candidate });
      return geminiBytes(reply.edit?.(chunks) ?? chunks);
    },
    error: (status, message) => geminiError(status, message),
  };
}

/** The body of an error as the API sends it. */
export function geminiError(code: number, message: string, details?: readonly object[]): object {
  const status = STATUSES[code] ?? "INTERNAL";
  return { error: { code, message, status, ...(details !== undefined && { details }) } };
}

const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
