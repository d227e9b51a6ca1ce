/** Shows the model no more of a conversation than a number of tokens: the oldest turns are left out of the requests. */

import {
  CapstanError,
  type Fact,
  type Message,
  type ModelRequest,
  type Plugin,
  plugin,
  sizeOf,
  text,
  textSize,
} from "@capstan/core";
import { recorded } from "../own-facts.ts";

export type TokenLimitOptions = {
  /** Of system text, tools and messages. 0: the model is never asked. */
  readonly tokens: number;
  /** Tokens of a message. Default an estimate: a quarter of its characters, 5,000 for an image. */
  readonly count?: (message: Message) => number;
};

const NAME = "token-limit";
/** What is kept when turns are left out: a window that moved each turn would void the provider's cache each turn. */
const SHARE = 0.75;
const LEFT_OUT: Message = {
  id: "token-limit/left-out",
  role: "user",
  parts: [text("<system>The conversation before this is left out.</system>")],
};

/** The first message that is shown; "": all. */
type Own = { readonly from: string };
type Data = Own;

/** A run ends with `limit-reached` where not even its newest turn fits. Throws `plugin-invalid` for a number that is none. */
export function tokenLimit({ tokens, count = sizeOf }: TokenLimitOptions): Plugin {
  if (!(tokens >= 0)) throw new CapstanError("plugin-invalid", "tokenLimit: tokens is a number from 0 on");
  return plugin<Own>({
    name: NAME,
    fold: { start: { from: "" }, next },
    async prepare(request, context) {
      const { messages } = request;
      const fixed = textSize(request.system) + textSize(JSON.stringify(request.tools));
      const shown = indexOf(messages, context.own.from);
      const sizes = messages.map((message) => count(message));
      const all = sizes.slice(shown).reduce((sum, size) => sum + size, shown > 0 ? count(LEFT_OUT) : 0);
      if (tokens > 0 && fixed + all <= tokens) return;
      const from = startOf(messages, sizes, tokens * SHARE - fixed) ?? startOf(messages, sizes, tokens - fixed);
      if (tokens === 0 || from === undefined) {
        const problem = `The newest turn does not fit the limit of ${tokens} tokens (tokenLimit). Raise it, or ask for less at a time`;
        throw new CapstanError("limit-reached", problem);
      }
      await context.record({ from: messages[from]?.id ?? "" } satisfies Data);
      context.notice("Old turns left out", `${from} messages; the provider's cache is built anew`);
    },
    model: (request, { own }, go) => go(windowOf(request, own.from)),
  });
}

/** Where the most turns begin that fit: at an input or an answer, never between a call and its result. */
function startOf(messages: readonly Message[], sizes: readonly number[], room: number): number | undefined {
  let left = room - sizeOf(LEFT_OUT);
  let start: number | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    left -= sizes[index] ?? 0;
    if (left < 0) break;
    if (isStart(messages[index])) start = index;
  }
  return start;
}

function isStart(message: Message | undefined): boolean {
  return message !== undefined && message.parts.every(({ type }) => type !== "tool-result");
}

function windowOf(request: ModelRequest, from: string): ModelRequest {
  const start = indexOf(request.messages, from);
  if (start === 0) return request;
  const messages = [LEFT_OUT, ...request.messages.slice(start)];
  const cache = [...new Set(request.cache.map((index) => (index < 0 ? index : Math.max(-1, index - start + 1))))];
  return { ...request, messages, cache };
}

/** 0 where it is not there any more: a compaction has taken it out. */
function indexOf(messages: readonly Message[], id: string): number {
  return id === ""
    ? 0
    : Math.max(
        0,
        messages.findLastIndex((message) => message.id === id),
      );
}

function next(own: Own, fact: Fact): Own {
  return recorded<Data>(fact, NAME) ?? own;
}
