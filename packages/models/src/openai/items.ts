/** Messages as input items of the Responses API (protocols.md section 2.1), as JSON text. Pure. */

import type { Json, Message, Part, ToolCallPart } from "@capstan/core";
import { inputOf, ownSeal } from "../provider/call.ts";
import type { EncodeContext } from "../provider/encoded-messages.ts";
import { FILE_GAPS, fileMarker } from "../provider/files.ts";
import { isObject, memberOf, stringOf } from "../provider/json.ts";
import { isBlank, wireJson } from "../wire-text.ts";
import { callOutput, type Content, type ContentOptions, inputContent, inputText, OPENAI } from "./content.ts";

export type ItemOptions = Omit<ContentOptions, "blobs"> & {
  /** Reasoning of another family, and what came with it, is not sent: the API cannot read it. */
  readonly family: string;
};

/** The items of one message, joined by commas. */
export function messageItems(message: Message, context: EncodeContext, options: ItemOptions): string {
  if (message.role === "assistant") return assistantItems(message.parts, context, options.family).join(",");
  if (message.role === "system") return systemItem(message.parts);
  return userItems(message.parts, context, { ...options, blobs: context.blobs }).join(",");
}

function systemItem(parts: readonly Part[]): string {
  const content = parts.flatMap((part) => (part.type === "text" ? inputText(part.text) : []));
  return content.length === 0 ? "" : wireJson({ type: "message", role: "system", content });
}

/** Outputs of calls come first: nothing may stand between a call and its output. */
function userItems(parts: readonly Part[], context: EncodeContext, options: ContentOptions): string[] {
  const items: string[] = [];
  const content: Content[] = [];
  for (const part of parts) {
    if (part.type === "tool-result") {
      const { output, below } = callOutput(part.output, options);
      items.push(wireJson({ type: "function_call_output", call_id: context.idOfResult(part.callId), output }));
      content.push(...below);
    } else content.push(...inputContent(part, options));
  }
  if (content.length > 0) items.push(wireJson({ type: "message", role: "user", content }));
  return items;
}

function assistantItems(parts: readonly Part[], context: EncodeContext, family: string): string[] {
  const answer = new AnswerItems(context, family);
  for (const part of parts) answer.add(part);
  return answer.end();
}

/**
 * The items of one answer. The API checks that an item with an id stands behind the very reasoning it came with; so
 * once reasoning of this answer is left out, what follows goes without ids, and server tools' items not at all.
 */
class AnswerItems {
  readonly #context: EncodeContext;
  readonly #family: string;
  readonly #items: string[] = [];
  #texts: Content[] = [];
  #whole = true;
  /** Items at the end that are reasoning: the API refuses reasoning that nothing follows. */
  #trailing = 0;

  constructor(context: EncodeContext, family: string) {
    this.#context = context;
    this.#family = family;
  }

  add(part: Part): void {
    switch (part.type) {
      case "text":
        if (!isBlank(part.text)) this.#texts.push({ type: "output_text", text: part.text });
        return;
      case "file":
        this.#texts.push({ type: "output_text", text: fileMarker(part, FILE_GAPS.unreadable) });
        return;
      case "reasoning":
        return this.#reasoning(ownSeal(part.seal, OPENAI.id));
      case "tool-call":
        return part.by === "provider" ? undefined : this.#call(part);
      case "opaque":
        return this.#opaque(ownSeal(part.seal, OPENAI.id));
      case "tool-result":
      case "source":
        return;
      default:
        return part satisfies never;
    }
  }

  end(): string[] {
    this.#message();
    return this.#trailing === 0 ? this.#items : this.#items.slice(0, -this.#trailing);
  }

  #message(mark: { readonly phase?: string; readonly id?: string } = {}): void {
    if (this.#texts.length === 0) return;
    this.#push({ type: "message", role: "assistant", ...mark, content: this.#texts });
    this.#texts = [];
  }

  #reasoning(data: Json | undefined): void {
    this.#message();
    const item = memberOf(data, "model") === this.#family ? memberOf(data, "item") : undefined;
    if (!isObject(item)) return void (this.#whole = false);
    this.#items.push(wireJson(item));
    this.#trailing++;
  }

  #call(part: ToolCallPart): void {
    this.#message();
    const own = ownSeal(part.seal, OPENAI.id);
    const item = stringOf(memberOf(own, "item"));
    const extra = memberOf(own, "extra");
    this.#push({
      type: "function_call",
      ...(this.#whole && item !== "" && { id: item }),
      call_id: this.#context.idOfCall(part),
      name: part.name,
      arguments: wireJson(inputOf(part)),
      ...(isObject(extra) && extra),
    });
  }

  /** The mark behind the texts of a message, or the item of a server tool. */
  #opaque(data: Json | undefined): void {
    const phase = stringOf(memberOf(data, "phase"));
    if (phase !== "") {
      const id = stringOf(memberOf(data, "id"));
      return this.#message({ phase, ...(this.#whole && id !== "" && { id }) });
    }
    const item = memberOf(data, "model") === this.#family ? memberOf(data, "item") : undefined;
    if (!isObject(item) || !this.#whole) return;
    this.#message();
    this.#push(item);
  }

  #push(item: unknown): void {
    this.#items.push(wireJson(item));
    this.#trailing = 0;
  }
}
