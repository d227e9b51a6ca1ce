/** Questions of the model, one after another: one choice, several, or words of one's own. */

import type { QuestionItem } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { type Choice, choiceList } from "../view/choice-list.ts";
import { textField } from "../view/text-field.ts";
import type { Step, StepPlace, Steps } from "./request-panel.ts";

type Answers = { readonly [header: string]: string | readonly string[] };

export function questionSteps(place: StepPlace, questions: readonly QuestionItem[]): Steps {
  const step = (at: number, answers: Answers): Step => {
    const item = questions[at] as QuestionItem; // `next` stops behind the last
    const next = (value: string | readonly string[]): void => {
      const all = { ...answers, [item.header]: value };
      if (at + 1 < questions.length) place.show(step(at + 1, all));
      else place.send({ type: "question", answers: all });
    };
    const count = questions.length > 1 ? `${at + 1}/${questions.length} ` : "";
    return optionsStep(place, item, `${count}${inertLine(item.question, 300)}`, next);
  };
  return { first: () => step(0, {}) };
}

function optionsStep(
  place: StepPlace,
  item: QuestionItem,
  title: string,
  next: (value: string | readonly string[]) => void,
): Step {
  const { options, multiSelect } = item;
  const choices: readonly Choice<string | undefined>[] = [
    ...options.map(({ label, description }) => ({
      value: label,
      label: inertLine(label, 80),
      hint: inertLine(description, 200),
    })),
    { value: undefined, label: "Other: in your own words", letter: "o" },
  ];
  const again = (): void => place.show(optionsStep(place, item, title, next));
  const control = choiceList(place.context, {
    choices,
    several: multiSelect,
    onChoose: (values) => {
      const known = values.filter((value) => value !== undefined);
      if (known.length === values.length) return next(multiSelect ? known : (known[0] ?? ""));
      const onSubmit = (text: string): void => {
        if (text.trim() !== "") next(multiSelect ? [...known, text.trim()] : text.trim());
      };
      place.show({
        title,
        control: textField({ prompt: "> ", onSubmit, onCancel: again }),
        hint: "enter answers, esc goes back",
      });
    },
    onCancel: place.interrupt,
  });
  const hint = multiSelect
    ? "space marks, enter answers; esc interrupts the run"
    : "a number or enter answers; esc interrupts the run";
  return { title, control, hint };
}
