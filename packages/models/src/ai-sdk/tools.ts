/** Tools of the AI SDK (`tool({ description, inputSchema, execute })`) as tools of Capstan. */

import {
  CapstanError,
  check,
  jsonSchema,
  messageOf,
  type PermissionWord,
  type Rerun,
  type Schema,
  textOutput,
  tool,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "@capstan/core";
import { plainJson } from "../convert/plain-json.ts";
import { toToolOutput } from "../convert/ai-tool-output.ts";

/** A `Tool` of `ai`, by structure. Methods: theirs take narrower arguments than `unknown`. */
export type AiTool = {
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | object | undefined;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly needsApproval?: boolean | object | undefined;
  execute?(input: unknown, options: object): unknown;
  toModelOutput?(options: object): unknown;
};
export type FromAiToolsOptions = {
  /** By tool name: what may happen to a call that a crash cut off. Default "never". */
  readonly rerun?: Readonly<Record<string, Rerun>>;
};

/**
 * A tool without `execute` becomes one whose result a client gives. `needsApproval` becomes the permission "ask"; where it
 * is a function that answers later, every call asks. Of a generator the last value counts; those before are shown as
 * progress. Throws `tool-invalid`, also for tools that a provider runs itself.
 */
export function fromAiTools(
  tools: Readonly<Record<string, AiTool>>,
  options: FromAiToolsOptions = {},
): readonly Tool[] {
  return Object.entries(tools).map(([name, definition]) => fromAiTool(name, definition, options.rerun?.[name]));
}

function fromAiTool(name: string, definition: AiTool, rerun: Rerun | undefined): Tool {
  if (definition.type === "provider" || definition.type === "provider-defined") {
    const message = `Tool ${name} is run by its provider and has no body to take over; give it to the model's provider`;
    throw new CapstanError("tool-invalid", message);
  }
  const { title } = definition;
  const permission = permissionOf(definition);
  const output = definition.outputSchema === undefined ? undefined : schemaOf(name, definition.outputSchema);
  return tool<unknown>({
    name,
    description: descriptionOf(name, definition),
    input: schemaOf(name, definition.inputSchema),
    ...(output !== undefined && { output }),
    ...(title !== undefined && { title: () => title }),
    ...(permission !== undefined && { permission }),
    ...(rerun !== undefined && { rerun }),
    ...(typeof definition.execute === "function" && {
      execute: (input: unknown, context: ToolContext) => executed(definition, output, input, context),
    }),
  });
}

async function executed(
  definition: AiTool,
  schema: Schema | undefined,
  input: unknown,
  context: ToolContext,
): Promise<ToolOutput> {
  const { callId: toolCallId, signal: abortSignal } = context;
  // as a method: a tool may be an object with state
  const options = { toolCallId, messages: [], abortSignal, context: {}, experimental_context: undefined };
  const result = await lastOf(definition.execute?.(input, options), context);
  if (typeof definition.toModelOutput === "function") {
    return toToolOutput(plainJson(await definition.toModelOutput({ toolCallId, input, output: result })) ?? null);
  }
  if (result === undefined) return textOutput("Done.");
  if (typeof result === "string") return textOutput(result);
  const value = plainJson(result);
  if (value === undefined) return textOutput("The tool returned something that is no JSON.", { isError: true });
  const output = textOutput(JSON.stringify(value));
  if (schema === undefined) return output;
  const fits = await check(schema, value);
  if (fits.ok) return { ...output, output: value };
  return textOutput(`The tool returned something that does not fit its own output schema: ${fits.problem}`, {
    isError: true,
  });
}

/** Waits for a promise, or for the last value of a generator. */
async function lastOf(returned: unknown, context: ToolContext): Promise<unknown> {
  const result = await returned;
  if (!isAsyncIterable(result)) return result;
  let last: unknown;
  let any = false;
  for await (const value of result) {
    context.signal.throwIfAborted();
    if (any) context.progress({ message: shortText(last) });
    last = value;
    any = true;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

const SHOWN_CHARACTERS = 2_000;

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(plainJson(value) ?? null);
  return text.slice(0, SHOWN_CHARACTERS).toWellFormed();
}

function descriptionOf(name: string, { description, title }: AiTool): string {
  if (typeof description === "string" && description.trim() !== "") return description;
  if (typeof description === "function") {
    const made: unknown = (description as (options: object) => unknown)({ context: {} }); // the AI SDK's signature
    if (typeof made === "string" && made.trim() !== "") return made;
  }
  return title ?? name;
}

function permissionOf({ needsApproval }: AiTool): PermissionWord | ((input: unknown) => PermissionWord) | undefined {
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (typeof needsApproval !== "function") return "ask";
  const asks = needsApproval as (input: unknown, options: object) => unknown; // the AI SDK's signature
  return (input) => {
    const answer = asks(input, { toolCallId: "", messages: [], context: {} });
    if (answer instanceof Promise) answer.catch(() => {}); // it asks whatever comes of it
    return answer === false ? "allow" : "ask";
  };
}

/** Standard Schema values as they are; `jsonSchema()` and `zodSchema()` of `ai`, and functions that make one. */
function schemaOf(name: string, given: unknown): Schema {
  const schema: unknown = typeof given === "function" && !("~standard" in given) ? (given as () => unknown)() : given; // a lazy schema
  if (isStandard(schema)) return schema;
  const { jsonSchema: text, validate } = Object(schema) as AiSchema; // read, not trusted
  const plain = text instanceof Promise ? undefined : plainJson(text);
  if (text instanceof Promise) text.catch(() => {}); // refused below
  if (typeof plain !== "object" || plain === null) {
    const message = `Tool ${name}: its schema must be a Standard Schema or hold JSON Schema at once, not later`;
    throw new CapstanError("tool-invalid", message);
  }
  if (typeof validate !== "function") return jsonSchema<unknown>(plain);
  const checked: Schema = jsonSchema<unknown>(plain);
  const validateOf = async (value: unknown): Promise<SchemaAnswer> => {
    const result = (await validate.call(schema, value)) as ValidationResult; // the AI SDK's signature
    if (result.success) return { value: result.value };
    return { issues: [{ message: messageOf(result.error) }] };
  };
  return { "~standard": { ...checked["~standard"], validate: validateOf } };
}

type SchemaAnswer =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };
type ValidationResult =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: unknown };

type AiSchema = { readonly jsonSchema?: unknown; readonly validate?: (value: unknown) => unknown };

function isStandard(schema: unknown): schema is Schema {
  return ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "~standard" in schema;
}
