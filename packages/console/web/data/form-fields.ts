/** A flat JSON Schema as fields that a person can fill in; anything deeper is asked for as JSON. */

import type { Json } from "@capstan/core";

export type FormField = {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  readonly required: boolean;
  readonly type: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly choices: readonly string[];
  /** What stands in it at first. */
  readonly initial: string | boolean;
};

type Schema = { readonly [name: string]: Json };

/** `undefined` for a schema that is no object with members. */
export function formFields(schema: Json | undefined): readonly FormField[] | undefined {
  const root = membersOf(schema);
  const properties = membersOf(root?.["properties"]);
  if (properties === undefined) return undefined;
  const required = Array.isArray(root?.["required"]) ? root["required"] : [];
  return Object.entries(properties).map(([name, value]) =>
    fieldOf(name, membersOf(value) ?? {}, required.includes(name)),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): FormField {
  const { title, description, default: initial } = schema;
  const choices = Array.isArray(schema["enum"]) ? schema["enum"].filter((one) => typeof one === "string") : [];
  const type = typeOf(schema, choices);
  const first = type === "boolean" ? initial === true : initial === undefined ? "" : textOf(initial, type);
  return {
    name,
    title: typeof title === "string" ? title : name,
    ...(typeof description === "string" && { description }),
    required,
    type,
    choices,
    initial: first,
  };
}

function typeOf({ type }: Schema, choices: readonly string[]): FormField["type"] {
  if (choices.length > 0) return "choice";
  if (type === "string") return "text";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return "json";
}

function textOf(value: Json, type: FormField["type"]): string {
  return typeof value === "string" && type !== "json" ? value : JSON.stringify(value);
}

/** What was filled in as the content of the form. Fields left empty are left out; `undefined` while one does not fit. */
export function formContent(
  fields: readonly FormField[],
  filled: { readonly [name: string]: string | boolean },
): Json | undefined {
  const content: [string, Json][] = [];
  for (const { name, type, required, initial } of fields) {
    const value = filled[name] ?? initial;
    if (typeof value === "boolean") content.push([name, value]);
    else if (value === "") {
      if (required && type !== "text") return undefined;
      if (required) content.push([name, ""]);
    } else {
      const read = valueOf(value, type);
      if (read === undefined) return undefined;
      content.push([name, read.value]);
    }
  }
  return Object.fromEntries(content);
}

function valueOf(text: string, type: FormField["type"]): { readonly value: Json } | undefined {
  if (type === "text" || type === "choice") return { value: text };
  try {
    const value = JSON.parse(text) as Json;
    if (type === "number" && typeof value !== "number") return undefined;
    if (type === "integer" && !Number.isInteger(value)) return undefined;
    return { value };
  } catch {
    return undefined;
  }
}

function membersOf(value: Json | undefined): Schema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}
