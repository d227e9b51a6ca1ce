/** capstan/models/openai: OpenAI's models over the Responses API. */

export { openai, type OpenAIOptions } from "@capstan/models/openai";
