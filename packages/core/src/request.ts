/** Questions to people and their answers: permission, question, form, plan, client tool, doubt. */

import type { Json } from "./json.ts";
import type { ToolOutput } from "./message.ts";

/** Who asked for something. Set by the door, never by the caller. */
export type Actor = { readonly id: string; readonly door: string; readonly tenant?: string };

export type QuestionItem = {
  /** At most 12 characters. */
  readonly header: string;
  readonly question: string;
  readonly multiSelect: boolean;
  /** 2 to 4; "Other" is always possible. */
  readonly options: readonly { readonly label: string; readonly description: string }[];
};

export type RememberScope = "session" | "agent" | "global";

export type PermissionRequest = {
  readonly type: "permission";
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly title: string;
  readonly reason?: string;
  /** What the answer is good for: exactly this input, this definition of the tool, this folder. */
  readonly binding: { readonly inputHash: string; readonly toolHash: string; readonly cwd?: string };
  /** What may be offered as "always". */
  readonly remember: readonly RememberScope[];
};

export type RequestBody =
  | PermissionRequest
  | { readonly type: "question"; readonly callId?: string; readonly questions: readonly QuestionItem[] }
  | {
      readonly type: "form";
      readonly callId?: string;
      readonly origin: string;
      readonly message: string;
      readonly schema?: Json;
      readonly url?: string;
    }
  | { readonly type: "plan"; readonly callId: string; readonly markdown: string }
  | { readonly type: "client-tool"; readonly callId: string; readonly tool: string; readonly input: Json }
  | {
      readonly type: "doubt";
      readonly callId: string;
      readonly tool: string;
      readonly input: Json;
      readonly startedAt: number;
    };

export type OpenRequest = {
  readonly requestId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly body: RequestBody;
  readonly openedAt: number;
  readonly expiresAt: number;
};

export type Answer =
  | {
      readonly type: "permission" | "plan";
      readonly allow: boolean;
      readonly input?: Json;
      readonly reason?: string;
      readonly remember?: RememberScope;
    }
  | { readonly type: "question"; readonly answers: { readonly [header: string]: string | readonly string[] } }
  | { readonly type: "form"; readonly content?: Json; readonly decline?: boolean }
  | { readonly type: "client-tool"; readonly output: ToolOutput }
  | { readonly type: "doubt"; readonly outcome: "run-again" | "it-happened" | "skip" };
