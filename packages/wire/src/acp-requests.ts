/** Capstan's open questions as ACP asks them, and what an editor answers, as answers. What is not understood is a refusal. */

import type { Answer, Json, OpenRequest, RememberScope, RequestBody } from "@capstan/core";
import { ACP_WIRE_LIMITS as LIMITS, within } from "./acp-limits.ts";
import type { AcpPermissionOption, AcpToolCallUpdate } from "./acp-wire.ts";

/** A choice between options: `session/request_permission`. */
export type AcpChoice = { readonly toolCall: AcpToolCallUpdate; readonly options: readonly AcpPermissionOption[] };
/** Choices to be made one after the other. */
export type AcpChoices = {
  readonly choices: readonly AcpChoice[];
  /** The options that were chosen, in the order of the choices; `undefined` for every other outcome. */
  readonly answer: (optionIds: readonly (string | undefined)[]) => Answer;
};
/** A form or a page: `elicitation/create`, without the session. */
export type AcpElicitation = {
  readonly request:
    | { readonly mode: "form"; readonly message: string; readonly requestedSchema: Json }
    | { readonly mode: "url"; readonly message: string; readonly elicitationId: string; readonly url: string };
  /** `content`: of an accepted one; `undefined` for every other outcome. */
  readonly answer: (content: Json | undefined) => Answer;
};
export type AcpElicitationModes = { readonly form: boolean; readonly url: boolean };
export type AcpAsked =
  | ({ readonly type: "choices" } & AcpChoices)
  | { readonly type: "elicitation"; readonly elicitation: AcpElicitation }
  /** This client cannot be asked: `answer` says no where that is an answer; without one the question stays open for another door. */
  | { readonly type: "none"; readonly answer?: Answer };

const SCOPES: { readonly [Scope in RememberScope]: string } = {
  session: "Allow for this session",
  agent: "Always allow for this agent",
  global: "Always allow",
};

/** How this client is asked. */
export function askInAcp({ requestId, body }: OpenRequest, modes: AcpElicitationModes): AcpAsked {
  switch (body.type) {
    case "permission":
      return permissionChoice(body);
    case "plan":
      return planChoice(body);
    case "doubt":
      return doubtChoice(body);
    case "question":
      return modes.form ? questionForm(body) : questionChoices(requestId, body);
    case "form":
      return formOf(requestId, body, modes);
    case "client-tool":
      return { type: "none" };
    default:
      return body satisfies never;
  }
}

type Body<Type extends RequestBody["type"]> = Extract<RequestBody, { readonly type: Type }>;
const REJECT: AcpPermissionOption = { optionId: "reject", name: "Reject", kind: "reject_once" };

function permissionChoice({ callId, title, reason, input, remember }: Body<"permission">): AcpAsked {
  const always = remember.map((scope): AcpPermissionOption => {
    return { optionId: `allow-${scope}`, name: SCOPES[scope], kind: "allow_always" };
  });
  const toolCall: AcpToolCallUpdate = {
    toolCallId: callId,
    title: title.slice(0, LIMITS.titleCharacters).toWellFormed(),
    status: "pending",
    rawInput: input,
    ...(reason !== undefined && { content: [textContent(reason)] }),
  };
  return {
    type: "choices",
    choices: [
      { toolCall, options: [{ optionId: "allow", name: "Allow once", kind: "allow_once" }, ...always, REJECT] },
    ],
    answer([optionId]) {
      if (optionId === "allow") return { type: "permission", allow: true };
      const scope = remember.find((one) => optionId === `allow-${one}`);
      if (scope !== undefined) return { type: "permission", allow: true, remember: scope };
      return { type: "permission", allow: false, reason: "the user refused" };
    },
  };
}

function planChoice({ callId, markdown }: Body<"plan">): AcpAsked {
  const toolCall: AcpToolCallUpdate = {
    toolCallId: callId,
    title: "Go on with this plan?",
    kind: "switch_mode",
    status: "pending",
    content: [textContent(markdown)],
  };
  const options: readonly AcpPermissionOption[] = [
    { optionId: "allow", name: "Go on", kind: "allow_once" },
    { ...REJECT, name: "Keep planning" },
  ];
  return {
    type: "choices",
    choices: [{ toolCall, options }],
    answer: ([optionId]) =>
      optionId === "allow"
        ? { type: "plan", allow: true }
        : { type: "plan", allow: false, reason: "the user did not agree to the plan" },
  };
}

