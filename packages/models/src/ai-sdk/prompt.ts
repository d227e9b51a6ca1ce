/** Our messages as the prompt of an AI SDK model (`LanguageModelV2Prompt` to `LanguageModelV4Prompt`). Pure. */

import type { Json, Message, Part, ToolCallPart } from "@capstan/core";
import { derivedId, inputOf, ownSeal } from "../provider/call.ts";
import { isObject, memberOf, stringOf } from "../provider/json.ts";
import { systemText } from "../provider/system-text.ts";
import { isBlank } from "../wire-text.ts";
import type { AiMessage, AiPart, AiProviderOptions } from "./language-model.ts";
import { type FileContext, filePart, resultParts, textPart, textsOf } from "./prompt-files.ts";

export type PromptContext = FileContext & {
  /** Seals of this name are ours: they go back on the part they came with. */
  readonly sealedBy: string;
  /** Goes onto the last message of each place in `cache`, when the provider takes cache markers. */
  readonly cacheMarker?: AiProviderOptions;
};

export function toPrompt(
  request: { readonly system: string; readonly messages: readonly Message[]; readonly cache: readonly number[] },
  context: PromptContext,
): readonly AiMessage[] {
  const ids = new CallIds(context.sealedBy);
  const prompt: AiMessage[] = [];
  const mark = (at: number): void => {
    const last = prompt.at(-1);
    if (last === undefined || context.cacheMarker === undefined || !request.cache.includes(at)) return;
    prompt.splice(-1, 1, { ...last, providerOptions: context.cacheMarker });
  };
  if (!isBlank(request.system)) prompt.push({ role: "system", content: request.system });
  mark(-1);
  for (const [at, message] of request.messages.entries()) {
    const made = message.role === "assistant" ? fromAssistant(message, ids, context) : fromUser(message, ids, context);
    prompt.push(...made);
    mark(at);
  }
  return prompt;
}

function fromUser(message: Message, ids: CallIds, context: PromptContext): readonly AiMessage[] {
  if (message.role === "system") {
    const said = systemText(message);
    return said === "" ? [] : [{ role: "user", content: textsOf(said) }];
  }
  const results: AiPart[] = [];
  const below: AiPart[] = [];
  const content: AiPart[] = [];
  for (const part of message.parts) {
    if (part.type === "tool-result") {
      const made = resultParts(part.output, context);
      const { callId, name } = part;
      results.push({ type: "tool-result", toolCallId: ids.find(callId), toolName: name, output: made.output });
      below.push(...made.below);
    } else if (part.type === "text") content.push(...textsOf(part.text));
    else if (part.type === "file") content.push(filePart(part, context));
  }
  const said = [...below, ...content];
  return [
    ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }]),
    ...(said.length === 0 ? [] : [{ role: "user" as const, content: said }]),
  ];
}

function fromAssistant(message: Message, ids: CallIds, context: PromptContext): readonly AiMessage[] {
  const content: AiPart[] = [];
  for (const [at, part] of message.parts.entries()) {
    const before = message.parts[at - 1];
    // state may come with a text of no words: it is not that of the text before
    const alone = before?.type === "text" && isBlank(before.text) && isState(part, context.sealedBy);
    if (alone) content.push(textPart(before.text));
    addPart(content, part, ids, context);
  }
  while (content.at(-1)?.type === "reasoning") content.pop(); // no provider takes an answer that ends in thought
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}

/** What the decoder keeps right behind a text or a file. */
function isState(part: Part, sealedBy: string): boolean {
  return part.type === "opaque" && memberOf(ownSeal(part.seal, sealedBy), "type") === "metadata";
}

function addPart(content: AiPart[], part: Part, ids: CallIds, context: PromptContext): void {
  const seal = "seal" in part ? ownSeal(part.seal, context.sealedBy) : undefined;
  switch (part.type) {
    case "text":
      return void content.push(...textsOf(part.text));
    case "file":
      return void content.push(filePart(part, context));
    case "reasoning":
      if (seal !== undefined) content.push({ type: "reasoning", text: part.text, ...optionsOf(seal) });
      return;
    case "tool-call":
      if (part.by !== "provider" || seal !== undefined) content.push(callPart(part, ids.give(part), seal));
      return;
    case "opaque":
      return seal === undefined ? undefined : addOpaque(content, seal, context);
    case "tool-result": // only in messages of users
    case "source": // no version has a place for it
      return;
    default:
      part satisfies never;
  }
}

function callPart(part: ToolCallPart, toolCallId: string, seal: Json | undefined): AiPart {
  return {
    type: "tool-call",
    toolCallId,
    toolName: part.name,
    input: inputOf(part),
    ...(part.by === "provider" && { providerExecuted: true }),
    ...optionsOf(memberOf(seal, "metadata")),
  };
}

/** What the decoder kept as it came: state of the part before, results of the provider's own tools, parts of its own kind. */
function addOpaque(content: AiPart[], data: Json, context: PromptContext): void {
  const type = stringOf(memberOf(data, "type"));
  const options = optionsOf(memberOf(data, "metadata"));
  if (type === "metadata") {
    const before = content.at(-1);
    if (before !== undefined && (before.type === "text" || before.type === "file"))
      content.splice(-1, 1, { ...before, ...options });
    else content.push({ ...textPart(""), ...options }); // the state came without a text of its own
  } else if (type === "tool-result") {
    const value = memberOf(data, "result") ?? null;
    const failed = memberOf(data, "isError") === true;
    const output = { type: failed ? "error-json" : typeof value === "string" ? "text" : "json", value };
    const names = { toolCallId: memberOf(data, "toolCallId"), toolName: memberOf(data, "toolName") };
    content.push({ type, ...names, output, ...options });
  } else if (type === "custom" && context.version === "v4") {
    content.push({ type, kind: memberOf(data, "kind"), ...options });
  } else if (type === "reasoning-file" && context.version === "v4") {
    const url = stringOf(memberOf(data, "url"));
    const bytes = URL.canParse(url)
      ? { type: "url", url: new URL(url) }
      : { type: "data", data: stringOf(memberOf(data, "base64")) };
    content.push({ type, mediaType: memberOf(data, "mediaType"), data: bytes, ...options });
  }
}

function optionsOf(metadata: Json | undefined): { readonly providerOptions?: Json } {
  return isObject(metadata) && Object.keys(metadata).length > 0 ? { providerOptions: metadata } : {};
}

/** Wire ids of one conversation's calls: the provider's own while it is ours and free, else one made of our id. */
class CallIds {
  readonly #sealedBy: string;
  readonly #byCall = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(sealedBy: string) {
    this.#sealedBy = sealedBy;
  }

  give({ callId, seal }: ToolCallPart): string {
    const own = stringOf(memberOf(ownSeal(seal, this.#sealedBy), "id"));
    const id = own === "" || this.#used.has(own) ? derivedId(callId) : own;
    this.#byCall.set(callId, id);
    this.#used.add(id);
    return id;
  }

  find(callId: string): string {
    return this.#byCall.get(callId) ?? derivedId(callId);
  }
}
