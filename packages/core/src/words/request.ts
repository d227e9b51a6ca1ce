/** Questions to people and their answers: permission, question, form, plan, client tool, doubt. */

import { jsonIssues } from "./check-json.ts";
import { CapstanError } from "./errors.ts";
import type { Limits } from "./event.ts";
import type { Json } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { ToolOutput } from "./message.ts";
import { isOutput, membersOf } from "./output-shape.ts";

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
} & Approved;

/** Of what lets something happen. */
type Approved = {
  /** Ids of the actors who may answer; everybody who reaches the session when there are none. */
  readonly approvers?: readonly string[];
};

export type RequestBody =
  | PermissionRequest
  | {
      readonly type: "question";
      readonly callId?: string;
      readonly questions: readonly QuestionItem[];
      /** Added to the limits of the run when the first option of the first question is chosen. */
      readonly budget?: Limits;
    }
  | {
      readonly type: "form";
      readonly callId?: string;
      readonly origin: string;
      readonly message: string;
      readonly schema?: Json;
      readonly url?: string;
    }
  | ({ readonly type: "plan"; readonly callId: string; readonly markdown: string } & Approved)
  | { readonly type: "client-tool"; readonly callId: string; readonly tool: string; readonly input: Json }
  | ({
      readonly type: "doubt";
      readonly callId: string;
      readonly tool: string;
      readonly input: Json;
      readonly startedAt: number;
    } & Approved);

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

/** The answers that a request of this type takes. */
export type AnswerTo<Type extends RequestBody["type"], Of = Answer> = Of extends { readonly type: infer Types }
  ? Type extends Types
    ? Of
    : never
  : never;

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
      return answersFit(request.questions, membersOf(answer["answers"]));
    case "form":
      return formFits(request.schema, answer);
    case "client-tool":
      return isOutput(answer["output"]);
    case "doubt":
      return OUTCOMES.includes(answer["outcome"]);
    default:
      return request satisfies never;
  }
}

/** Whether this actor's word counts. */
export function mayAnswer(request: RequestBody, actor: Pick<Actor, "id">): boolean {
  const approvers = "approvers" in request ? request.approvers : undefined;
  return approvers === undefined || approvers.includes(actor.id);
}

/** What an answer grants: the budget of a question that was answered with its first option. */
export function grantedBudget(request: RequestBody, answer: Answer): Limits | undefined {
  if (request.type !== "question" || answer.type !== "question") return undefined;
  const [first] = request.questions;
  return first !== undefined && answer.answers[first.header] === first.options[0]?.label ? request.budget : undefined;
}

/** Throws `request-invalid` for questions that no person could be shown: see `QuestionItem` for the bounds. */
export function checkQuestions(questions: readonly QuestionItem[]): void {
  const problem = questionProblem(questions);
  if (problem !== undefined) throw new CapstanError("request-invalid", `Questions: ${problem}`);
}

function questionProblem(questions: readonly QuestionItem[]): string | undefined {
  if (questions.length < 1 || questions.length > LIMITS.questions) return `ask 1 to ${LIMITS.questions} at a time`;
  const headers = questions.map(({ header }) => header);
  if (new Set(headers).size < headers.length) return "each needs a header of its own";
  for (const { header, question, options } of questions) {
    const shown = JSON.stringify(header);
    if (header.trim() === "" || header.length > LIMITS.questionHeader)
      return `the header ${shown} must have 1 to ${LIMITS.questionHeader} characters`;
    if (question.trim() === "") return `${shown} asks nothing`;
    if (options.length < 2 || options.length > LIMITS.questionOptions)
      return `${shown} needs 2 to ${LIMITS.questionOptions} options`;
    if (new Set(options.map(({ label }) => label)).size < options.length) return `${shown} has an option twice`;
  }
  return undefined;
}

/** Every header is one that was asked; one text, or several where several may be chosen. "Other" is any text. */
function answersFit(questions: readonly QuestionItem[], answers: Members | undefined): boolean {
  if (answers === undefined) return false;
  return Object.entries(answers).every(([header, value]) => {
    const asked = questions.find((question) => question.header === header);
    return asked !== undefined && (asked.multiSelect ? isTextOrTexts(value) : typeof value === "string");
  });
}

function formFits(schema: Json | undefined, { decline, content }: Members): boolean {
  if (decline === true) return content === undefined;
  if (decline !== undefined && decline !== false) return false;
  return schema === undefined || jsonIssues(schema, (content ?? null) as Json).length === 0; // answers are JSON
}

type Members = { readonly [name: string]: unknown };

function isVerdict({ allow, reason }: Members): boolean {
  return typeof allow === "boolean" && (reason === undefined || typeof reason === "string");
}

function isTextOrTexts(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}
