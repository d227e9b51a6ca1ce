/** The plugin: lines at the start of an input that begin with a slash are commands; the model sees what they stand for. */

import {
  CapstanError,
  type HookContext,
  type InputContext,
  type InputNext,
  type InputOutcome,
  type Message,
  type ModelRequest,
  type Plugin,
  plugin,
  type SessionState,
  text,
} from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { BUILT_IN, type Command, type CommandResult } from "./command.ts";
import { expandTemplate, wordsOf } from "./expand-template.ts";
import type { CommandSet } from "./load-commands.ts";

export type CommandsOptions = {
  /** Further names for `/help`, such as skills, which other plugins take up. */
  readonly also?: readonly { readonly name: string; readonly description: string }[];
};

const PLUGIN_NAME = "commands";
const LINE = /^\/([A-Za-z][\w:-]*)(?:[ \t]+(.*))?$/;
const MAX_COMMANDS = 16;
const HOOK_TIMEOUT_MS = 30_000;

type Own = {
  /** Id of the message that the conversation begins with; empty: it was never reset. */
  readonly from: string;
  /** What came before was summed up away: no later summary can bring it back. */
  readonly isCleared: boolean;
};
type Recorded = { readonly type: "reset"; readonly from: string };

/** `/help`, `/session` and `/reset` are there without being given. A name that nobody knows stays what it is: text. */
export function commands(set: CommandSet, { also = [] }: CommandsOptions = {}): Plugin {
  const known = new Map(set.commands.map((command) => [command.name, command]));
  const find = (name: string): Command | undefined => known.get(name) ?? onlyOne(set.commands, name);
  return plugin<Own>({
    name: PLUGIN_NAME,
    timeoutMs: HOOK_TIMEOUT_MS,
    fold: {
      start: { from: "", isCleared: false },
      next: (own, fact) => {
        if (fact.type === "context.compacted" && own.from !== "") return { ...own, isCleared: true };
        const data = recorded<Recorded>(fact, PLUGIN_NAME);
        return data?.type === "reset" ? { from: data.from, isCleared: false } : own;
      },
    },
    prepare: ({ messages }, context) => clear(messages, context),
    input: (message, context, next) =>
      takenUp({ find, help: () => helpText(set.commands, also) }, message, context, next),
    model: (request, { own }, next) => next(own.from === "" ? request : begunAt(request, own.from)),
  });
}

/** A command of a folder by its last name, where only one has it. */
function onlyOne(all: readonly Command[], name: string): Command | undefined {
  const found = all.filter((command) => command.name.endsWith(`:${name}`));
  return found.length === 1 ? found[0] : undefined;
}

type Known = { readonly find: (name: string) => Command | undefined; readonly help: () => string };

async function takenUp(
  known: Known,
  message: Message,
  context: InputContext<Own>,
  next: InputNext,
): Promise<InputOutcome> {
  const at = message.parts.findIndex(({ type }) => type === "text");
  const part = message.parts[at];
  if (part?.type !== "text" || !part.text.trimStart().startsWith("/")) return next(message);
  const lines = part.text.trimStart().split("\n");
  const prompts: string[] = [];
  const answers: string[] = [];
  let count = 0;
  for (; count < Math.min(lines.length, MAX_COMMANDS); count++) {
    const [, name = "", rest = ""] = LINE.exec((lines[count] ?? "").trimEnd()) ?? [];
    const result = name === "" ? undefined : await performed(known, name, rest.trim(), { count, message, context });
    if (result === undefined) break;
    if ("prompt" in result) prompts.push(result.prompt);
    else answers.push(result.answer);
  }
  if (count === 0) return next(message);
  const rest = lines.slice(count).join("\n").trim();
  const said = [...prompts, ...(rest === "" ? [] : [rest])].filter((piece) => piece !== "").join("\n\n");
  const others = message.parts.filter((_part, index) => index !== at);
  if (said === "" && others.length === 0) return context.answer(answers.join("\n\n") || "Done.");
  for (const answer of answers) context.notice("Command", answer);
  return next({ ...message, parts: said === "" ? others : message.parts.with(at, text(said)) });
}

type Place = { readonly count: number; readonly message: Message; readonly context: InputContext<Own> };

async function performed(
  known: Known,
  name: string,
  line: string,
  { count, message, context }: Place,
): Promise<CommandResult | undefined> {
  const { state, sessionId, signal } = context;
  if (name === "help") return { answer: known.help() };
  if (name === "session") return { answer: sessionText(state) };
  if (name === "reset") return reset(message, context);
  const command = BUILT_IN.has(name) ? undefined : known.find(name);
  if (command === undefined) return undefined;
  const { action } = command;
  if (action.type === "template") return { prompt: expandTemplate(action.text, line) };
  return context.step(`${count}/${name}`, async () =>
    action.run({ text: line, words: wordsOf(line), sessionId, state, signal }),
  );
}

/** From this message on the model sees the conversation; people still see all of it. */
async function reset(message: Message, context: InputContext<Own>): Promise<CommandResult> {
  const { run } = context.state;
  if (run !== undefined && run.inputId !== message.id)
    return { answer: "The conversation can be reset when nothing runs." };
  await context.record({ type: "reset", from: message.id } satisfies Recorded);
  return { answer: "The conversation begins anew: the model no longer sees what was said before." };
}

const CLEARED = "<system>The user began the conversation anew.</system>";

/** Where there is much to forget, it leaves the conversation itself: other plugins do not see it any more either. */
async function clear(messages: ModelRequest["messages"], context: HookContext<Own>): Promise<void> {
  const { own } = context;
  if (own.from === "" || own.isCleared) return;
  const last = messages[messages.findIndex(({ id }) => id === own.from) - 1];
  if (last === undefined) return;
  try {
    await context.compact({ through: last.id, summary: [text(CLEARED)], trigger: "manual" });
  } catch (error) {
    if (!CapstanError.is(error, "compaction-failed")) throw error; // too little to be worth it: the model hook leaves it out
  }
}

function begunAt(request: ModelRequest, id: string): ModelRequest {
  const at = request.messages.findIndex((message) => message.id === id);
  if (at <= 0) return request; // the first, or summed up since
  const cache = request.cache.flatMap((index) => (index < 0 ? [index] : index < at ? [] : [index - at]));
  return { ...request, messages: request.messages.slice(at), cache };
}

function helpText(
  all: readonly Command[],
  also: readonly { readonly name: string; readonly description: string }[],
): string {
  const line = (name: string, hint: string | undefined, description: string): string =>
    `/${name}${hint === undefined || hint === "" ? "" : ` ${hint}`}${description === "" ? "" : `  ${description}`}`;
  return [
    line("help", undefined, "this list"),
    line("session", undefined, "what this session is and has used"),
    line("reset", undefined, "the model forgets what was said so far"),
    ...all.map(({ name, hint, description }) => line(name, hint, description)),
    ...also.map(({ name, description }) => line(name, undefined, description)),
  ].join("\n");
}

function sessionText({ sessionId, title, agent, model, mode, workspace, usage }: SessionState): string {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, costMicroUsd } = usage;
  const cost = costMicroUsd === undefined ? "" : `, ${(costMicroUsd / 1_000_000).toFixed(4)} USD`;
  return [
    `Session ${sessionId}${title === undefined ? "" : `: ${title}`}`,
    `Agent ${agent}${model === undefined ? "" : `, model ${model}`}, mode ${mode}`,
    ...(workspace === undefined ? [] : [`Folder ${workspace.root}`]),
    `Tokens: ${inputTokens + cacheReadTokens + cacheWriteTokens} in, ${outputTokens} out${cost}`,
  ].join("\n");
}
