/** capstan/models/gemini: Gemini models. */

export { gemini, type GeminiOptions } from "@capstan/models/gemini";
