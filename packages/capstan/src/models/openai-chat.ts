/** capstan/models/openai-chat: models behind OpenAI's chat completions protocol, and the servers known by name. */

export {
  cerebras,
  type ChatDialect,
  type ChatPresetOptions,
  deepseek,
  groq,
  ollama,
  openaiChat,
  type OpenAIChatOptions,
  openrouter,
  type ReasoningWish,
  vllm,
} from "@capstan/models/openai-chat";
