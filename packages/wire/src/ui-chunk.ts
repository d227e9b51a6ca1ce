/** The AI SDK's UI message stream (`ai` 7): its chunks as types, its headers and its framing. */

export type UiFinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";
export type UiFile = {
  readonly type: "file";
  readonly mediaType: string;
  readonly url: string;
  readonly filename?: string;
};

/** What Capstan sends of the chunks that `ai` 7 knows. An unknown `type` ends a client's stream: additions are `data-*` only. */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: unknown }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "finish"; readonly finishReason: UiFinishReason; readonly messageMetadata?: unknown }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-start";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly title?: string;
      readonly dynamic: true;
      readonly providerExecuted?: boolean;
    }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly title?: string;
      readonly input: unknown;
      readonly dynamic: true;
      readonly providerExecuted?: boolean;
    }
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly approvalDescriptor?: unknown;
      readonly reason?: string;
    }
  | {
      readonly type: "tool-approval-response";
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | {
      readonly type: "tool-output-available";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly dynamic: true;
      readonly preliminary?: boolean;
    }
  | {
      readonly type: "tool-output-error";
      readonly toolCallId: string;
      readonly errorText: string;
      readonly dynamic: true;
    }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | { readonly type: "file"; readonly mediaType: string; readonly url: string }
  | {
      readonly type: "steering-message";
      readonly id: string;
      readonly parts: readonly ({ readonly type: "text"; readonly text: string } | UiFile)[];
    }
  | { readonly type: `data-${string}`; readonly id?: string; readonly data: unknown; readonly transient?: boolean };

export const UI_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
};

/** One chunk as a server-sent event. */
export function uiFrame(chunk: UiChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** The frame behind the last chunk. */
export const UI_STREAM_END = "data: [DONE]\n\n";
