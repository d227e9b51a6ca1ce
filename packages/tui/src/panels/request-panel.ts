/** A request to the person: shown whole, answered with one key, and not by what was being typed when it came. */

import type { Answer, Json, OpenRequest, RememberScope } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { choiceList, type Choice, type ChoiceList } from "../view/choice-list.ts";
import { textArea, textField, type TextField } from "../view/text-field.ts";
import { fit } from "../view/text-width.ts";
import { formSteps } from "./form-panel.ts";
import { hintLines, type Panel, type PanelPlace, ruleLine } from "./panel.ts";
import { questionSteps } from "./question-panel.ts";
import { requestLines, requestTitle } from "./request-lines.ts";

export type RequestPlace = PanelPlace & {
  readonly request: OpenRequest;
  /** Of a sub-agent. */
  readonly asker?: string | undefined;
  /** How many wait behind this one. */
  readonly more: () => number;
  /** Rejects for an answer that is not taken. */
  readonly answer: (answer: Answer) => Promise<void>;
  readonly interrupt: () => void;
  /** Keys count now: nothing was being typed. */
  readonly isReady: () => boolean;
  readonly redraw: () => void;
};
/** What is asked now: a list or a text. */
export type Step = { readonly title?: string; readonly control: ChoiceList | TextField; readonly hint: string };
export type Steps = { readonly first: () => Step };
export type StepPlace = RequestPlace & {
  /** Goes on to another step. */
  readonly show: (step: Step) => void;
  readonly send: (answer: Answer) => void;
};

/** Rows below which hints have one line. */
const SMALL = 14;

/** `isBusy` while an answer is on its way: keys are not for it then. */
export type RequestPanel = Panel & { readonly isBusy: boolean };

export function requestPanel(place: RequestPlace): RequestPanel {
  const { context, request, more, asker, isReady, answer, redraw } = place;
  const { body } = request;
  let step: Step;
  let problem = "";
  let sending = false;
  let unfolded = false;
  const show = (next: Step): void => {
    step = next;
    redraw();
  };
  const send = (value: Answer): void => {
    if (sending) return;
    sending = true;
    problem = "";
    answer(value)
      .catch((error: unknown) => {
        problem = inertLine(error instanceof Error ? error.message : String(error), 200);
        step = stepsOf(stepPlace).first();
      })
      .finally(() => {
        sending = false;
        redraw();
      });
  };
  const stepPlace: StepPlace = { ...place, show, send };
  step = stepsOf(stepPlace).first();
  return {
    get isBusy() {
      return sending;
    },
    lines(width, rows) {
      const { style } = context;
      const waiting = more();
      const head = `${asker === undefined ? "" : `${inertLine(asker, 30)}: `}${requestTitle(body)}${waiting > 0 ? ` (and ${waiting} more)` : ""}`;
      const hints = rows < SMALL ? 1 : 2;
      const least = requestLines(body, context, width, rows).length; // what is asked about goes before the choices
      const control = step.control.lines(width, Math.max(2, Math.min(8, rows - 2 - hints - least)));
      const room = unfolded ? rows * 3 : rows - control.length - hints - 1 - (step.title === undefined ? 0 : 1);
      const hint = sending ? "sending..." : isReady() ? step.hint : "one moment: keys still go to the editor";
      return [
        ruleLine(context, head, width),
        ...requestLines(body, context, width, room).map((line) => fit(line, width)),
        ...(step.title === undefined ? [] : [style("strong", fit(step.title, width))]),
        ...control,
        ...(problem === "" ? [] : [style("error", fit(problem, width))]),
        ...hintLines(context, hint, width).slice(0, hints),
      ];
    },
    key(key) {
      if (sending) return;
      if (key.name === "ctrl+o") unfolded = !unfolded;
      else step.control.key(key);
    },
  };
}

function stepsOf(place: StepPlace): Steps {
  const { body } = place.request;
  switch (body.type) {
    case "permission":
      return { first: () => permissionStep(place, body.remember, body.input) };
    case "plan":
      return { first: () => yesNoStep(place, "plan") };
    case "doubt":
      return { first: () => doubtStep(place) };
    case "question":
      return questionSteps(place, body.questions);
    case "form":
    case "client-tool":
      return formSteps(place);
    default:
      return body satisfies never;
  }
}

