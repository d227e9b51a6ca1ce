/** Forms field by field, and results of tools that a client runs. What a schema cannot say in fields is typed as JSON. */

import type { Json, RequestBody } from "@capstan/core";
import { inertLine } from "../inert.ts";
import { choiceList } from "../view/choice-list.ts";
import { textField } from "../view/text-field.ts";
import type { Step, StepPlace, Steps } from "./request-panel.ts";

type Content = { readonly [name: string]: Json };
type Field = {
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly choices: readonly Json[];
  readonly isRequired: boolean;
};

const MAX_FIELDS = 50;

export function formSteps(place: StepPlace): Steps {
  const { body } = place.request;
  return {
    first: () =>
      body.type === "client-tool" ? resultStep(place) : formStep(place, body as Extract<RequestBody, { type: "form" }>),
  }; // made for these two
}

function resultStep(place: StepPlace): Step {
  const { context, send, show, interrupt } = place;
  const give = (isError: boolean): void => {
    const onSubmit = (text: string): void =>
      send({ type: "client-tool", output: { content: [{ type: "text", text }], ...(isError && { isError }) } });
    show({
      title: isError ? "Why did it fail?" : "Its result:",
      control: textField({ prompt: "> ", onSubmit, onCancel: () => show(resultStep(place)) }),
      hint: "enter gives it, esc goes back",
    });
  };
  const control = choiceList(context, {
    choices: [
      { value: "give" as const, label: "Type its result", letter: "t" },
      { value: "fail" as const, label: "Say that it failed", letter: "f" },
    ],
    onChoose: ([chosen]) => give(chosen === "fail"),
    onCancel: interrupt,
  });
  return {
    title: "Another client may give the result; it can also be given here.",
    control,
    hint: "esc interrupts the run",
  };
}

function formStep(place: StepPlace, { schema, url }: Extract<RequestBody, { type: "form" }>): Step {
  const { context, send, show, interrupt } = place;
  const fields = fieldsOf(schema);
  const fill = (): void => {
    if (url !== undefined && schema === undefined) send({ type: "form" });
    else if (fields === undefined) show(jsonStep(place, formAgain));
    else if (fields.length === 0) send({ type: "form", content: {} });
    else show(fieldStep(place, fields, 0, {}));
  };
  const formAgain = (): void =>
    show(
      formStep(place, {
        type: "form",
        origin: "",
        message: "",
        ...(schema !== undefined && { schema }),
        ...(url !== undefined && { url }),
      }),
    );
  const control = choiceList(context, {
    choices: [
      {
        value: true,
        label: url !== undefined && schema === undefined ? "Done at that address" : "Fill it in",
        letter: "y",
      },
      { value: false, label: "Decline", letter: "n" },
    ],
    onChoose: ([accepts]) => (accepts === true ? fill() : send({ type: "form", decline: true })),
    onCancel: interrupt,
  });
  return { control, hint: "esc interrupts the run" };
}

function jsonStep({ send, show, ...place }: StepPlace, onCancel: () => void, title = "The answer as JSON:"): Step {
  const onSubmit = (text: string): void => {
    try {
      send({ type: "form", content: JSON.parse(text) as Json });
    } catch {
      show(jsonStep({ send, show, ...place }, onCancel, "That is no JSON; try again:"));
    }
  };
  return { title, control: textField({ prompt: "> ", onSubmit, onCancel }), hint: "enter sends it, esc goes back" };
}

function fieldStep(place: StepPlace, fields: readonly Field[], at: number, content: Content, problem = ""): Step {
  const field = fields[at] as Field; // `next` stops behind the last
  const { context, send, show, interrupt } = place;
  const next = (value: Json | undefined): void => {
    const all = value === undefined ? content : { ...content, [field.name]: value };
    if (at + 1 < fields.length) show(fieldStep(place, fields, at + 1, all));
    else send({ type: "form", content: all });
  };
  const title = `${at + 1}/${fields.length} ${inertLine(field.title, 120)}${field.isRequired ? "" : " (may stay empty)"}${problem}`;
  if (field.choices.length > 0) {
    const choices = field.choices.map((value) => ({
      value: { value } as { readonly value?: Json },
      label: inertLine(typeof value === "string" ? value : JSON.stringify(value), 80),
    }));
    const control = choiceList(context, {
      choices: field.isRequired ? choices : [...choices, { value: {}, label: "(nothing)" }],
      onChoose: ([chosen]) => next(chosen?.value),
      onCancel: interrupt,
    });
    return { title, control, hint: "enter goes on; esc interrupts the run" };
  }
  const onSubmit = (text: string): void => {
    const value = valueOf(field, text);
    if (value.problem === undefined) next(value.value);
    else show(fieldStep(place, fields, at, content, `: ${value.problem}`));
  };
  return {
    title,
    control: textField({ prompt: "> ", onSubmit, onCancel: interrupt }),
    hint: "enter goes on; esc interrupts the run",
  };
}

function valueOf({ type, isRequired }: Field, text: string): { readonly value?: Json; readonly problem?: string } {
  if (text.trim() === "") return isRequired ? { problem: "it is needed" } : {};
  if (type !== "number" && type !== "integer") return { value: text };
  const value = Number(text);
  const isRight = type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isRight ? { value } : { problem: type === "integer" ? "a whole number" : "a number" };
}

/** Undefined for a schema whose fields are not all plain values. */
function fieldsOf(schema: Json | undefined): readonly Field[] | undefined {
  const object = membersOf(schema);
  const properties = membersOf(object?.["properties"]);
  if (properties === undefined) return undefined;
  const required = Array.isArray(object?.["required"]) ? (object["required"] as readonly Json[]) : []; // checked in the same line
  const fields = Object.entries(properties).map(([name, value]): Field | undefined => {
    const property = membersOf(value);
    const type = property?.["type"];
    if (property === undefined || (type !== "string" && type !== "number" && type !== "integer" && type !== "boolean"))
      return undefined;
    const listed = property["enum"];
    const choices = type === "boolean" ? [true, false] : Array.isArray(listed) ? (listed as readonly Json[]) : []; // checked in the same line
    const title = [property["title"] ?? name, property["description"]]
      .filter((text) => typeof text === "string")
      .join(": ");
    return { name, title, type, choices, isRequired: required.includes(name) };
  });
  return fields.length <= MAX_FIELDS && fields.every((field) => field !== undefined) ? fields : undefined;
}

function membersOf(value: Json | undefined): { readonly [name: string]: Json } | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { readonly [name: string]: Json })
    : undefined; // checked here
}
