/** Test doubles of providers: a strict scripted Anthropic server, its checks and its simulated prompt cache. */

export { type AiCall, type AiReply, scriptedAiModel, type ScriptedAiModel } from "./ai-sdk-model.ts";
export { type ReplyBlock, signatureOf, wireBytes, wireEvent, type WireEvent } from "./anthropic-replies.ts";
export {
  anthropicApi,
  anthropicServer,
  type AnthropicReply,
  type AnthropicRequest,
  type AnthropicScript,
  type AnthropicServer,
  cacheBlocks,
  errorBody,
} from "./anthropic-server.ts";
export { checkAiPrompt, type IssuedAiState } from "./check-ai-prompt.ts";
export { checkAnthropicHistory, type IssuedThinking } from "./check-anthropic-history.ts";
export { checkAnthropicRequest } from "./check-anthropic-request.ts";
export { checkGeminiContents, type GeminiChecks } from "./check-gemini-contents.ts";
export { checkGeminiRequest } from "./check-gemini-request.ts";
export { type ChatHistoryRules, checkOpenAIChatHistory } from "./check-openai-chat-history.ts";
export { type ChatRules, checkOpenAIChatRequest } from "./check-openai-chat-request.ts";
export { geminiBytes, type GeminiChunk, type GeminiReplyPart, type GeminiUsage } from "./gemini-replies.ts";
export {
  geminiApi,
  geminiError,
  type GeminiReply,
  type GeminiScript,
  type GeminiServer,
  geminiServer,
} from "./gemini-server.ts";
export { checkOpenAIInput, type IssuedItem, type IssuedItems } from "./check-openai-responses-input.ts";
export { checkOpenAIRequest } from "./check-openai-responses-request.ts";
export { collectEvents, deltasOf, modelRequest, partsOf } from "./model-request.ts";
export {
  answerChunks,
  type ChatAnswer,
  chatBytes,
  type ChatChunk,
  chatChunk,
  type ChatHead,
  type ChatReplyCall,
  type ReasoningMember,
} from "./openai-chat-replies.ts";
export {
  chatCacheBlocks,
  chatErrorBody,
  openaiChatApi,
  type OpenAIChatReply,
  type OpenAIChatRequest,
  type OpenAIChatScript,
  type OpenAIChatServer,
  openaiChatServer,
  type OpenAIChatServerOptions,
} from "./openai-chat-server.ts";
export {
  encryptedOf,
  type ResponseEnd,
  responseEvents,
  type ResponseItem,
  type ResponseUsage,
} from "./openai-responses-replies.ts";
export {
  openaiApi,
  openaiError,
  type OpenAIReply,
  type OpenAIScript,
  type OpenAIServer,
  openaiServer,
} from "./openai-responses-server.ts";
export {
  type Bill,
  billOf,
  billRatio,
  type CacheBlock,
  type CacheUse,
  inputBill,
  LOOK_BACK_BLOCKS,
  promptCache,
  type PromptCache,
} from "./prompt-cache.ts";
export {
  type Delivery,
  type PlainReply,
  type RecordedRequest,
  type Script,
  type ScriptedProvider,
  type ScriptedServer,
  scriptedServer,
} from "./scripted-server.ts";
export { type ScriptedTransport, scriptedTransport } from "./scripted-transport.ts";