const SCOPES: readonly { readonly scope: RememberScope; readonly letter: string; readonly label: string }[] = [
  { scope: "session", letter: "a", label: "Always in this session" },
  { scope: "agent", letter: "g", label: "Always for this agent, in every folder" },
  { scope: "global", letter: "l", label: "Always for all agents" },
];
type Verdict = RememberScope | "yes" | "no" | "why" | "edit";
const HINT = "a letter or enter answers; esc interrupts the run";

function permissionStep(place: StepPlace, remember: readonly RememberScope[], input: Json): Step {
  const scopes = SCOPES.filter(({ scope }) => remember.includes(scope));
  const choices: readonly Choice<Verdict>[] = [
    { value: "yes", label: "Yes, this once", letter: "y" },
    ...scopes.map(({ scope, letter, label }) => ({ value: scope, label, letter })),
    { value: "no", label: "No", letter: "n" },
    { value: "why", label: "No, and say why", letter: "r" },
    { value: "edit", label: "Edit it first", letter: "e" },
  ];
  return { control: verdictList(place, "permission", choices, input), hint: HINT };
}

function yesNoStep(place: StepPlace, type: "permission" | "plan"): Step {
  const choices: readonly Choice<Verdict>[] = [
    { value: "yes", label: "Yes", letter: "y" },
    { value: "no", label: "No", letter: "n" },
    { value: "why", label: "No, and say what to change", letter: "r" },
  ];
  return { control: verdictList(place, type, choices, null), hint: HINT };
}

function verdictList(
  place: StepPlace,
  type: "permission" | "plan",
  choices: readonly Choice<Verdict>[],
  input: Json,
): ChoiceList {
  const { context, send, show, interrupt } = place;
  const again = (): void => show({ control: verdictList(place, type, choices, input), hint: HINT });
  const chosen: { readonly [verdict in Exclude<Verdict, RememberScope>]: () => void } = {
    yes: () => send({ type, allow: true }),
    no: () => send({ type, allow: false }),
    why: () => show(reasonStep(place, type, again)),
    edit: () => show(editStep(place, input, again)),
  };
  return choiceList(context, {
    choices,
    onChoose: ([verdict]) => {
      if (verdict === undefined) return;
      if (verdict in chosen) chosen[verdict as keyof typeof chosen](); // looked up in the line before
      else send({ type, allow: true, remember: verdict as RememberScope }); // the others are scopes
    },
    onCancel: interrupt,
  });
}

function reasonStep({ send }: StepPlace, type: "permission" | "plan", onCancel: () => void): Step {
  const onSubmit = (reason: string): void =>
    send({ type, allow: false, ...(reason.trim() !== "" && { reason: reason.trim() }) });
  return {
    title: "Why not?",
    control: textField({ prompt: "> ", onSubmit, onCancel }),
    hint: "enter sends it, esc goes back",
  };
}

function editStep(place: StepPlace, input: Json, onCancel: () => void): Step {
  const { send, show, screen, context } = place;
  const only = onlyText(input);
  const edit = (value: string, title: string): Step => ({
    title,
    control: textArea(screen, context, {
      value,
      onCancel,
      onSubmit: (text) => {
        const parsed = only === undefined ? jsonOf(text) : { ok: { [only.name]: text } };
        if (parsed === undefined) show(edit(text, "That is no JSON; put it right:"));
        else send({ type: "permission", allow: true, input: parsed.ok });
      },
    }),
    hint: "enter allows it as it stands, shift+enter begins a line, esc goes back",
  });
  const value = only === undefined ? JSON.stringify(input, undefined, 2) : only.text;
  return edit(value, only === undefined ? "The input:" : `${inertLine(only.name, 40)}:`);
}

/** The only member, when that is a text: it is edited as it is. */
function onlyText(input: Json): { readonly name: string; readonly text: string } | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const [first, second] = Object.entries(input);
  const [name, text] = first ?? [];
  return name !== undefined && second === undefined && typeof text === "string" ? { name, text } : undefined;
}

function jsonOf(text: string): { readonly ok: Json } | undefined {
  try {
    return { ok: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

function doubtStep({ context, send, interrupt }: StepPlace): Step {
  const control = choiceList(context, {
    choices: [
      { value: "run-again" as const, label: "Run it again", letter: "r" },
      { value: "it-happened" as const, label: "It happened: go on", letter: "h" },
      { value: "skip" as const, label: "Skip it: say that nobody knows", letter: "s" },
    ],
    onChoose: ([outcome]) => {
      if (outcome !== undefined) send({ type: "doubt", outcome });
    },
    onCancel: interrupt,
  });
  return { control, hint: HINT };
}
