/** Compaction: when a conversation fills the model's context, notes take the place of its beginning. */

import {
  CapstanError,
  type Compacted,
  type Fact,
  type HookContext,
  type Message,
  messageOf,
  type Model,
  type ModelRequest,
  type Part,
  type Plugin,
  plugin,
  sizeOf,
  text,
  textOf,
  textSize,
} from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { isSummary, placeOf } from "./place.ts";
import { writeSummary } from "./write-summary.ts";

export type CompactionOptions = {
  /** Tokens from which on it compacts before a turn. Default four fifths of the model's context; never where that is unknown. */
  readonly atTokens?: number;
  /** Turns at the end that stay word for word; default 2. Fewer where they fill half of the context. */
  readonly keepTurns?: number;
  /** Writes the summary. Default the model of the run, which reads the conversation from its cache. */
  readonly model?: Model | string;
  /** What the summary is to say beside the usual. */
  readonly instructions?: string;
  /** Messages whose text stays word for word, in the summary. */
  readonly pin?: (message: Message) => boolean;
};

const NAME = "compaction";
const COMMAND = /^\s*\/compact(?:\s+([^]*))?$/;
const SHARE = 0.8;
/** What was compacted must grow by this before it is compacted again: a summary each turn would cost more than it saves. */
const GROWTH = 1.25;
const PINNED = "[kept word for word] ";
/** Characters of all pinned text: more of it would leave nothing to compact. */
const MAX_PINNED = 40_000;

/** `after`: tokens after the last one. `failedIn`: the run in which it could not be done. */
type Own = { readonly after: number; readonly failedIn: string };
type Data = { readonly failedIn: string };

/** Throws `plugin-invalid` for numbers that are none. */
export function compaction(options: CompactionOptions = {}): Plugin {
  const { atTokens, keepTurns = 2 } = options;
  if ((atTokens !== undefined && !(atTokens > 0)) || !Number.isSafeInteger(keepTurns) || keepTurns < 0)
    throw new CapstanError(
      "plugin-invalid",
      "compaction: atTokens is a number above 0, keepTurns a whole one from 0 on",
    );
  const whole = { ...options, keepTurns };
  return plugin<Own>({
    name: NAME,
    fold: { start: { after: 0, failedIn: "" }, next },
    async input(message, context, go) {
      const [said, instructions] = COMMAND.exec(textOf(message.parts)) ?? [];
      if (said === undefined) return go(message);
      const messages = await context.conversation();
      const most = await limitOf(context, atTokens);
      const wanted = instructions ?? options.instructions;
      const done = await compactAt(context, { ...whole, messages, most, trigger: "manual", instructions: wanted });
      return context.answer(done === undefined ? "There is nothing to sum up yet." : saidOf(done));
    },
    async prepare(request, context) {
      const most = await limitOf(context, atTokens);
      const tokens = tokensOf(request, context);
      const { after, failedIn } = context.own;
      if (tokens < most || tokens < after * GROWTH || failedIn === context.runId) return;
      try {
        const { messages } = request;
        const done = await compactAt(context, { ...whole, messages, most, trigger: "auto", request });
        if (done !== undefined) context.notice("Conversation compacted", saidOf(done));
      } catch (error) {
        if (context.signal.aborted) throw error;
        await context.record({ failedIn: context.runId } satisfies Data);
        context.notice("The conversation could not be compacted", messageOf(error));
      }
    },
    async overflow({ messages }, context) {
      const { capabilities } = await context.model();
      const most = capabilities.contextTokens ?? tokensIn(messages);
      const done = await compactAt(context, { ...whole, messages, most, trigger: "overflow" }).catch(
        (error: unknown) => {
          if (context.signal.aborted || CapstanError.is(error, "compaction-failed")) throw error;
          const problem = `The conversation does not fit the model, and nobody could sum it up: ${messageOf(error)}`;
          throw new CapstanError("compaction-failed", problem, { cause: error });
        },
      );
      if (done === undefined)
        throw new CapstanError(
          "compaction-failed",
          "The conversation does not fit the model, and nothing is left to sum up",
        );
      context.notice("Conversation compacted", saidOf(done));
    },
  });
}

type Task = Omit<CompactionOptions, "instructions"> & {
  readonly instructions?: string | undefined;
  readonly keepTurns: number;
  readonly messages: readonly Message[];
  readonly most: number;
  readonly trigger: "auto" | "manual" | "overflow";
  readonly request?: ModelRequest;
};

/** `undefined`: there is nothing to sum up. */
async function compactAt(context: HookContext<Own>, task: Task): Promise<Compacted | undefined> {
  const { messages, keepTurns, most, trigger, model, instructions, request, pin } = task;
  const cut = placeOf(messages, keepTurns, most / 2);
  const through = messages[cut - 1]?.id;
  if (through === undefined) return undefined;
  const summed = messages.slice(0, cut);
  const pinned = pinnedOf(summed, pin);
  const notes = await writeSummary(context, { messages: summed, model, instructions, request });
  const summary = [
    text(`<summary>\n${notes.trim()}\n</summary>\n(The conversation before this was summed up.)`),
    ...pinned,
  ];
  return context.compact({ through, summary, trigger });
}

/** What is kept word for word, that of earlier summaries first. */
function pinnedOf(messages: readonly Message[], pin: CompactionOptions["pin"]): readonly Part[] {
  const texts = messages.flatMap((message) => {
    if (isSummary(message))
      return message.parts.flatMap((part) => (part.type === "text" && part.text.startsWith(PINNED) ? [part.text] : []));
    const own = textOf(message.parts);
    return own !== "" && pin?.(message) === true ? [`${PINNED}${own}`] : [];
  });
  let left = MAX_PINNED;
  return texts.filter((own) => (left -= own.length) >= 0).map((own) => text(own));
}

async function limitOf(context: HookContext<Own>, atTokens: number | undefined): Promise<number> {
  if (atTokens !== undefined) return atTokens;
  const { capabilities } = await context.model();
  return capabilities.contextTokens === undefined ? Number.POSITIVE_INFINITY : capabilities.contextTokens * SHARE;
}

/** By the provider's count of the last turn and what has come since, else estimated. */
function tokensOf({ system, tools, messages }: ModelRequest, { state }: HookContext<Own>): number {
  const counted = messages.findLastIndex(({ id }) => id === state.counted?.messageId);
  if (counted !== -1) return state.contextTokens + tokensIn(messages.slice(counted + 1));
  return textSize(system) + textSize(JSON.stringify(tools)) + tokensIn(messages);
}

function tokensIn(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

function saidOf({ tokensBefore, tokensAfter }: Compacted): string {
  return `About ${tokensBefore.toLocaleString("en-US")} tokens became ${tokensAfter.toLocaleString("en-US")}.`;
}

function next(own: Own, fact: Fact): Own {
  if (fact.type === "context.compacted") return { ...own, after: fact.tokensAfter };
  const data = recorded<Data>(fact, NAME);
  return data === undefined ? own : { ...own, failedIn: data.failedIn };
}
