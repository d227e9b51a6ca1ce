/** Puts what a server asks to the people of the run, as a `form` request. */

import { type FlowContext, type Json, jsonSchema } from "@capstan/core";
import type { Elicitation, ElicitationAnswer } from "../connect/answer-requests.ts";
import { readSchema, withSafePatterns } from "./remote-schema.ts";
import { visibleText } from "../visible-text.ts";

/** Characters of a server's question that people are shown. */
const MAX_MESSAGE = 4_000;

/** `name` is unique in the flow. Where nobody can be asked, the answer is a decline. */
export async function askForm(
  context: Pick<FlowContext, "form">,
  name: string,
  server: string,
  { message, schema, url, unusable }: Elicitation,
): Promise<ElicitationAnswer> {
  if (unusable === true) return { action: "cancel" };
  const shown = `${server} asks: ${visibleText(message.slice(0, MAX_MESSAGE))}`;
  if (url !== undefined) {
    const { decline } = await context.form(name, { message: shown, url });
    return { action: decline === true ? "decline" : "accept" };
  }
  const read = readSchema(schema ?? { type: "object" });
  if (read.problem !== undefined) return { action: "cancel" };
  const { decline, content } = await context.form(name, {
    message: shown,
    schema: jsonSchema(withSafePatterns(read.schema)),
  });
  if (decline === true) return { action: "decline" };
  const members = typeof content === "object" && content !== null && !Array.isArray(content) ? content : {};
  return {
    action: "accept",
    content: { ...defaultsOf(read.schema), ...(members as { readonly [name: string]: Json }) },
  };
}

/** Values that the server gave for fields a person left out. */
function defaultsOf(schema: Json): { readonly [name: string]: Json } {
  const { properties } = schema as { readonly properties?: Json };
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return {};
  const entries = Object.entries(properties as { readonly [name: string]: Json }).flatMap(([name, one]) =>
    typeof one === "object" && one !== null && "default" in one ? [[name, one.default as Json] as const] : [],
  );
  return Object.fromEntries(entries);
}
