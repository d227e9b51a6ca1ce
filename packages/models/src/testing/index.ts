/** Test doubles of providers: a strict scripted Anthropic server, its checks and its simulated prompt cache. */

export { type ReplyBlock, signatureOf, wireBytes, wireEvent, type WireEvent } from "./anthropic-replies.ts";
export {
  anthropicServer,
  type AnthropicReply,
  type AnthropicRequest,
  type AnthropicScript,
  type AnthropicServer,
  cacheBlocks,
  errorBody,
} from "./anthropic-server.ts";
export { checkAnthropicHistory, type IssuedThinking } from "./check-anthropic-history.ts";
export { checkAnthropicRequest } from "./check-anthropic-request.ts";
export { collectEvents, deltasOf, modelRequest, partsOf } from "./model-request.ts";
export {
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
