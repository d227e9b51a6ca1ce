/** Standard Schema at the border: checking values and rendering JSON Schema, without knowing any schema library. */

import { jsonIssues } from "./check-json.ts";
import { CapstanError, messageOf } from "./errors.ts";
import type { Json } from "./json.ts";

/** The part of the Standard Schema interface (version 1) that Capstan uses; zod, valibot and arktype values fit. */
export type Schema<Output = unknown> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: JsonSchemaSource | undefined;
  };
};
/** A method, not a property: libraries name their targets more narrowly. */
type JsonSchemaSource = {
  input(options: {
    readonly target: string;
    readonly libraryOptions?: { [name: string]: unknown } | undefined;
  }): object;
};
type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };
type SchemaIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

export type Checked<Output> =
  | { readonly ok: true; readonly value: Output }
  | { readonly ok: false; readonly problem: string };

/** Checks a value; the problem names each wrong field in one line. */
export async function check<Output>(schema: Schema<Output>, value: unknown): Promise<Checked<Output>> {
  return checkNow(schema, value);
}

/** As `check`; at once unless the schema answers later. */
export function checkNow<Output>(schema: Schema<Output>, value: unknown): Checked<Output> | Promise<Checked<Output>> {
  try {
    const result = schema["~standard"].validate(value);
    if ("then" in result) return Promise.resolve(result).then(toChecked).catch(notPassed);
    return toChecked(result);
  } catch (error) {
    return notPassed(error);
  }
}

function toChecked<Output>(result: SchemaResult<Output>): Checked<Output> {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, problem: result.issues.map((issue) => describe(issue)).join("; ") };
}

/** A check that fails has not passed. */
function notPassed(error: unknown): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: messageOf(error) };
}

/** JSON Schema of what the schema accepts. Throws `tool-invalid` when its library cannot render it. */
export function toJsonSchema(schema: Schema, subject: string): Json {
  const render = schema["~standard"].jsonSchema;
  if (render === undefined) {
    throw new CapstanError(
      "tool-invalid",
      `${subject}: its schema library (${schema["~standard"].vendor}) cannot render JSON Schema; use one that can, such as zod 4, or jsonSchema()`,
    );
  }
  try {
    const rendered = render.input({ target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } });
    return JSON.parse(JSON.stringify({ ...rendered, $schema: undefined })) as Json; // a plain copy: libraries attach hidden members
  } catch (cause) {
    throw new CapstanError("tool-invalid", `${subject}: its schema cannot be written as JSON Schema`, { cause });
  }
}

/** A schema from JSON Schema text; without a check of your own the text itself is what checks. */
export function jsonSchema<Output = Json>(
  schema: Json,
  validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>> = (value) => {
    const issues = jsonIssues(schema, value as Json); // what is no JSON has no type that fits
    return issues.length > 0 ? { issues } : { value: value as Output }; // the caller states Output
  },
): Schema<Output> {
  return {
    "~standard": {
      version: 1,
      vendor: "capstan",
      validate,
      jsonSchema: { input: () => schema as object }, // JSON Schema is an object by definition
    },
  };
}

function describe(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}