function doubtChoice({ callId, tool, input }: Body<"doubt">): AcpAsked {
  const outcomes = { "run-again": "It did not happen: run it again", "it-happened": "It happened" } as const;
  const text = `${tool} had begun when the process was lost. Whether it happened is not known. Look before you answer.`;
  const choice: AcpChoice = {
    toolCall: {
      toolCallId: callId,
      title: `Did ${tool} happen?`,
      status: "pending",
      rawInput: input,
      content: [textContent(text)],
    },
    options: [
      ...Object.entries(outcomes).map(([optionId, name]): AcpPermissionOption => {
        return { optionId, name, kind: "allow_once" };
      }),
      { optionId: "skip", name: "Leave it", kind: "reject_once" },
    ],
  };
  return {
    type: "choices",
    choices: [choice],
    answer([optionId]) {
      const outcome = optionId === "run-again" || optionId === "it-happened" ? optionId : "skip";
      return { type: "doubt", outcome };
    },
  };
}

function questionForm({ questions }: Body<"question">): AcpAsked {
  const properties = Object.fromEntries(
    questions.map(({ header, question, multiSelect, options }): [string, Json] => {
      const oneOf = options.map(({ label, description }) => ({ const: label, title: label, description }));
      const about = { title: header, description: question };
      if (multiSelect) return [header, { ...about, type: "array", items: { anyOf: oneOf } }];
      return [header, { ...about, type: "string", oneOf }];
    }),
  );
  const message = questions.map(({ question }) => question).join("\n");
  return {
    type: "elicitation",
    elicitation: {
      request: { mode: "form", message, requestedSchema: { type: "object", properties } },
      answer(content) {
        const given = membersOf(content);
        const answers = questions.flatMap(({ header, multiSelect }): [string, string | string[]][] => {
          const value = given[header];
          if (typeof value === "string" && value !== "") return [[header, multiSelect ? [value] : value]];
          if (!multiSelect || !Array.isArray(value)) return [];
          return [[header, value.filter((item) => typeof item === "string")]];
        });
        return { type: "question", answers: Object.fromEntries(answers) };
      },
    },
  };
}

/** Without forms each question is a choice; where several may be chosen, one of them. */
function questionChoices(requestId: string, { questions, callId }: Body<"question">): AcpAsked {
  return {
    type: "choices",
    choices: questions.map(({ question, options }, index) => {
      const described = options.map(({ label, description }) => `- ${label}: ${description}`).join("\n");
      return {
        toolCall: {
          toolCallId: `${callId ?? requestId}/question/${index}`,
          title: question.slice(0, LIMITS.titleCharacters).toWellFormed(),
          kind: "other",
          status: "pending",
          content: [textContent(`${question}\n${described}`)],
        },
        options: [
          ...options.map(({ label }, at): AcpPermissionOption => {
            return { optionId: `option-${at}`, name: label, kind: "allow_once" };
          }),
          { ...REJECT, name: "No answer" },
        ],
      };
    }),
    answer(optionIds) {
      const answers = questions.flatMap(({ header, multiSelect, options }, index): [string, string | string[]][] => {
        const chosen = options.find((_option, at) => optionIds[index] === `option-${at}`);
        if (chosen === undefined) return [];
        return [[header, multiSelect ? [chosen.label] : chosen.label]];
      });
      return { type: "question", answers: Object.fromEntries(answers) };
    },
  };
}

function formOf(requestId: string, { message, schema, url }: Body<"form">, modes: AcpElicitationModes): AcpAsked {
  const answer = (content: Json | undefined): Answer =>
    content === undefined ? { type: "form", decline: true } : { type: "form", content };
  if (url !== undefined && modes.url)
    return {
      type: "elicitation",
      elicitation: { request: { mode: "url", message, elicitationId: requestId, url }, answer },
    };
  if (url === undefined && modes.form && isFlat(schema)) {
    const requestedSchema = schema ?? { type: "object", properties: {} };
    return { type: "elicitation", elicitation: { request: { mode: "form", message, requestedSchema }, answer } };
  }
  return { type: "none", answer: { type: "form", decline: true } };
}

/** Forms of ACP have plain values and lists of texts only. */
function isFlat(schema: Json | undefined): boolean {
  if (schema === undefined) return true;
  const { type, properties } = membersOf(schema);
  if (type !== "object") return false;
  return Object.values(membersOf(properties)).every((property) => {
    const { type: kind } = membersOf(property);
    return kind === "string" || kind === "number" || kind === "integer" || kind === "boolean" || kind === "array";
  });
}

function membersOf(value: Json | undefined): { readonly [name: string]: Json } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return value as { readonly [name: string]: Json }; // JSON that is neither a list nor a plain value
}

function textContent(text: string): NonNullable<AcpToolCallUpdate["content"]>[number] {
  return { type: "content", content: { type: "text", text: within(text, LIMITS.contentCharacters) } };
}
