/**
 * What is known about OpenAI's models: developers.openai.com model pages and the reasoning guide, gateways' reports of
 * refused values where the pages are silent; read 2026-11-21. A limit that no page confirmed is left out.
 */

export type Effort = "none" | "minimal" | "low" | "medium" | "high";

export type OpenAIFacts = {
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
const ROWS: readonly (readonly [pattern: RegExp, facts: OpenAIFacts])[] = [
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
const UNKNOWN: OpenAIFacts = { images: true, structured: true, efforts: [] };

export function openaiFacts(modelId: string): OpenAIFacts {
  const id = modelId.slice(modelId.lastIndexOf("/") + 1);
  return ROWS.find(([pattern]) => pattern.test(id))?.[1] ?? UNKNOWN;
}

/** The id without the date of its snapshot: models of one family read each other's reasoning. */
export function familyOf(modelId: string): string {
  return modelId.replace(/-\d{4}-\d{2}-\d{2}$/, "");
}

function reasons(efforts: readonly Effort[], contextTokens?: number): OpenAIFacts {
  return { images: true, structured: true, efforts, ...(contextTokens !== undefined && { contextTokens }) };
}

function answers(contextTokens: number): OpenAIFacts {
  return { contextTokens, images: true, structured: true, efforts: [] };
}
