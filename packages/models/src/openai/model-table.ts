/**
 * What is assumed of OpenAI's models by their ids, 2026-11-21: drawn from developers.openai.com and from what gateways
 * report as refused, not tried against the API. Limits that were found nowhere are left out; ids that are not named here
 * get what their family has. `capabilities` of the caller win.
 */

export type Effort = "none" | "minimal" | "low" | "medium" | "high";

export type ModelFacts = {
  readonly contextTokens?: number;
  readonly images: boolean;
  readonly structured: boolean;
  /** What `reasoning.effort` may be, in rising order, as far as Capstan asks for it. Empty: the model does not reason. */
  readonly efforts: readonly Effort[];
};

/** The model of `openai()` when neither the caller nor `OPENAI_MODEL` names one. */
export const DEFAULT_MODEL = "gpt-6.1-sol";

const MILLION = 1_050_000;
const SETTABLE: readonly Effort[] = ["none", "low", "medium", "high"];
const ALWAYS: readonly Effort[] = ["low", "medium", "high"];

/** Rows by pattern of the id, the more specific first. */
const ROWS: readonly (readonly [pattern: RegExp, facts: ModelFacts])[] = [
  [/^gpt-6(\.\d)?-astra|^gpt-6\.[12]-sol/, reasons(ALWAYS, MILLION)],
  [/^gpt-(6|5\.6)/, reasons(SETTABLE, MILLION)],
  [/^gpt-5-chat/, answers(128_000)],
  [/^gpt-5\.\d-chat/, reasons(["medium"], 128_000)],
  [/^gpt-5-pro/, reasons(["high"], 400_000)],
  [/^gpt-5\.\d-pro/, reasons(["medium", "high"])],
  [/^gpt-5(\.\d)?-codex/, reasons(ALWAYS, 400_000)],
  [/^gpt-5\.[45](-\d{4}|$)/, reasons(SETTABLE, MILLION)],
  [/^gpt-5\.([12]|4-mini)/, reasons(SETTABLE, 400_000)],
  [/^gpt-5\./, reasons(SETTABLE)],
  [/^gpt-5/, reasons(["minimal", "low", "medium", "high"], 400_000)],
  [/^gpt-4\.1/, answers(1_047_576)],
  [/^(chat)?gpt-4o/, answers(128_000)],
  [/^gpt-(4|3\.5)/, { images: false, structured: false, efforts: [] }],
  [/^o3-mini/, { ...reasons(ALWAYS, 200_000), images: false }],
  [/^o\d/, reasons(ALWAYS, 200_000)],
  [/^(gpt|codex)-/, reasons(ALWAYS)],
];

/** A model that is not OpenAI's: no reasoning is asked of it unless its capabilities say so. */
const UNKNOWN: ModelFacts = { images: true, structured: true, efforts: [] };

export function modelFacts(modelId: string): ModelFacts {
  const id = modelId.slice(modelId.lastIndexOf("/") + 1);
  return ROWS.find(([pattern]) => pattern.test(id))?.[1] ?? UNKNOWN;
}

/** The id without the date of its snapshot: models of one family read each other's reasoning. */
export function familyOf(modelId: string): string {
  return modelId.replace(/-\d{4}-\d{2}-\d{2}$/, "");
}

function reasons(efforts: readonly Effort[], contextTokens?: number): ModelFacts {
  return { images: true, structured: true, efforts, ...(contextTokens !== undefined && { contextTokens }) };
}

function answers(contextTokens: number): ModelFacts {
  return { contextTokens, images: true, structured: true, efforts: [] };
}
