/** `UIMessage`s of the AI SDK (protocols.md section 4.2): read into our messages. Pure. */

import { type Json, type Part, text, textOutput, type ToolOutput } from "@capstan/core";
import { isObject, type JsonObject, listOf, memberOf, stringOf } from "../provider/json.ts";
import { isMetadata, isUiExtra } from "./ai-extras.ts";
import { jsonOutput } from "./ai-tool-output.ts";
import { type Draft, type Note, resultOf, roleOf } from "./draft.ts";
import { readFile } from "./files.ts";
import { readOwnOutput } from "./own.ts";
import { bytesMember } from "./plain-json.ts";

/** Names the seals of parts that only this format can say. */
export const UI_FORMAT = "ai-sdk-ui";

type Step = { readonly role: Draft["role"]; readonly parts: Part[]; readonly results: Part[]; readonly id?: string };

/** Each step of the assistant becomes a message, followed by one of its results. */
export function readAiUi(message: JsonObject, note: Note): readonly Omit<Draft, "at">[] {
  const { id, parts } = message;
  const role = roleOf(message["role"], note);
  if (role === undefined) return [];
  const steps: Step[] = [];
  const begin = (as: Draft["role"], own?: string): Step => {
    const count = steps.filter((step) => step.role === role).length;
    const named = typeof id === "string" ? (count === 0 ? id : `${id}/${count + 1}`) : undefined;
    const stepId = own ?? named;
    const step: Step = { role: as, parts: [], results: [], ...(stepId !== undefined && { id: stepId }) };
    steps.push(step);
    return step;
  };
  let step = begin(role);
  for (const part of listOf(parts)) {
    const type = memberOf(part, "type");
    if (type === "step-start") {
      if (step.parts.length > 0) step = begin(role);
    } else if (type === "steering-message") {
      const said = begin("user", stringOf(memberOf(part, "id")) || undefined);
      for (const inner of listOf(memberOf(part, "parts"))) readPart(inner, said, note);
      step = begin(role);
    } else readPart(part, step, note);
  }
  return steps.flatMap(({ results, ...draft }, index) => {
    if (draft.parts.length === 0 && index > 0) return [];
    return results.length === 0 ? [draft] : [draft, { role: "user" as const, parts: results }];
  });
}

function readPart(part: Json, step: Step, note: Note): void {
  const type = stringOf(memberOf(part, "type"));
  if (!isObject(part)) return note("part-unknown", "a part that is no object");
  if (isUiExtra(part)) return void step.parts.push(opaque(part));
  if (type === "dynamic-tool" || type.startsWith("tool-")) return readTool(part, step, note);
  const { text: said, providerMetadata: metadata } = part;
  switch (type) {
    case "text":
      return void step.parts.push(text(stringOf(said)));
    case "reasoning": {
      const seal =
        metadata !== undefined && isMetadata(metadata) ? { seal: { provider: UI_FORMAT, data: metadata } } : {};
      return void step.parts.push({ type, text: stringOf(said), ...seal });
    }
    case "file": {
      const { url, mediaType, filename } = part;
      const file = { ...bytesMember(url), mediaType: stringOf(mediaType), name: stringOf(filename) };
      return void step.parts.push(readFile(file, note));
    }
    case "source-url":
    case "source-document": {
      const { sourceId, url, title } = part;
      const link = { ...(typeof url === "string" && { url }), ...(typeof title === "string" && { title }) };
      return void step.parts.push({ type: "source", id: stringOf(sourceId), ...link });
    }
    default:
      return note("part-unknown", `a part of type ${type || "none"}`);
  }
}

function opaque(part: Json): Part {
  return { type: "opaque", seal: { provider: UI_FORMAT, data: part } };
}

function readTool(part: JsonObject, step: Step, note: Note): void {
  const { type, toolCallId, toolName, state } = part;
  if (part["providerExecuted"] === true)
    return note("part-unknown", "a call of the provider's own that never came to its end");
  if (state === "input-streaming") return note("part-unknown", "a call whose input never came to its end");
  const callId = stringOf(toolCallId);
  const name = type === "dynamic-tool" ? stringOf(toolName) : stringOf(type).slice("tool-".length);
  const input = part["input"] ?? part["rawInput"] ?? {};
  step.parts.push({ type: "tool-call", callId, name, input, by: "capstan" });
  const output = outputOf(part);
  if (output !== undefined) step.results.push(resultOf(callId, output, name));
}

/** Undefined while nothing has come of the call. */
function outputOf(part: JsonObject): ToolOutput | undefined {
  const { state, output = null, errorText, approval } = part;
  const reason = stringOf(memberOf(approval, "reason"));
  const denied = textOutput(reason === "" ? "The call was denied." : `The call was denied: ${reason}`, {
    isError: true,
  });
  if (state === "output-error") return textOutput(stringOf(errorText), { isError: true });
  if (state === "output-denied" || memberOf(approval, "approved") === false) return denied;
  if (state !== "output-available" || part["preliminary"] === true) return undefined;
  if (typeof output === "string") return textOutput(output);
  return isOwnOutput(output) ? readOwnOutput(output) : jsonOutput(output);
}

/** What `writeAiUi` puts there for an output that is more than a text or a value. */
function isOwnOutput(output: Json): boolean {
  const content = memberOf(output, "content");
  return (
    Array.isArray(content) &&
    listOf(content).some((item) => memberOf(item, "type") === "file" && isObject(memberOf(item, "data")))
  );
}
