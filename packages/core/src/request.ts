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

/** What each request takes, for people who write answers. */
export const ANSWERS: { readonly [Type in RequestBody["type"]]: string } = {
  permission: '{ type: "permission", allow: true | false, reason?, input?, remember? }',
  plan: '{ type: "plan", allow: true | false, reason? }',
  question: '{ type: "question", answers: { [header]: text or list of texts } }',
  form: '{ type: "form", content?, decline?: true }',
  "client-tool": '{ type: "client-tool", output: { content: [{ type: "text", text }], isError? } }',
  doubt: '{ type: "doubt", outcome: "run-again" | "it-happened" | "skip" }',
};

const OUTCOMES: readonly unknown[] = ["run-again", "it-happened", "skip"];

/** Whether a value from outside is a whole answer to this request. Nothing but `allow: true` is consent. */
export function fits(request: RequestBody, value: unknown): value is Answer {
  const answer = membersOf(value);
  if (answer === undefined || answer["type"] !== request.type) return false;
  switch (request.type) {
    case "permission":
      return (
        isVerdict(answer) &&
        (answer["remember"] === undefined || request.remember.some((scope) => scope === answer["remember"]))
      );
    case "plan":
      return isVerdict(answer);
    case "question":
      return Object.values(membersOf(answer["answers"]) ?? { none: 0 }).every(isTextOrTexts);
    case "form":
      return answer["decline"] === undefined || typeof answer["decline"] === "boolean";
    case "client-tool":
      return isOutput(answer["output"]);
    case "doubt":
      return OUTCOMES.includes(answer["outcome"]);
    default:
      return request satisfies never;
  }
}

type Members = { readonly [name: string]: unknown };

function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined; // any object has members
}

function isVerdict({ allow, reason }: Members): boolean {
  return typeof allow === "boolean" && (reason === undefined || typeof reason === "string");
}

function isTextOrTexts(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isOutput(value: unknown): boolean {
  const content = membersOf(value)?.["content"];
  return Array.isArray(content) && content.every((part) => isPart(membersOf(part)));
}

function isPart(part: Members | undefined): boolean {
  if (part === undefined) return false;
  if (part["type"] === "text") return typeof part["text"] === "string";
  if (part["type"] === "file") return typeof part["mediaType"] === "string" && membersOf(part["data"]) !== undefined;
  return part["type"] === "diff" && typeof part["path"] === "string" && typeof part["after"] === "string";
}
