/** `capstan sessions import`: a new session with the conversation of an export, or of another SDK's history. */

import { readFile } from "node:fs/promises";
import {
  conversation,
  type Engine,
  type Fact,
  type FilePart,
  type Message,
  messageOf,
  type Op,
  redactor,
  systemClock,
  systemIds,
} from "@capstan/core";
import { type ReadHistory, toMessages } from "@capstan/models/convert";
import type { Config } from "../config.ts";
import { providerSecrets } from "../open-runtime.ts";
import { CODING_AGENT } from "./coding-agent.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { parseJson } from "./parse-json.ts";
import { withEngine } from "./stored-sessions.ts";

export type ImportFlags = { readonly agent?: string };

/**
 * Writes the id of the new session. Only what was said and done comes along: mode, rules, folder and open questions of a
 * file from elsewhere decide nothing here.
 */
export function importCommand(config: Config | undefined, file: string, { agent }: ImportFlags): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const text = await readFile(file, "utf8").catch((cause: unknown) => {
      throw usage(`Cannot read ${file}: ${messageOf(cause)}`);
    });
    const { history, from } = parsed(text);
    if (history.messages.length === 0) throw usage(`There is no message in ${file} that can be read`);
    for (const { at, detail } of history.repairs) screen.note(`Repaired message ${at}: ${inertLine(detail)}`);
    const ids = systemIds(() => systemClock.now());
    const op: Op = {
      type: "open",
      sessionId: ids.next("ses"),
      agent: agent ?? from?.agent ?? CODING_AGENT,
      mode: "ask",
      ...(from?.title !== undefined && { title: from.title }),
      messages: await Promise.all(history.messages.map((message) => withoutLostFiles(engine, message))),
    };
    const secrets = redactor([...providerSecrets(process.env), ...(config?.secrets ?? [])]);
    const actor = { id: "local", door: "command" };
    const { sessionId } = await engine.submit(secrets.json(op), { idempotencyKey: ids.random(), actor });
    screen.data(sessionId);
    screen.note(`Imported ${history.messages.length} messages`);
    return EXIT.done;
  });
}

type Parsed = { readonly history: ReadHistory; readonly from?: { readonly agent: string; readonly title?: string } };

/** A list of messages, or the facts of an export, one a line. */
function parsed(text: string): Parsed {
  if (text.trimStart().startsWith("[")) return { history: toMessages(parseJson(text, "The file")) };
  const said = conversation();
  let from: Parsed["from"];
  for (const [index, line] of text.trimEnd().split("\n").entries()) {
    const fact = parseJson(line, `Line ${index + 1}`) as Fact; // what it holds is checked by `toMessages`
    try {
      if (fact.type === "session.created") from = fact;
      if (fact.type !== "context.compacted") said.apply(fact);
    } catch {
      throw usage(`Line ${index + 1} is no fact of an export`);
    }
  }
  if (from === undefined) throw usage('The file is neither a list of messages nor an export of "sessions export"');
  return { history: toMessages(said.messages, { format: "capstan" }), from };
}

/** Bytes lie beside the log and not in an export: a file that is not here too becomes a word about it. */
async function withoutLostFiles(engine: Engine, message: Message): Promise<Message> {
  const here = async <P extends Message["parts"][number] | FilePart>(part: P) => {
    if (part.type !== "file" || part.data.type !== "blob") return part;
    const found = await engine.blob(part.data.hash).catch(() => undefined);
    return found !== undefined
      ? part
      : ({ type: "text", text: `[${part.name ?? part.mediaType}: its bytes were not in the export]` } as const);
  };
  const parts = await Promise.all(
    message.parts.map(async (part) => {
      if (part.type !== "tool-result") return here(part);
      const content = await Promise.all(
        part.output.content.map(async (item) => (item.type === "file" ? here<FilePart>(item) : item)),
      );
      return { ...part, output: { ...part.output, content } };
    }),
  );
  return { ...message, parts };
}
