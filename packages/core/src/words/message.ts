/** The content of a conversation: messages and their parts. The one message format; providers and doors convert at their edge. */

import type { Json } from "./json.ts";

/** Bytes: inline up to 32 KB, else a SHA-256 addressed blob of the store, or a URL the provider fetches. */
export type Bytes =
  | { readonly type: "base64"; readonly base64: string }
  | { readonly type: "blob"; readonly hash: string; readonly size: number }
  | { readonly type: "url"; readonly url: string };

/** Provider state that must go back verbatim (signature, encrypted reasoning). Never parsed, dropped for another provider. */
export type Seal = { readonly provider: string; readonly data: Json };

export type TextPart = { readonly type: "text"; readonly text: string };
export type ReasoningPart = { readonly type: "reasoning"; readonly text: string; readonly seal?: Seal };
export type FilePart = {
  readonly type: "file";
  readonly mediaType: string;
  readonly data: Bytes;
  readonly name?: string;
};
export type ToolCallPart = {
  readonly type: "tool-call";
  /** Ours: `<runId>/<turn>/<index>`; the provider's id lives in `seal`. What a `Model` puts here is replaced by the loop. */
  readonly callId: string;
  readonly name: string;
  /** Parsed arguments; the raw text as a string when the model's text was not JSON (the call is then refused). */
  readonly input: Json;
  readonly by: "capstan" | "provider" | "client";
  readonly seal?: Seal;
};
export type ToolResultPart = {
  readonly type: "tool-result";
  readonly callId: string;
  readonly name: string;
  readonly output: ToolOutput;
};
export type SourcePart = {
  readonly type: "source";
  readonly id: string;
  readonly url?: string;
  readonly title?: string;
};
export type OpaquePart = { readonly type: "opaque"; readonly seal: Seal };
export type Part = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart | SourcePart | OpaquePart;

export type DiffPart = {
  readonly type: "diff";
  readonly path: string;
  readonly before?: string;
  readonly after: string;
};

export type ToolOutput = {
  readonly content: readonly (TextPart | FilePart | DiffPart)[];
  /** Structured value, when the tool declares an output schema. */
  readonly output?: Json;
  readonly isError?: boolean;
  readonly truncated?: boolean;
  /** Information-flow labels, inherited by what is derived from it. */
  readonly labels?: readonly string[];
};

export type Message = {
  readonly id: string;
  readonly role: "user" | "assistant" | "system";
  readonly parts: readonly Part[];
  readonly labels?: readonly string[];
};

export type Usage = {
  /** Uncached input only: what was read from or written to a cache is counted beside it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly costMicroUsd?: number;
};

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

/** Sum of two usages; a member missing on both sides stays missing. */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
  };
  for (const name of ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "costMicroUsd"] as const) {
    if (left[name] !== undefined || right[name] !== undefined) sum[name] = (left[name] ?? 0) + (right[name] ?? 0);
  }
  return sum;
}

/** All tokens that count: read, written to and from a cache, and said. */
export function tokensOf({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}

export function text(value: string): TextPart {
  return { type: "text", text: value };
}

/** The text parts of a message or output, joined. */
export function textOf(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
}

/** A tool output of one text; `isError` tells the model that the call failed. */
export function textOutput(value: string, options?: { readonly isError?: boolean }): ToolOutput {
  return { content: [text(value)], ...(options?.isError === true && { isError: true }) };
}

/** What the model reads of a call that failed. */
export function errorOutput(value: string): ToolOutput {
  return { content: [text(value)], isError: true };
}
