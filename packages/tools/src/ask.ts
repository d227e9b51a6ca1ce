/** The tool `ask_user`: up to four questions to a person, with options to choose from and room for other words. */

import { builtIn, flowTool, LIMITS, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { failure } from "./tool-answer.ts";

const option = z.object({
  label: z.string().trim().min(1).describe("A few words."),
  description: z.string().describe("What it entails."),
});
const question = z.object({
  header: z.string().trim().min(1).max(LIMITS.questionHeader).describe("A tag, different for each question."),
  question: z.string().trim().min(1),
  multiSelect: z.boolean().default(false),
  options: z
    .array(option)
    .min(2)
    .max(LIMITS.questionOptions)
    .describe('Leave out "Other": the user can always answer in words.'),
});
const input = z.object({
  questions: z
    .array(question)
    .min(1)
    .max(LIMITS.questions)
    .refine((all) => isDistinct(all.map(({ header }) => header)), "each question needs a header of its own")
    .refine(
      (all) => all.every(({ options }) => isDistinct(options.map(({ label }) => label))),
      "the options of a question need labels of their own",
    ),
});
type Question = z.infer<typeof question>;

/** The run waits, however long, without holding a process; the session's status is then `waiting`. */
export const askTool: Tool = builtIn(
  flowTool({
    name: "ask_user",
    description:
      "Asks the user what only they can decide and you cannot find out: what they want, which way to take. Put what you " +
      "recommend first. Do not ask for permission to go on.",
    input,
    kind: "think",
    title: ({ questions }) => `Ask: ${questions.map(({ header }) => header).join(", ")}`,
    permission: "allow",
    parallel: true,
    async flow({ questions }, context) {
      const { answers } = await context.question("questions", questions);
      return toOutput(questions, new Map(Object.entries(answers)));
    },
  }),
);

function toOutput(
  questions: readonly Question[],
  answers: ReadonlyMap<string, string | readonly string[]>,
): ToolOutput {
  if (answers.size === 0) {
    return failure("Nobody answered. Take the most careful way that needs no answer, and say what you assumed.");
  }
  const lines = questions.map((asked) => {
    const given = answers.get(asked.header);
    const chosen = given === undefined ? [] : [given].flat();
    return `${asked.question}\n${chosen.length === 0 ? "(no answer)" : chosen.map((one) => said(asked, one)).join("\n")}`;
  });
  return { content: [{ type: "text", text: lines.join("\n\n") }] };
}

/** An answer that is no option is what the person said in their own words. */
function said({ options }: Question, answer: string): string {
  return options.some(({ label }) => label === answer) ? `- ${answer}` : `- Other: ${answer}`;
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}
