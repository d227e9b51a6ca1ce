/** capstan/models/ai-sdk: language models and tools of the AI SDK. */

export {
  type AiLanguageModel,
  type AiProviderOptions,
  aiSdk,
  type AiSdkOptions,
  type AiTool,
  fromAiTools,
  type FromAiToolsOptions,
} from "@capstan/models/ai-sdk";
