/** capstan/models/anthropic: Claude models. */

export {
  anthropic,
  type AnthropicOptions,
  type AnthropicTokenRequest,
  anthropicTokens,
} from "@capstan/models/anthropic";
