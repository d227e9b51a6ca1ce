/** Requests of a run as elicitations of MCP, and their answers back. */

import type { Answer, Json, RequestBody } from "@capstan/core";

type Elicit =
  | { readonly message: string; readonly requestedSchema: Json }
  | { readonly message: string; readonly url: string };

/** Undefined for what no form of MCP can ask. */
export function elicitOf(body: RequestBody): Elicit | undefined {
  switch (body.type) {
    case "permission":
      return yesOrNo(`Allow ${body.title}?${body.reason === undefined ? "" : ` (${body.reason})`}`);
    case "plan":
      return yesOrNo(`Go on with this plan?\n\n${body.markdown}`);
    case "question":
      return {
        message: body.questions.map(({ question }) => question).join("\n"),
        requestedSchema: {
          type: "object",
          properties: Object.fromEntries(body.questions.map((question) => [question.header, questionSchema(question)])),
        },
      };
    case "form":
      if (body.url !== undefined) return { message: body.message, url: body.url };
      return isFlat(body.schema) ? { message: body.message, requestedSchema: body.schema } : undefined;
    case "doubt":
      return {
        message: `A crash left open whether ${body.tool} happened. What is to be done?`,
        requestedSchema: {
          type: "object",
          properties: { outcome: { type: "string", enum: ["run-again", "it-happened", "skip"] } },
          required: ["outcome"],
        },
      };
    case "client-tool":
      return undefined;
    default:
      return body satisfies never;
  }
}

/** What a client sent for this request; undefined when it is no answer. Nothing but a whole yes is consent: core checks the rest. */
export function answerOf(body: RequestBody, given: unknown): Answer | undefined {
  if (typeof given !== "object" || given === null || !("action" in given)) return undefined;
  const accepted = given.action === "accept";
  const content = (
    "content" in given && typeof given.content === "object" && given.content !== null ? given.content : {}
  ) as { readonly [name: string]: Json };
  switch (body.type) {
    case "permission":
    case "plan":
      return { type: body.type, allow: accepted && content["allow"] === true };
    case "question":
      return { type: "question", answers: accepted ? (content as { readonly [header: string]: string }) : {} };
    case "form":
      return accepted ? { type: "form", content } : { type: "form", decline: true };
    case "doubt": {
      const { outcome } = content;
      if (!accepted || (outcome !== "run-again" && outcome !== "it-happened" && outcome !== "skip")) return undefined;
      return { type: "doubt", outcome };
    }
    case "client-tool":
      return undefined;
    default:
      return body satisfies never;
  }
}

function yesOrNo(message: string): Elicit {
  return {
    message,
    requestedSchema: { type: "object", properties: { allow: { type: "boolean" } }, required: ["allow"] },
  };
}

type Question = Extract<RequestBody, { readonly type: "question" }>["questions"][number];

function questionSchema({ question, multiSelect, options }: Question): Json {
  const labels = options.map(({ label }) => label);
  const choice = { type: "string", enum: labels };
  return multiSelect ? { type: "array", title: question, items: choice } : { ...choice, title: question };
}

function isFlat(schema: Json | undefined): schema is Json {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return false;
  const { properties } = schema as { readonly properties?: Json };
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return false;
  return Object.values(properties as { readonly [name: string]: Json }).every((one) => {
    const type = typeof one === "object" && one !== null && "type" in one ? one.type : undefined;
    return type === "string" || type === "number" || type === "integer" || type === "boolean";
  });
}
