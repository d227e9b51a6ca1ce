/** What is known about Gemini models by their ids: ai.google.dev model and thinking pages, and the id list of `@google/genai` 3.1, read 2026-11-21. */

export type Thinking =
  /** Cannot think, or takes no settings for it. */
  | { readonly kind: "none" }
  /** Steered by a number of tokens; `off` is the nearest to none that it takes. `unasked`: it thinks by default. */
  | {
      readonly kind: "budget";
      readonly off: number;
      readonly min: number;
      readonly max: number;
      readonly unasked: boolean;
    }
  /** Steered by a level; `least` is the nearest to off that it takes. */
  | { readonly kind: "level"; readonly least: "MINIMAL" | "LOW"; readonly unasked: boolean };

export type ModelFacts = {
  readonly contextTokens?: number;
  /** The most that the model can be asked for, thoughts included. */
  readonly maxOutputTokens: number;
  readonly thinking: Thinking;
  /** Refuses a call in its history whose thought signature is missing. */
  readonly checksSignatures: boolean;
  /** Takes images and documents inside of function responses. */
  readonly imageInToolResult: boolean;
  /** Takes an output schema beside tools. */
  readonly structured: boolean;
};

/** The model of `gemini()` when neither the caller nor `GEMINI_MODEL` names one. */
export const DEFAULT_MODEL = "gemini-3.8-flash";

const CONTEXT = 1_048_576;
const OUTPUT = 65_536;
const OLDER = {
  maxOutputTokens: OUTPUT,
  checksSignatures: false,
  imageInToolResult: false,
  structured: false,
} as const;
const NEWER = { maxOutputTokens: OUTPUT, checksSignatures: true, imageInToolResult: true, structured: true } as const;
const NO_THINKING = { kind: "none" } as const;

/** Rows in order: the first whose pattern fits. */
const ROWS: readonly (readonly [id: RegExp, facts: ModelFacts])[] = [
  [/^gemini-2\.5-flash-lite/, older({ kind: "budget", off: 0, min: 512, max: 24_576, unasked: false })],
  [/^gemini-2\.5-flash-(image|tts|native)/, { ...OLDER, thinking: NO_THINKING }],
  [/^gemini-2\.5-flash/, older({ kind: "budget", off: 0, min: 1, max: 24_576, unasked: true })],
  [/^gemini-2\.5-pro/, older({ kind: "budget", off: 128, min: 128, max: 32_768, unasked: true })],
  [/^gemini-[12]\.|^gemma-/, { ...OLDER, maxOutputTokens: 8_192, thinking: NO_THINKING }],
  [/^gemini-.*(image|tts|transcribe|omni|robotics)/, { ...NEWER, thinking: NO_THINKING }],
  [/^gemini-3.*flash/, newer({ kind: "level", least: "MINIMAL", unasked: true })],
  [/^gemini-3/, newer({ kind: "level", least: "LOW", unasked: true })],
  [/^gemini-/, { ...NEWER, thinking: { kind: "level", least: "LOW", unasked: true } }],
];

/** An id that is not Gemini's own, behind a gateway or of a tuned model: thinks as told, and only when told. */
const UNKNOWN: ModelFacts = { ...NEWER, thinking: { kind: "level", least: "LOW", unasked: false } };

export function modelFacts(modelId: string): ModelFacts {
  return ROWS.find(([pattern]) => pattern.test(modelId))?.[1] ?? UNKNOWN;
}

function older(thinking: Thinking): ModelFacts {
  return { ...OLDER, contextTokens: CONTEXT, thinking };
}

function newer(thinking: Thinking): ModelFacts {
  return { ...NEWER, contextTokens: CONTEXT, thinking };
}
