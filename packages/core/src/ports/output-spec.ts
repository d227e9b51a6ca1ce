/** What a structured answer must be: its schema, and the last tool for a model that takes none. */

import type { Json } from "../words/json.ts";
import { check, type Checked, jsonSchema, type Schema } from "../words/schema.ts";
import type { Agent } from "./agent.ts";
import { type Tool, tool } from "./tool.ts";

/** The tool by which a model that takes no schema gives its answer. */
export const FINAL_TOOL = "final_answer";

export type OutputSpec = {
  /** Always of an object: what is none travels as the member `answer` of one. */
  readonly json: Json;
  readonly tool: Tool;
  /** Checks a value as it came from the model; the result is what the author's schema makes of it. */
  check(value: Json): Promise<Checked<unknown>>;
};

const specs = new WeakMap<object, OutputSpec>();

/** What a run of this agent must answer; a schema given with the input counts before the agent's own. */
export function outputOf(
  agent: Pick<Agent<unknown>, "output" | "outputSchema"> | undefined,
  given: Json | undefined,
): OutputSpec | undefined {
  if (given !== undefined) return remembered(given as object, () => specOf(jsonSchema(given), given)); // checked on its way in
  const { output, outputSchema } = agent ?? {};
  if (output === undefined || outputSchema === undefined) return undefined;
  return remembered(output, () => specOf(output, outputSchema));
}

function remembered(key: object, make: () => OutputSpec): OutputSpec {
  const found = specs.get(key) ?? make();
  specs.set(key, found);
  return found;
}

function specOf(schema: Schema, json: Json): OutputSpec {
  const isObject = typeof json === "object" && json !== null && (json as { readonly type?: Json }).type === "object";
  const whole: Json = isObject ? json : wrapped(json);
  const unwrap = (value: Json): Json | undefined =>
    isObject ? value : (value as { readonly answer?: Json } | null)?.answer;
  return {
    json: whole,
    check: (value) => check(schema, unwrap(value)),
    tool: tool({
      name: FINAL_TOOL,
      description: "Gives your final answer and ends your work. Call it once, alone, when everything else is done.",
      input: jsonSchema(whole, async (value) => {
        const checked = await check(schema, unwrap(value as Json)); // parsed arguments
        return checked.ok ? { value } : { issues: [{ message: checked.problem }] };
      }),
      kind: "think",
      permission: "allow",
      rerun: "safe",
      execute: () => "Accepted.",
    }),
  };
}

/** The same schema one member deeper: what it defines stays where its references look for it. */
function wrapped(json: Json): Json {
  const { $defs, definitions, ...answer } = moved(json) as { readonly [key: string]: Json };
  return {
    type: "object",
    properties: { answer },
    required: ["answer"],
    additionalProperties: false,
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  };
}

function moved(json: Json): Json {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map((item: Json) => moved(item));
  const members = Object.entries(json).map(([name, value]): [string, Json] => {
    const inside = name === "$ref" && typeof value === "string" && /^#(?!\/(?:\$defs|definitions)\/)/.test(value);
    return [name, inside ? `#/properties/answer${value.slice(1)}` : moved(value)];
  });
  return Object.fromEntries(members);
}

/** The answer as a value: the text must be JSON, alone or in one fenced block. */
export async function outputFrom(spec: OutputSpec, text: string): Promise<Checked<unknown>> {
  const fenced = /^\s*```(?:json)?\s*\n([^]*?)\n```\s*$/.exec(text);
  let value: Json;
  try {
    value = JSON.parse(fenced?.[1] ?? text) as Json; // checked by the schema below
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
  return spec.check(value);
}
