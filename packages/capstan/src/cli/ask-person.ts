/** Asks the person at the terminal: one request at a time, with exactly what would happen, all of it inert (G20). */

import type { Answer, OpenRequest, QuestionItem, RememberScope, RequestBody } from "@capstan/core";
import { questionLines, requestLines } from "./request-lines.ts";
import type { Screen } from "./screen.ts";
import type { LineReader } from "./terminal-line.ts";

export type AskPerson = (
  request: OpenRequest,
  options: { readonly signal: AbortSignal },
) => Promise<Answer | undefined>;

/** Whether `askPerson` has a way to ask this. */
export function canAsk(body: RequestBody): boolean {
  return body.type !== "form" && body.type !== "client-tool";
}

/** An `onRequest`. Answers `undefined` for what cannot be asked here, and when the person is gone: it then stays open. */
export function askPerson(screen: Screen, readLine: LineReader): AskPerson {
  let last: Promise<unknown> = Promise.resolve();
  return (request, { signal }) => {
    const ask: Ask = (prompt) => readLine(prompt, signal);
    const mine = last.then(() =>
      signal.aborted ? undefined : screen.asking((note) => askOne(note, ask, request.body)),
    );
    last = mine.catch(() => undefined);
    return mine;
  };
}

type Note = Screen["note"];
type Ask = (prompt: string) => Promise<string | undefined>;

async function askOne(note: Note, ask: Ask, body: RequestBody): Promise<Answer | undefined> {
  switch (body.type) {
    case "permission":
      show(note, requestLines(body));
      return yesOrNo(note, ask, "permission", body.remember);
    case "plan":
      show(note, requestLines(body));
      return yesOrNo(note, ask, "plan", []);
    case "question":
      return askQuestions(note, ask, body.questions);
    case "doubt":
      show(note, requestLines(body));
      return askDoubt(note, ask);
    case "form":
    case "client-tool":
      return undefined;
    default:
      return body satisfies never;
  }
}

function show(note: Note, [head = "", ...lines]: readonly string[]): void {
  note("");
  note(head, "bold");
  for (const line of lines) note(line);
}

/** What is typed for each, and what it says: beyond the session the rule holds in every folder. */
const ALWAYS: { readonly [scope in RememberScope]: { readonly word: RegExp; readonly offer: string } } = {
  session: { word: /^(a|always)$/i, offer: "always in this session (a)" },
  agent: { word: /^agent$/i, offer: "always for this agent in every folder (agent)" },
  global: { word: /^all$/i, offer: "for all agents (all)" },
};
const SCOPES = ["session", "agent", "global"] as const satisfies readonly RememberScope[];

async function yesOrNo(
  note: Note,
  ask: Ask,
  type: "permission" | "plan",
  remember: readonly RememberScope[],
): Promise<Answer | undefined> {
  const scopes = SCOPES.filter((scope) => remember.includes(scope));
  const offers = scopes.map((scope) => `, ${ALWAYS[scope].offer}`).join("");
  for (;;) {
    const said = await ask(`yes (y), no (n, or n and why)${offers} > `);
    if (said === undefined) return undefined;
    const [word = "", ...rest] = said.trim().split(/\s+/);
    const reason = rest.join(" ");
    if (/^(y|yes)$/i.test(word) && reason === "") return { type, allow: true };
    if (/^(n|no)$/i.test(word)) return { type, allow: false, ...(reason !== "" && { reason }) };
    const scope = scopes.find((one) => ALWAYS[one].word.test(word));
    if (type === "permission" && scope !== undefined && reason === "") return { type, allow: true, remember: scope };
    note(`Please answer with ${scopes.length > 0 ? "one of the words in brackets" : "y or n"}.`, "yellow");
  }
}

async function askQuestions(note: Note, ask: Ask, questions: readonly QuestionItem[]): Promise<Answer | undefined> {
  const answers: Record<string, string | readonly string[]> = {};
  for (const item of questions) {
    const { header, options, multiSelect } = item;
    show(note, questionLines(item));
    const said = await ask(
      multiSelect ? "numbers with commas between, or your own words > " : "a number, or your own words > ",
    );
    if (said === undefined) return undefined;
    const chosen = said.split(",").map((item) => options[Number(item.trim()) - 1]?.label);
    const known = chosen.every((label) => label !== undefined) ? chosen : [said.trim()];
    answers[header] = multiSelect ? known : (known[0] ?? "");
  }
  return { type: "question", answers };
}

async function askDoubt(note: Note, ask: Ask): Promise<Answer | undefined> {
  for (;;) {
    const said = (await ask("r run it again, h it happened, s skip it > "))?.trim().toLowerCase();
    if (said === undefined) return undefined;
    if (said === "r") return { type: "doubt", outcome: "run-again" };
    if (said === "h") return { type: "doubt", outcome: "it-happened" };
    if (said === "s") return { type: "doubt", outcome: "skip" };
    note("Please answer r, h or s.", "yellow");
  }
}
