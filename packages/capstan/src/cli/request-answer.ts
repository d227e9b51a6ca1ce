/** The answer that the options of `capstan requests answer` mean for one request. Pure. */

import type { Answer, QuestionItem, RequestBody } from "@capstan/core";
import { usage } from "./failure.ts";
import { parseJson } from "./parse-json.ts";

export type AnswerFlags = {
  readonly allow?: boolean;
  readonly deny?: boolean;
  readonly reason?: string;
  readonly choose: readonly string[];
  /** JSON text. */
  readonly json?: string;
};
type Flag = keyof AnswerFlags;

/** Which options an answer is made of, and how. */
const TAKES: { readonly [Type in RequestBody["type"]]: { readonly flags: readonly Flag[]; readonly how: string } } = {
  permission: { flags: ["allow", "deny", "reason"], how: "--allow or --deny, and --reason if there is one" },
  plan: { flags: ["allow", "deny", "reason"], how: "--allow or --deny, and --reason if there is one" },
  question: {
    flags: ["choose"],
    how: "--choose with a label, a number or words of your own, once for each choice; when there are several questions as 'header=choice'",
  },
  form: { flags: ["json", "deny"], how: "--json with its content, or --deny" },
  "client-tool": { flags: ["json"], how: `--json with the result: a text, or an object such as '{"content":[...]}'` },
  doubt: { flags: ["choose"], how: "--choose run-again, it-happened or skip" },
};
const GIVEN = "What --json holds";
const OUTCOMES = ["run-again", "it-happened", "skip"] as const;

/** How a request of this type is answered on the command line. */
export function answeredWith(type: RequestBody["type"]): string {
  return TAKES[type].how;
}

/** Throws `usage` for options that do not fit the request. Whether the answer fits is checked where it is given. */
export function answerOf(body: RequestBody, flags: AnswerFlags): Answer {
  refuseOthers(body.type, flags);
  switch (body.type) {
    case "permission":
    case "plan":
      if ((flags.allow === true) === (flags.deny === true)) throw unfit(body.type);
      return {
        type: body.type,
        allow: flags.allow === true,
        ...(flags.reason !== undefined && { reason: flags.reason }),
      };
    case "question":
      return { type: "question", answers: choices(body.questions, flags.choose) };
    case "form":
      if ((flags.json === undefined) === (flags.deny !== true)) throw unfit(body.type);
      return flags.json === undefined
        ? { type: "form", decline: true }
        : { type: "form", content: parseJson(flags.json, GIVEN) };
    case "client-tool": {
      if (flags.json === undefined) throw unfit(body.type);
      const output = parseJson(flags.json, GIVEN);
      const whole = typeof output === "string" ? { content: [{ type: "text", text: output }] } : output;
      return { type: "client-tool", output: whole } as Answer; // `respond` checks that it is an output
    }
    case "doubt": {
      const outcome = OUTCOMES.find((known) => known === flags.choose[0]);
      if (outcome === undefined || flags.choose.length !== 1) throw unfit(body.type);
      return { type: "doubt", outcome };
    }
    default:
      return body satisfies never;
  }
}

function refuseOthers(type: RequestBody["type"], { choose, ...flags }: AnswerFlags): void {
  const given = Object.keys(flags).filter((name) => flags[name as keyof typeof flags] !== undefined);
  if (choose.length > 0) given.push("choose");
  if (given.length === 0 || given.some((name) => !TAKES[type].flags.includes(name as Flag))) throw unfit(type);
}

function unfit(type: RequestBody["type"]): Error {
  return usage(`A request of type ${type} is answered with ${TAKES[type].how}`);
}

/** Every question must get an answer. */
function choices(
  questions: readonly QuestionItem[],
  chosen: readonly string[],
): { readonly [header: string]: string | readonly string[] } {
  const answers = new Map<string, string[]>();
  for (const text of chosen) {
    const { item, choice } = choiceOf(questions, text);
    answers.set(item.header, [...(answers.get(item.header) ?? []), choice]);
  }
  return Object.fromEntries(
    questions.map(({ header, multiSelect }) => {
      const [first, ...more] = answers.get(header) ?? [];
      if (first === undefined) throw usage(`The question ${JSON.stringify(header)} has no answer; add a --choose`);
      if (multiSelect) return [header, [first, ...more]];
      if (more.length > 0) throw usage(`The question ${JSON.stringify(header)} takes one choice`);
      return [header, first];
    }),
  );
}

function choiceOf(
  questions: readonly QuestionItem[],
  text: string,
): { readonly item: QuestionItem; readonly choice: string } {
  const [only, second] = questions;
  const item = second === undefined ? only : questions.find(({ header }) => text.startsWith(`${header}=`));
  if (item === undefined) {
    const headers = questions.map(({ header }) => `'${header}=...'`).join(", ");
    throw usage(`There are several questions; write --choose ${headers}`);
  }
  const said = second === undefined ? text : text.slice(item.header.length + 1);
  const label = item.options.find((option) => option.label === said) ?? item.options[Number(said) - 1];
  return { item, choice: label?.label ?? said };
}
