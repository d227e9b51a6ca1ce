/** Histories of other SDKs as messages of Capstan and back. What is damaged is put right, and told. */

import { CapstanError, type Message } from "@capstan/core";
import { readAiModel, writeAiModel } from "./convert/ai-model.ts";
import { readAiUi } from "./convert/ai-ui.ts";
import { writeAiUi } from "./convert/ai-ui-write.ts";
import { readAnthropic, writeAnthropic } from "./convert/anthropic.ts";
import { detectFormat, type HistoryFormat } from "./convert/detect.ts";
import type { Draft, ReadMessage, Repair } from "./convert/draft.ts";
import { readOpenAiChat, writeOpenAiChat } from "./convert/openai-chat.ts";
import { readOwn, writeOwn } from "./convert/own.ts";
import { plainJson } from "./convert/plain-json.ts";
import { repaired } from "./convert/repair.ts";
import { isObject, type JsonObject } from "./provider/json.ts";

export type { HistoryFormat } from "./convert/detect.ts";
export type { Repair, RepairCode } from "./convert/draft.ts";

type Converter = {
  readonly read: ReadMessage;
  readonly write: (messages: readonly Message[]) => readonly JsonObject[];
};

const CONVERTERS = {
  capstan: { read: readOwn, write: writeOwn },
  anthropic: { read: readAnthropic, write: writeAnthropic },
  "openai-chat": { read: readOpenAiChat, write: writeOpenAiChat },
  "ai-sdk": { read: readAiModel, write: writeAiModel },
  "ai-sdk-ui": { read: readAiUi, write: writeAiUi },
} satisfies Record<HistoryFormat, Converter>;

export type ReadHistory = {
  /** For `messages` of `runtime.session()`: every call has its result right behind it, every id is its own. */
  readonly messages: readonly Message[];
  readonly format: HistoryFormat;
  /** In the order in which the damage was found; empty for a history that was whole. */
  readonly repairs: readonly Repair[];
};

/**
 * Reads messages of Anthropic, OpenAI chat, the AI SDK (`ModelMessage`, `UIMessage`) or Capstan itself. Nothing about them is
 * taken for granted: a history may come from a file, a client or a process that crashed. Without `format` it is told by
 * their words; plain texts read the same in all of them. Throws `input-invalid` when it is no list.
 */
export function toMessages(history: unknown, options: { readonly format?: HistoryFormat } = {}): ReadHistory {
  if (!Array.isArray(history)) throw new CapstanError("input-invalid", "A history is a list of messages");
  const plain = history.map((message) => plainJson(message));
  const format = options.format ?? detectFormat(plain);
  if (!Object.hasOwn(CONVERTERS, format)) {
    const known = Object.keys(CONVERTERS).join(", ");
    throw new CapstanError(
      "input-invalid",
      `There is no history format ${JSON.stringify(format)}. Name one of: ${known}`,
    );
  }
  const repairs: Repair[] = [];
  const note = (code: Repair["code"], at: number, detail: string): void => void repairs.push({ code, at, detail });
  const { read } = CONVERTERS[format];
  const drafts = plain.flatMap((message, at): readonly Draft[] => {
    if (isObject(message))
      return read(message, (code, detail) => note(code, at, detail)).map((draft) => ({ ...draft, at }));
    note("message-unreadable", at, "no JSON object");
    return [];
  });
  return { messages: repaired(drafts, note), format, repairs };
}

/**
 * Writes messages as another SDK has them. What its format cannot say is left out or becomes text: thoughts without the
 * provider's seal, parts of other providers, files whose bytes lie in the store.
 */
export function fromMessages(messages: readonly Message[], format: HistoryFormat): readonly JsonObject[] {
  return CONVERTERS[format].write(messages);
}
