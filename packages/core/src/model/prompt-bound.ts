/** How many tokens a request has at most, before anybody has counted them. */

import type { ModelRequest } from "../ports/model.ts";
import type { SessionState } from "../state/session-state.ts";
import { LIMITS } from "../words/limits.ts";
import type { FilePart, Message } from "../words/message.ts";
import { fileTokens } from "./file-tokens.ts";

export type Known = {
  readonly prefixHash: string;
  /** Id of the model. */
  readonly model: string;
  /** What the model takes at most; a longer request is refused, not paid. */
  readonly contextTokens: number | undefined;
  /** The last counted call, and what it held. */
  readonly counted: SessionState["counted"];
  readonly tokens: number;
};

/**
 * Tokens of the prompt, rather too many: what the last counted call of the same model and prefix held, and what has come
 * since its answer, by its characters. Answers that no model gave, or that were cut off, were not counted by anybody.
 */
export async function promptBound(request: ModelRequest, known: Known): Promise<number> {
  const { prefixHash, model, counted, tokens } = known;
  const same = counted !== undefined && counted.prefixHash === prefixHash && counted.model === model;
  const since = same ? request.messages.findLastIndex(({ id }) => id === counted.messageId) : -1;
  const rest = since === -1 ? request.messages : request.messages.slice(since + 1);
  const prefix = since === -1 ? prefixTokens(request) : tokens;
  return prefix + schemaTokens(request) + (await messagesBound(rest, request, known));
}

/** How many tokens a changed request has at most, when the original has no more than `bound`. */
export async function changedBound(
  original: ModelRequest,
  bound: number,
  changed: ModelRequest,
  known: Known,
): Promise<number> {
  if (changed === original) return bound;
  const before = new Set(original.messages);
  const others = changed.messages.filter((message) => !before.has(message));
  const prefix = changed.system === original.system && changed.tools === original.tools ? 0 : prefixTokens(changed);
  const schema = changed.settings.outputSchema === original.settings.outputSchema ? 0 : schemaTokens(changed);
  return bound + prefix + schema + (await messagesBound(others, changed, known));
}

function prefixTokens({ system, tools }: ModelRequest): number {
  return tokensIn(system) + tokensIn(JSON.stringify(tools));
}

function schemaTokens({ settings: { outputSchema } }: ModelRequest): number {
  return outputSchema === undefined ? 0 : tokensIn(JSON.stringify(outputSchema)); // another one each run
}

async function messagesBound(messages: readonly Message[], request: ModelRequest, known: Known): Promise<number> {
  let tokens = 0;
  for (const { parts } of messages) {
    tokens += LIMITS.reservedMessageTokens;
    for (const part of parts) {
      if (part.type === "file") tokens += await fileBound(part, request, known);
      else if (part.type !== "tool-result") tokens += tokensIn(JSON.stringify(part));
      else {
        const files = part.output.content.filter((content) => content.type === "file");
        const content = part.output.content.filter(({ type }) => type !== "file");
        tokens += tokensIn(JSON.stringify({ ...part, output: { ...part.output, content } }));
        for (const file of files) tokens += await fileBound(file, request, known);
      }
    }
  }
  return tokens;
}

async function fileBound(file: FilePart, request: ModelRequest, { model, contextTokens }: Known): Promise<number> {
  const most = contextTokens ?? Number.MAX_SAFE_INTEGER;
  return Math.min(
    most,
    fileTokens(file, await bytesOf(file, request), model) ?? contextTokens ?? LIMITS.reservedFileTokens,
  );
}

async function bytesOf({ data }: FilePart, { blob }: ModelRequest): Promise<Uint8Array | undefined> {
  switch (data.type) {
    case "base64":
      return Buffer.from(data.base64, "base64");
    case "blob":
      return blob(data.hash);
    case "url":
      return undefined;
    default:
      return data satisfies never;
  }
}

/** No tokenizer makes more of plain text; other scripts are counted by their bytes. */
function tokensIn(text: string): number {
  return Math.ceil(Math.max(text.length / 2, Buffer.byteLength(text) - text.length / 2));
}
