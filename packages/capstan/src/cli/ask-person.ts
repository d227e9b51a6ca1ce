/** Asks the person at the terminal: one request at a time, with exactly what would happen, all of it inert (G20). */

import type { Answer, Json, OpenRequest, PermissionRequest, QuestionItem, RequestBody } from "@capstan/core";
import { inert, inertLine } from "./inert.ts";
import type { Screen } from "./screen.ts";
import type { LineReader } from "./terminal-line.ts";

/** Lines of one value that are shown; the number of the others is said. */
const MAX_LINES = 40;
const MAX_LINE = 2_000;

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
      return askPermission(note, ask, body);
    case "plan":
      note("");
      note("The plan:", "bold");
      for (const line of shownLines(body.markdown)) note(line);
      return yesOrNo(note, ask, "plan", false);
    case "question":
      return askQuestions(note, ask, body.questions);
    case "doubt":
      return askDoubt(note, ask, body.tool, body.input);
    case "form":
    case "client-tool":
      return undefined;
    default:
      return body satisfies never;
  }
}

async function askPermission(note: Note, ask: Ask, body: PermissionRequest): Promise<Answer | undefined> {
  note("");
  note(`May I? ${inertLine(body.title)}`, "bold");
  const { tool, input, binding, reason } = body;
  showFields(note, [
    ["tool", tool],
    ...fieldsOf(input),
    ...(binding.cwd === undefined ? [] : [["folder", binding.cwd] as const]),
    ...(reason === undefined ? [] : [["why", reason] as const]),
  ]);
  return yesOrNo(note, ask, "permission", body.remember.includes("session"));
}

async function yesOrNo(
  note: Note,
  ask: Ask,
  type: "permission" | "plan",
  always: boolean,
): Promise<Answer | undefined> {
  for (;;) {
    const said = await ask(`yes (y), no (n, or n and why)${always ? ", always in this session (a)" : ""} > `);
    if (said === undefined) return undefined;
    const [word = "", ...rest] = said.trim().split(/\s+/);
    const reason = rest.join(" ");
    if (/^(y|yes)$/i.test(word) && reason === "") return { type, allow: true };
    if (/^(n|no)$/i.test(word)) return { type, allow: false, ...(reason !== "" && { reason }) };
    if (always && /^(a|always)$/i.test(word) && reason === "") return { type, allow: true, remember: "session" };
    note(`Please answer ${always ? "y, n or a" : "y or n"}.`, "yellow");
  }
}

async function askQuestions(note: Note, ask: Ask, questions: readonly QuestionItem[]): Promise<Answer | undefined> {
  const answers: Record<string, string | readonly string[]> = {};
  for (const { header, question, options, multiSelect } of questions) {
    note("");
    note(inertLine(question), "bold");
    for (const [at, { label, description }] of options.entries()) {
      note(`  ${at + 1}  ${inertLine(label)}${description === "" ? "" : `: ${inertLine(description)}`}`);
    }
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

async function askDoubt(note: Note, ask: Ask, tool: string, input: Json): Promise<Answer | undefined> {
  note("");
  note(`A crash came while this ran; nobody knows whether it happened`, "bold");
  showFields(note, [["tool", tool], ...fieldsOf(input)]);
  for (;;) {
    const said = (await ask("r run it again, h it happened, s skip it > "))?.trim().toLowerCase();
    if (said === undefined) return undefined;
    if (said === "r") return { type: "doubt", outcome: "run-again" };
    if (said === "h") return { type: "doubt", outcome: "it-happened" };
    if (said === "s") return { type: "doubt", outcome: "skip" };
    note("Please answer r, h or s.", "yellow");
  }
}

type Field = readonly [name: string, value: string];

function fieldsOf(input: Json): readonly Field[] {
  const entries =
    typeof input === "object" && input !== null && !Array.isArray(input)
      ? Object.entries(input)
      : [["input", input] as const];
  return entries.map(([name, value]) => [
    inertLine(name, 20),
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

/** Every value whole within bounds; the marks at its left cannot be written by the model. */
function showFields(note: Note, fields: readonly Field[]): void {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) {
    const [first = "", ...more] = shownLines(value);
    note(`  ${name.padEnd(width)} │ ${first}`);
    for (const line of more) note(`  ${" ".repeat(width)} │ ${line}`);
  }
}

function shownLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    const more = line.length - MAX_LINE;
    return more > 0
      ? `${inert(line.slice(0, MAX_LINE).toWellFormed())} (${more} more characters of this line)`
      : inert(line);
  });
  return lines.length > MAX_LINES ? [...shown, `(${lines.length - MAX_LINES} more lines)`] : shown;
}
